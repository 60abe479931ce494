package plugin

import (
	"bytes"
	"strings"
)

// tarHeaders looks at the headers of a tar archive as they go by and refuses what
// readers take differently: numbers that are not written as numbers are, and text
// where some formats have a part of the name and others none.
type tarHeaders struct {
	block [tarBlock]byte
	n     int   // bytes of block
	skip  int64 // bytes of content and padding that follow
	zeros int   // blocks of zeros in a row; two are the end
}

// Where a header has what; the fields end where the next begin.
const (
	tarMode, tarModeEnd     = 100, 108
	tarUID, tarGID          = 108, 116
	tarSize, tarSizeEnd     = 124, 136
	tarTime                 = 136
	tarSum, tarSumEnd       = 148, 156
	tarType                 = 156
	tarMagic, tarMagicEnd   = 257, 265
	tarMajor, tarMinor      = 329, 337
	tarPrefix, tarPrefixEnd = 345, 500
)

// see takes the next bytes of the archive.
func (h *tarHeaders) see(p []byte) error {
	for len(p) > 0 && h.zeros < 2 {
		if h.skip > 0 {
			d := min(h.skip, int64(len(p)))
			h.skip -= d
			p = p[d:]
			continue
		}
		d := copy(h.block[h.n:], p)
		h.n += d
		p = p[d:]
		if h.n < tarBlock {
			break
		}
		h.n = 0
		if len(bytes.Trim(h.block[:], "\x00")) == 0 {
			h.zeros++
			continue
		}
		h.zeros = 0
		if err := h.header(); err != nil {
			return err
		}
	}
	return nil
}

func (h *tarHeaders) header() error {
	b := h.block[:]
	size, ok := tarNumber(b[tarSize:tarSizeEnd])
	for _, field := range [][]byte{b[tarMode:tarModeEnd], b[tarSum:tarSumEnd]} {
		_, good := tarNumber(field)
		ok = ok && good
	}
	// Owners, time and device do not matter, but some readers end at one that they
	// cannot read. They may be missing, or large and then in base 256.
	for _, field := range [][]byte{b[tarUID:tarGID], b[tarGID:tarSize], b[tarTime:tarSum], b[tarMajor:tarMinor], b[tarMinor:tarPrefix]} {
		_, good := tarNumber(field)
		ok = ok && (good || field[0] == 0x80 || field[0] == 0xff || len(bytes.Trim(field, " \x00")) == 0)
	}
	if !ok {
		return notSound("a header has something else where a number stands")
	}
	switch magic := string(b[tarMagic:tarMagicEnd]); {
	case magic == "ustar\x0000":
	case magic != "ustar  \x00" && magic != strings.Repeat("\x00", tarMagicEnd-tarMagic):
		return notSound("a header is of an unknown format")
	case b[tarType] == 'S': // which has its map there and is refused for what it is
	case len(bytes.Trim(b[tarPrefix:tarPrefixEnd], "\x00")) > 0:
		return notSound("a header has text where only other formats have a part of the name")
	}
	if len(bytes.Trim(b[tarPrefixEnd:], "\x00")) > 0 {
		return notSound("a header has text behind its fields")
	}
	switch b[tarType] {
	case '1', '2', '3', '4', '5', '6': // which have no content
	default:
		h.skip = (size + tarBlock - 1) / tarBlock * tarBlock
	}
	return nil
}

// tarNumber reads an octal number: blanks may stand before it, and blanks and
// NULs behind.
func tarNumber(field []byte) (n int64, ok bool) {
	digits := bytes.TrimRight(bytes.TrimLeft(field, " "), " \x00")
	for _, c := range digits {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n<<3 | int64(c-'0')
	}
	return n, len(digits) > 0
}
