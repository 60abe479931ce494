package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// Of the arguments, runs of this many bytes are recognized in a text, wherever
// they begin and end and whatever the case of their letters. Shorter values are
// recognized whole, down to minValue.
const (
	minRun   = 5
	minValue = 3
)

// withoutArguments returns text without what is in the arguments of a call:
// their values, and names that are as long as minRun, also in part, in another
// case, or escaped for a URL or for JSON. The work grows with the size of the
// arguments, whatever their number.
func withoutArguments(text string, args any) string {
	h := hider{runs: make(map[uint64][]int), hidden: make([]bool, len(text))}
	folded := lower(text)
	for n := minValue; n <= minRun; n++ {
		for i := 0; i+n <= len(folded); i++ {
			key := keyOf(folded[i : i+n])
			h.likely[key%uint64(len(h.likely))] = true
			h.runs[key] = append(h.runs[key], i)
		}
	}
	h.value(args)

	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if !h.hidden[i] {
			b.WriteByte(text[i])
		} else if i == 0 || !h.hidden[i-1] {
			b.WriteString("[argument]")
		}
	}
	return b.String()
}

// hider marks what is to be hidden of a short text.
type hider struct {
	runs   map[uint64][]int // where each run of the text begins, until it is hidden
	likely [16 << 10]bool   // which runs can be in it, to spare looking
	hidden []bool           // bytes of the text
}

// value hides a decoded JSON value.
func (h *hider) value(v any) {
	switch v := v.(type) {
	case string:
		h.all(v)
	case float64:
		h.all(strconv.FormatFloat(v, 'f', -1, 64))
		h.all(strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		for _, c := range v {
			h.value(c)
		}
	case map[string]any:
		for name, c := range v {
			if len(name) >= minRun {
				h.all(name)
			}
			h.value(c)
		}
	}
}

// all hides a value in the forms in which errors quote it.
func (h *hider) all(s string) {
	h.one(s)
	h.one(strconv.Quote(s))
	plain, ascii := true, true // no form of it differs, in a URL and in quotes
	for _, c := range []byte(s) {
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')
		ascii = ascii && c >= ' ' && c < 0x7f && !strings.ContainsRune(`<>&`, rune(c))
	}
	if !plain {
		h.one(url.QueryEscape(s))
		h.one(url.PathEscape(s))
	}
	if ascii {
		return
	}
	h.one(strconv.QuoteToASCII(s))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.Encode(s) // with < > & escaped
	enc.SetEscapeHTML(false)
	enc.Encode(s)
	for line := range strings.Lines(b.String()) {
		h.one(strings.TrimSuffix(line, "\n"))
	}
}

// one hides the places of the text that are in s.
func (h *hider) one(s string) {
	if len(s) < minValue {
		return
	}
	s = lower(s)
	n := min(len(s), minRun)
	key := keyOf(s[:n])
	h.hide(key, n)
	for i := n; i < len(s); i++ {
		key = key<<8&runMask | uint64(s[i]) | minRun<<lengthShift
		h.hide(key, n)
	}
}

// hide hides a run wherever it is in the text.
func (h *hider) hide(key uint64, n int) {
	if !h.likely[key%uint64(len(h.likely))] {
		return
	}
	for _, at := range h.runs[key] {
		for i := range n {
			h.hidden[at+i] = true
		}
	}
	delete(h.runs, key) // once is enough
}

const (
	runMask     = 1<<(8*minRun) - 1
	lengthShift = 8 * minRun
)

// keyOf packs a run of at most minRun bytes and its length.
func keyOf(s string) uint64 {
	var key uint64
	for i := range len(s) {
		key = key<<8 | uint64(s[i])
	}
	return key | uint64(len(s))<<lengthShift
}

// lower is s with its ASCII letters in lower case, as long as before.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
