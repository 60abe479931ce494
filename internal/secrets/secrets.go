// Package secrets finds credentials in text by the forms that their issuers
// give them: a fixed prefix, alphabet and length, or a PEM header with a key
// behind it. It knows a small set and is made to be right about what it
// reports; text that is merely called a password is not for it. What it returns
// says where and of what kind, never what.
package secrets

import (
	"bytes"
	"math"
	"regexp"
	"strings"
)

// Match is something that looks like a credential.
type Match struct {
	Kind       string // in words, such as "GitHub token"
	Start, End int    // offsets of the text
}

// window is how much of the text behind a prefix is looked at.
const window = 1024

// Find returns the matches in a text, in order, at most max of them, and
// whether there are more.
func Find(text []byte, max int) (matches []Match, more bool) {
	for at := 0; at < len(text); at++ {
		if insideWord(text, at) {
			continue
		}
		for _, d := range detectors[text[at]] {
			if !bytes.HasPrefix(text[at:], d.prefix) {
				continue
			}
			if end, ok := d.match(text, at); ok {
				if len(matches) >= max {
					return matches, true
				}
				matches = append(matches, Match{d.kind, at, end})
				at = end - 1
				break
			}
		}
	}
	return matches, false
}

// detector knows one form.
type detector struct {
	kind   string
	prefix []byte
	re     *regexp.Regexp // from the prefix on; the first group is what is secret
	plain  bool           // what is secret need not look random
}

// match returns where the match that begins at start ends.
func (d detector) match(text []byte, start int) (end int, ok bool) {
	at := d.re.FindSubmatchIndex(text[start:min(start+window, len(text))])
	if at == nil {
		return 0, false
	}
	end = start + at[1]
	if end < len(text) && (isWord(text[end]) || text[end] == '-') && isWord(text[end-1]) {
		return 0, false // too long for what it would be
	}
	return end, d.plain || random(string(text[start+at[2]:start+at[3]]))
}

// insideWord reports whether a word goes on at that offset. The letter of an
// escape such as \n in a quoted string is no part of one.
func insideWord(text []byte, at int) bool {
	if at == 0 || !isWord(text[at-1]) {
		return false
	}
	return at == 1 || text[at-2] != '\\' || bytes.IndexByte([]byte("nrt"), text[at-1]) < 0
}

func isWord(c byte) bool { return words[c] }

var words = func() (table [256]bool) {
	for c := range table {
		c := byte(c)
		table[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
	}
	return table
}()

// placeholders are what people write in place of a secret.
var placeholders = []string{"example", "placeholder", "your", "xxxx", "dummy", "redacted", "changeme", "sample", "fake", "secret", "token", "insert", "replace"}

// random reports whether text looks drawn at random: no word that stands for
// a value, no run of one character or of successive ones, and many different.
func random(text string) bool {
	const run = 5
	lower := strings.ToLower(text)
	for _, p := range placeholders {
		if strings.Contains(lower, p) {
			return false
		}
	}
	same, up := 1, 1
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
		if i == 0 {
			continue
		}
		same++
		if text[i] != text[i-1] {
			same = 1
		}
		up++
		if text[i] != text[i-1]+1 {
			up = 1
		}
		if same >= run || up > run {
			return false
		}
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 2.8
}
