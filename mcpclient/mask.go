package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// maskMark stands where a value was taken out of a text.
const maskMark = "[hidden]"

// masker takes values that the host injected out of what a server says. It
// finds a value as it is, each longer line of one that has several, and the
// forms that JSON, URLs and base64 give it. It is for accidents: a server that means to
// give a value away can always write it in another form. The zero masker finds
// nothing. It is safe for concurrent use.
type masker struct {
	values  [][]byte // longest first
	longest int
}

// shortestPart is the length from which a line of a value is hidden by itself.
const shortestPart = 8

func newMasker(values []string) *masker {
	seen := map[string]bool{"": true}
	m := &masker{}
	add := func(v string) {
		if !seen[v] {
			seen[v] = true
			m.values = append(m.values, []byte(v))
			m.longest = max(m.longest, len(v))
		}
	}
	for _, v := range values {
		add(v)
		add(strings.TrimSpace(v))
		if strings.ContainsAny(v, "\r\n") {
			for line := range strings.Lines(v) {
				if line = strings.TrimSpace(line); len(line) >= shortestPart {
					add(line)
				}
			}
		}
		for _, form := range forms(v) {
			add(form)
		}
	}
	slices.SortStableFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// forms returns the forms that JSON, URLs and base64 give a value. In base64 it
// may stand behind other bytes, as a password behind the name of its user: what
// depends on these alone is left out.
func forms(v string) []string {
	out := []string{url.QueryEscape(v), url.PathEscape(v)}
	if quoted, err := json.Marshal(v); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	if len(v) < shortestPart {
		return out
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, before), v...))
			// Characters of 6 bits that also hold bits of what stands around it.
			out = append(out, text[(8*before+5)/6:8*(before+len(v))/6])
		}
	}
	return out
}

// text returns s with the values replaced.
func (m *masker) text(s string) string {
	if len(m.values) == 0 {
		return s
	}
	out, _ := m.replace(nil, []byte(s), len(s))
	return string(out)
}

// replace appends in to out with each value replaced that begins before limit,
// and returns how much of in that covers: up to limit, or beyond it to the end
// of a value.
func (m *masker) replace(out, in []byte, limit int) ([]byte, int) {
	next := make([]int, len(m.values)) // where each stands next, at or after pos
	find := func(i, from int) {
		if next[i] = bytes.Index(in[from:], m.values[i]); next[i] >= 0 {
			next[i] += from
		}
	}
	for i := range m.values {
		find(i, 0)
	}
	pos := 0
	for {
		first := -1
		for i := range m.values {
			if next[i] >= 0 && next[i] < pos {
				find(i, pos)
			}
			// Of those that begin at one place the longest counts, which comes first.
			if next[i] >= 0 && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 || next[first] >= limit {
			break
		}
		out = append(append(out, in[pos:next[first]]...), maskMark...)
		pos = next[first] + len(m.values[first])
	}
	if pos < limit {
		out, pos = append(out, in[pos:limit]...), limit
	}
	return out, pos
}

// held returns where in begins to be what may be the beginning of a value.
func (m *masker) held(in []byte) int {
	for i := max(0, len(in)-m.longest+1); i < len(in); i++ {
		for _, v := range m.values {
			if len(in)-i < len(v) && bytes.HasPrefix(v, in[i:]) {
				return i
			}
		}
	}
	return len(in)
}

// maskStream masks a text that comes in pieces. It holds back what may be the
// beginning of a value.
type maskStream struct {
	m    *masker
	held []byte
	out  []byte
}

// write returns what can be shown by now; it is valid until the next call.
func (s *maskStream) write(p []byte) []byte {
	if s.m.longest == 0 {
		return p
	}
	s.held = append(s.held, p...)
	var n int
	s.out, n = s.m.replace(s.out[:0], s.held, s.m.held(s.held))
	s.held = s.held[:copy(s.held, s.held[n:])]
	return s.out
}

// flush returns the rest. The beginning of a value that the end of the text cut
// off is hidden too, where it is not too short to tell.
func (s *maskStream) flush() []byte {
	if s.m.longest == 0 {
		return nil
	}
	s.out, _ = s.m.replace(s.out[:0], s.held, len(s.held))
	s.held = nil
	for _, v := range s.m.values {
		for n := len(v) - 1; n >= shortestPart; n-- {
			if bytes.HasSuffix(s.out, v[:n]) {
				return append(s.out[:len(s.out)-n], maskMark...)
			}
		}
	}
	return s.out
}
