package mcpserver

import (
	"io"
	"net/http"
	"time"
)

// body bounds the size of a request's body and the time to receive it.
type body struct {
	reader  io.ReadCloser
	control *http.ResponseController
	wait    time.Duration
	started bool
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.reader == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	if !b.started {
		b.started = true
		b.control.SetReadDeadline(time.Now().Add(b.wait)) // best effort
	}
	n, err := b.reader.Read(p)
	if err != nil && b.control != nil {
		// net/http reads on to notice that the client has gone; a deadline that
		// stayed would look like that.
		b.control.SetReadDeadline(time.Time{})
		b.control = nil
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
