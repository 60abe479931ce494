package mcpserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// body bounds the size of a request's body. The time to receive it is bounded
// by a deadline that was set when the request came in and ends with the body.
type body struct {
	reader   io.ReadCloser
	control  *http.ResponseController
	tooLarge func() // called once it turns out to be
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.reader == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.reader.Read(p)
	if err != nil && b.control != nil {
		// net/http reads on to notice that the client has gone; a deadline that
		// stayed would look like that.
		b.control.SetReadDeadline(time.Time{})
		b.control = nil
	}
	if b.tooLarge != nil && errors.As(err, new(*http.MaxBytesError)) {
		b.tooLarge()
		b.tooLarge = nil
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	if b.reader == nil {
		return nil
	}
	return b.reader.Close()
}
