// Package textpos turns byte offsets of a file into the line and column that
// its author sees.
package textpos

import (
	"bytes"
	"unicode/utf8"
)

const bom = "\uFEFF"

// Map finds positions in one file. Offsets asked for in ascending order cost
// one pass over the file together. The zero Map is for an empty file. Not safe
// for concurrent use.
type Map struct {
	src       []byte
	off       int // the offset that line and column belong to
	line, col int
}

// New returns a Map for the file src. A leading byte order mark takes no column.
func New(src []byte) *Map { return &Map{src: src} }

// Position returns the 1-based line and column of the byte at off; columns
// count code points, a line ends with LF or CRLF. An offset past the end
// counts as the end.
func (m *Map) Position(off int) (line, column int) {
	off = max(0, min(off, len(m.src)))
	if m.line == 0 || off < m.off {
		m.line, m.col, m.off = 1, 1, 0
		if bytes.HasPrefix(m.src, []byte(bom)) {
			m.off = len(bom)
			if off <= m.off {
				return 1, 1
			}
		}
	}
	for {
		i := bytes.IndexByte(m.src[m.off:off], '\n')
		if i < 0 {
			break
		}
		m.off += i + 1
		m.line++
		m.col = 1
	}
	m.col += utf8.RuneCount(m.src[m.off:off])
	m.off = off
	return m.line, m.col
}
