package mcpclient

import (
	"context"
	"io"
	"net/http"
	"time"
)

// stream sends a GET of the streamable transport, which opens an event stream:
// the server's own, or that of a call which broke off.
//
// The SDK waits for the first one while it connects, on a context that never
// ends, and gives up the session when one cannot be opened again. Here none of
// both costs more than the stream.
func (x *exchange) stream() (*http.Response, error) {
	resp, err := x.openStream()
	if err != nil {
		x.release()
	}
	return resp, err
}

func (x *exchange) openStream() (*http.Response, error) {
	g := x.g
	if id := x.out.Header.Get("Last-Event-Id"); !validFieldValue(id) {
		// The SDK keeps a carriage return in it, which no header can hold.
		if !x.isStandalone() {
			err := broken("the server gave an event a number that cannot be sent back")
			return x.giveUp(err)
		}
		x.out.Header.Del("Last-Event-Id")
	}
	if g.streamTooLarge.Load() && x.isStandalone() {
		return x.silent(), nil
	}
	first := x.out.Header.Get("Last-Event-Id") == "" && x.isStandalone() && g.streamed.CompareAndSwap(false, true)
	if err := g.opens.Wait(x.out.Context()); err != nil {
		if ctxErr := x.req.Context().Err(); ctxErr != nil {
			return nil, ctxErr
		}
		return nil, exceeded("the server ends its event streams again and again")
	}
	if first {
		return x.firstStream()
	}
	resp, err := x.send()
	if err == nil {
		resp, err = x.admitStream(resp)
	}
	switch {
	case err == nil:
		g.streamFailed.Store(0)
		return resp, nil
	case x.req.Context().Err() != nil || g.ctx.Err() != nil:
		return nil, err
	case !x.isStandalone():
		return x.giveUp(err)
	case known(err) != nil && g.streamFailed.Add(1) >= streamFailures:
		g.log.Warn("the server's event stream is gone; changes of its lists are not noticed any more", "reason", g.explain(err, g.secrets))
		return x.silent(), nil
	}
	return nil, err // the SDK tries again
}

// isStandalone reports whether the request is for the server's own event
// stream, or for a subscription: the SDK gives them a context without a
// deadline, and a call always has one.
func (x *exchange) isStandalone() bool {
	_, bounded := x.req.Context().Deadline()
	return !bounded
}

// giveUp ends the call whose stream cannot be resumed, but not the session.
func (x *exchange) giveUp(err error) (*http.Response, error) {
	abort(x.req.Context(), err)
	return nil, err
}

// admitStream admits the response to a GET if it is an event stream, or says
// that the session is gone, which is the SDK's to know.
func (x *exchange) admitStream(resp *http.Response) (*http.Response, error) {
	if isRedirect(resp) {
		if err := x.judgeRedirect(resp); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
	}
	resp, err := x.admit(resp)
	if err != nil || isRedirect(resp) || resp.StatusCode == http.StatusNotFound || isEventStream(resp) {
		return resp, err
	}
	_ = resp.Body.Close()
	return nil, broken("the server answers GET with %s and not with a stream of events", contentType(resp))
}

// judgeRedirect says whether http.Client will follow a redirect of a GET. The SDK
// would take its refusal for a network that is down.
func (x *exchange) judgeRedirect(resp *http.Response) error {
	to, err := resp.Location()
	if err != nil {
		return refused("the server redirects (%d) to a URL that cannot be used", resp.StatusCode)
	}
	via := []*http.Request{x.req}
	for req := x.req; req.Response != nil && req.Response.Request != nil; {
		req = req.Response.Request
		via = append([]*http.Request{req}, via...)
	}
	return x.g.checkRedirect(&http.Request{Method: x.req.Method, URL: to, Response: resp}, via)
}

// admitFirst admits the first response to a GET if it is an event stream.
func (x *exchange) admitFirst(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusOK || isRedirect(resp) {
		return x.admitStream(resp)
	}
	_ = resp.Body.Close()
	// Also a 404: before there was a stream, it says no more of the session.
	return nil, broken("the server answers GET with %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// firstStream opens the server's own event stream while the SDK connects. A
// server that has none, or whose GET fails, is used without. One that takes its
// time for the headers, as some do until there is an event, is given it.
func (x *exchange) firstStream() (*http.Response, error) {
	g := x.g
	found := make(chan *http.Response, 1)
	failed := make(chan error, 1)
	if !g.enter() {
		return nil, &remoteError{kind: ErrClosed, text: "the link to the server is closed"}
	}
	go func() {
		defer g.busy.Done()
		resp, err := x.send()
		if err != nil {
			failed <- err
			close(found)
			return
		}
		found <- resp
	}()
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	select {
	case resp, ok := <-found:
		if !ok {
			err := <-failed
			if x.req.Context().Err() != nil || g.ctx.Err() != nil {
				return nil, err
			}
			g.log.Debug("the server has no event stream", "reason", g.explain(err, g.secrets))
			return x.none(), nil
		}
		resp, err := x.admitFirst(resp)
		if err != nil {
			g.log.Debug("the server has no event stream", "reason", g.explain(err, g.secrets))
			return x.none(), nil
		}
		if isRedirect(resp) {
			g.streamed.Store(false) // the request that follows is the first one still
		}
		return resp, nil
	case <-timer.C:
		g.log.Debug("the server's event stream has no headers yet")
		return x.respond(http.StatusOK, x.late(found)), nil
	}
}

// none is the response of a server that has no event stream of its own.
func (x *exchange) none() *http.Response {
	x.release()
	return x.respond(http.StatusMethodNotAllowed, http.NoBody)
}

// silent is an event stream on which nothing comes until the session ends.
func (x *exchange) silent() *http.Response {
	found := make(chan *http.Response)
	close(found)
	return x.respond(http.StatusOK, x.late(found))
}

func (x *exchange) respond(status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, ContentLength: -1, Request: x.req,
	}
}

// lateBody is the body of an event stream whose headers are still to come. If
// what comes is none, it stays silent until the request ends.
type lateBody struct {
	x       *exchange
	found   chan *http.Response // closed if there is none
	body    io.ReadCloser
	ctx     context.Context // ends with the request and the link
	release context.CancelFunc
}

func (x *exchange) late(found chan *http.Response) *lateBody {
	b := &lateBody{x: x, found: found}
	b.ctx, b.release = x.g.bound(x.req.Context())
	return b
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.body == nil {
		b.body = http.NoBody
		if resp, ok := <-b.found; ok {
			if resp, err := b.x.admitFirst(resp); err == nil && isEventStream(resp) {
				b.body = resp.Body
			} else if err == nil {
				_ = resp.Body.Close() // a redirect, which comes too late to be followed
			}
		}
	}
	if b.body != http.NoBody {
		return b.body.Read(p)
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *lateBody) Close() error {
	b.release()
	b.x.release()
	if b.body != nil {
		return b.body.Close()
	}
	if resp, ok := <-b.found; ok {
		return resp.Body.Close()
	}
	return nil
}

// validFieldValue reports whether s can be the value of a header (RFC 9110
// §5.5).
func validFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
