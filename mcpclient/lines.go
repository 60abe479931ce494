package mcpclient

import (
	"bytes"
	"errors"
	"io"
)

var errLineTooLong = errors.New("the line is too long")

const (
	firstBuffer = 4 << 10  // what a reader begins with
	keptBuffer  = 16 << 10 // what it keeps once a longer line has been read
)

// lineReader reads lines of at most max bytes. It holds no more than that, and
// gives back what a long line needed.
type lineReader struct {
	src        io.Reader
	max        int
	buf        []byte
	start, end int // of what has been read and not returned
	seen       int // how much of that is known to have no line end
	err        error
}

// next returns the next line without its end, valid until the next call. What
// stands after the last line end is a line too. It fails with errLineTooLong,
// and with the reader's error.
func (r *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.seen:r.end], '\n'); i >= 0 {
			line := r.buf[r.start : r.start+r.seen+i]
			r.start += r.seen + i + 1
			r.seen = 0
			if len(line) > r.max {
				return nil, errLineTooLong
			}
			return line, nil
		}
		r.seen = r.end - r.start
		if r.seen > r.max {
			return nil, errLineTooLong
		}
		if r.err != nil {
			line := r.buf[r.start:r.end]
			r.start, r.seen = r.end, 0
			if len(line) > 0 {
				return line, nil
			}
			return nil, r.err
		}
		r.makeRoom()
		var n int
		n, r.err = r.src.Read(r.buf[r.end:])
		r.end += n
	}
}

func (r *lineReader) makeRoom() {
	held := r.end - r.start
	switch {
	case held <= keptBuffer/2 && len(r.buf) > keptBuffer:
		r.move(make([]byte, keptBuffer))
	case r.end < len(r.buf):
	case r.start > 0:
		r.move(r.buf)
	default:
		r.move(make([]byte, max(firstBuffer, min(2*len(r.buf), r.max+2))))
	}
}

func (r *lineReader) move(to []byte) {
	r.end = copy(to, r.buf[r.start:r.end])
	r.start, r.buf = 0, to
}
