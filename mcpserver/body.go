package mcpserver

import (
	"io"
	"net/http"
	"time"
)

// body bounds the size of a request's body and the time to receive it.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	wait    time.Duration
	started bool
	ended   bool
}

func newBody(w http.ResponseWriter, req *http.Request, limit int, wait time.Duration) *body {
	return &body{
		ReadCloser: http.MaxBytesReader(w, req.Body, int64(limit)),
		control:    http.NewResponseController(w),
		wait:       wait,
	}
}

func (b *body) Read(p []byte) (int, error) {
	if !b.started {
		b.started = true
		b.control.SetReadDeadline(time.Now().Add(b.wait)) // best effort
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !b.ended {
		b.ended = true
		// net/http reads on to notice that the client has gone; a deadline that
		// stayed would look like that.
		b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
