package mcpclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// pacedReader reads no faster than the limiter allows, from r.
type pacedReader struct {
	ctx context.Context
	r   io.Reader
	l   *rate.Limiter
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if len(b) > p.l.Burst() {
		b = b[:p.l.Burst()]
	}
	n, err := p.r.Read(b)
	if n > 0 && !p.l.AllowN(time.Now(), n) {
		if wait := p.l.WaitN(p.ctx, n); wait != nil && err == nil {
			if err = p.ctx.Err(); err == nil {
				err = exceeded("the server sent more than %.0f bytes a second, which takes longer than the request may", float64(p.l.Limit()))
			}
		}
	}
	return n, err
}

// cappedReader fails with over once r has given more than left bytes.
type cappedReader struct {
	r    io.Reader
	left int64
	over error
}

func (c *cappedReader) Read(b []byte) (int, error) {
	if c.left < 0 {
		return 0, c.over
	}
	if int64(len(b)) > c.left+1 {
		b = b[:c.left+1]
	}
	n, err := c.r.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return n - 1, c.over
	}
	return n, err
}

// eventReader fails with over once an event of a stream of server-sent events
// has more than max bytes, and with overValues once it has more than maxValues
// values. Events end with an empty line. Once a stream has had notifyBurst of
// them, it gives no more than notifyRate a second: each costs the SDK far more
// than its bytes.
type eventReader struct {
	r          io.Reader
	max        int
	over       error
	maxValues  int
	overValues error

	event  int  // bytes of the event so far
	inLine bool // the line has something but a carriage return
	values valueCounter
	ctx    context.Context // of the request
	events int             // of the stream
	notes  *rate.Limiter
	failed error
}

func (e *eventReader) Read(b []byte) (int, error) {
	if e.failed != nil {
		return 0, e.failed
	}
	// What has been received and not decompressed could take long: the SDK reads
	// on to reuse the connection.
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := e.r.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		line := rest
		if end >= 0 {
			line = rest[:end+1]
		}
		if e.event += len(line); len(bytes.TrimRight(line, "\r\n")) > 0 {
			e.inLine = true
		}
		switch {
		case e.event > e.max:
			e.failed = e.over
			return 0, e.over
		case e.values.add(line) > e.maxValues:
			e.failed = e.overValues
			return 0, e.overValues
		}
		if end < 0 {
			break
		}
		if !e.inLine {
			if e.event > len(line) {
				e.wait()
			}
			e.event, e.values = 0, valueCounter{}
		}
		e.inLine = false
		rest = rest[end+1:]
	}
	return n, err
}

// wait waits until another event may be given. It ends with the request.
func (e *eventReader) wait() {
	if e.events++; e.events <= notifyBurst {
		return
	}
	if e.notes == nil {
		e.notes = rate.NewLimiter(notifyRate, 1)
	}
	_ = e.notes.Wait(e.ctx)
}

// gunzipReader decompresses. It reads nothing before it is read itself, so that
// a response can be handed on before its body begins.
type gunzipReader struct {
	r  io.Reader
	gz *gzip.Reader
}

func (g *gunzipReader) Read(b []byte) (n int, err error) {
	if g.gz == nil {
		if g.gz, err = gzip.NewReader(g.r); err != nil {
			if err != io.EOF {
				err = broken("the server's response is not gzip, as it says: %v", err)
			}
			return 0, err
		}
	}
	return g.gz.Read(b)
}

// guardedBody is the body of a response on its way to the SDK.
type guardedBody struct {
	io.Reader             // what the SDK reads
	wire      io.Closer   // the transport's body
	release   func()      // ends the request's own context
	fail      func(error) // told of the first error but io.EOF; may be nil
	ended     func()      // told that reading ended; may be nil
	over      atomic.Bool // fail and ended were called
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && b.over.CompareAndSwap(false, true) {
		if err != io.EOF && b.fail != nil {
			b.fail(err)
		}
		if b.ended != nil {
			b.ended()
		}
	}
	return n, err
}

func (b *guardedBody) Close() error {
	err := b.wire.Close()
	b.release()
	return err
}

// mediaType returns the type of a response's content, in lower case, or "".
func mediaType(resp *http.Response) string {
	value := resp.Header.Get("Content-Type")
	if value == "application/json" || value == "text/event-stream" {
		return value // nearly always
	}
	t, _, err := mime.ParseMediaType(value)
	if err != nil {
		return ""
	}
	return t
}

func isEventStream(resp *http.Response) bool {
	return resp.StatusCode >= 200 && resp.StatusCode <= 299 && mediaType(resp) == "text/event-stream"
}
