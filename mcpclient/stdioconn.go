package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/plugberth/plugberth/internal/printable"
)

// The stdio transport of MCP is one JSON-RPC message a line. The SDK has a
// connection for it, IOTransport, which this one replaces for what a hostile or
// broken server can do to it: its writes do not end with their context, a line
// that is no message ends the session without showing the line, nothing paces
// what comes in, and it takes requests and notifications into a queue without
// end. The messages themselves are read and written by the SDK's jsonrpc
// package.
//
// Lines on stdout that are no messages are forbidden to servers, and yet many
// print a banner or a log line there. Ending the session would help nobody, so
// such lines are dropped: the first is logged and shown when the connection does
// not come about, and more than noiseLines of them or noiseBytes without a
// message between them end the session. A line that is not JSON and yet speaks
// of "jsonrpc" is a message that was torn, whose sender waits for an answer: that
// ends the session at once.

const (
	noiseLines = 1000
	noiseBytes = 1 << 20

	// Notifications a second, beyond a first burst, that are handed on;
	// reading waits. The SDK queues them without end, and its handlers keep up
	// with far more than this.
	notifyRate  = 1000
	notifyBurst = 2000

	// maxRequests is how many requests of a server may be unanswered. More are
	// refused, here before the SDK queues them, and by any way in answers.
	maxRequests = 64
)

// codeBusy is in the range that JSON-RPC leaves to implementations.
const codeBusy = -32000

type stdioTransport struct{ link *stdioLink }

// Connect implements mcp.Transport. A link is for one connection.
func (t stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	if !t.link.conn.connected.CompareAndSwap(false, true) {
		return nil, errors.New("mcpclient: a link is used for one connection")
	}
	return t.link.conn, nil
}

// stdioConn implements mcp.Connection over the pipes of a server.
type stdioConn struct {
	link  *stdioLink
	stdin deadlineWriter
	stall time.Duration // how long a write may not get on
	pace  func(n int)
	// values is how many a message may have.
	values int

	connected atomic.Bool
	closeOnce sync.Once
	closed    chan struct{}

	reading   sync.Mutex // held while stdout is read
	lines     lineReader
	queue     []jsonrpc.Message // the rest of a batch
	notes     *rate.Limiter
	requests  atomic.Int64 // of the server that are unanswered
	heard     atomic.Bool  // a message has come
	lastNoise struct{ lines, bytes int }
	paused    bool // reading has waited because of notifications

	noise atomic.Pointer[string] // the first line that was no message, safe to show

	writing chan struct{} // holds one while somebody writes
}

func newStdioConn(l *stdioLink, stdin deadlineWriter, opts *Options) *stdioConn {
	c := &stdioConn{
		link:    l,
		stdin:   stdin,
		stall:   opts.CallTimeout,
		pace:    l.pace(opts.Limits.Rate),
		values:  opts.Limits.Values,
		closed:  make(chan struct{}),
		notes:   rate.NewLimiter(notifyRate, notifyBurst),
		writing: make(chan struct{}, 1),
	}
	c.lines = lineReader{src: stdoutReader{c}, max: opts.Limits.Line}
	return c
}

func (c *stdioConn) SessionID() string { return "" }

// Close implements mcp.Connection. It is called under a lock of the SDK, so it
// does no more than close the server's input and end reading; the rest is the
// link's.
func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		c.stdin.Close()
		c.wake()
	})
	return nil
}

func (c *stdioConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// wake makes a read that waits look around.
func (c *stdioConn) wake() { c.link.stdout.SetReadDeadline(time.Unix(1, 0)) }

// stdoutReader reads the server's output until the connection is closed or,
// once the server has ended, nothing has come for a while.
type stdoutReader struct{ c *stdioConn }

func (r stdoutReader) Read(p []byte) (int, error) {
	c := r.c
	for {
		if c.isClosed() {
			return 0, io.EOF
		}
		var last time.Time // of waiting, once the server has ended
		select {
		case <-c.link.exited:
			last = time.Now().Add(lingerTime)
			c.link.stdout.SetReadDeadline(last)
		default:
		}
		n, err := c.link.stdout.Read(p)
		if n > 0 {
			c.pace(n)
			return n, nil // an error comes again
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if !last.IsZero() && !time.Now().Before(last) {
				return 0, io.EOF
			}
			continue // woken
		}
		if err != nil {
			return 0, err
		}
	}
}

// Read implements mcp.Connection.
func (c *stdioConn) Read(context.Context) (jsonrpc.Message, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		for len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			if c.admit(msg) {
				return msg, nil
			}
		}
		line, err := c.lines.next()
		switch {
		case c.isClosed():
			return nil, io.EOF
		case errors.Is(err, errLineTooLong):
			err = fmt.Errorf("%w: a line of more than %d bytes", ErrLimit, c.lines.max)
			c.link.fail(err)
			return nil, err
		case err != nil:
			return nil, c.link.ended(err)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if (line[0] == '{' || line[0] == '[') && tooManyValues(line, c.values) {
			err := fmt.Errorf("%w: a message of more than %d values", ErrLimit, c.values)
			c.link.fail(err)
			return nil, err
		}
		msg, rest, err := decodeLine(line)
		if err != nil {
			if err := c.drop(line); err != nil {
				c.link.fail(err)
				return nil, err
			}
			continue
		}
		c.lastNoise.lines, c.lastNoise.bytes = 0, 0
		c.heard.Store(true)
		c.queue = rest
		if c.admit(msg) {
			return msg, nil
		}
	}
}

var errNoMessage = errors.New("the line is no message")

// decodeLine returns the message of a line; or the messages of a batch, which
// early versions of the protocol have, as the first and the rest. They do not
// alias the line. The SDK's decoder does not look at what follows a message.
func decodeLine(line []byte) (msg jsonrpc.Message, rest []jsonrpc.Message, err error) {
	if line[0] != '{' && line[0] != '[' || !json.Valid(line) {
		return nil, nil, errNoMessage
	}
	if line[0] == '{' {
		msg, err = jsonrpc.DecodeMessage(line)
		return msg, nil, err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil {
		return nil, nil, err
	}
	for _, raw := range batch {
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil, nil, err
		}
		rest = append(rest, msg)
	}
	if len(rest) == 0 {
		return nil, nil, errNoMessage
	}
	return rest[0], rest[1:], nil
}

// drop notes a line that is no message. Its error ends the session.
func (c *stdioConn) drop(line []byte) error {
	shown := func() string {
		const most = 4096
		m := c.link.mask
		// A value that begins before the cut is seen whole.
		text, _ := m.replace(nil, line[:min(len(line), most+m.longest)], min(len(line), most))
		return printable.Quote(string(text))
	}
	if c.noise.Load() == nil {
		s := shown()
		c.noise.Store(&s)
		if c.link.logger != nil {
			c.link.logger.Warn("mcp server wrote a line to stdout that is no message", "line", s)
		}
	}
	if bytes.Contains(line, []byte(`"jsonrpc"`)) && !json.Valid(line) {
		return fmt.Errorf("%w: a line of its output is a broken message: %s", ErrServer, shown())
	}
	c.lastNoise.lines++
	c.lastNoise.bytes += len(line)
	if c.lastNoise.lines > noiseLines || c.lastNoise.bytes > noiseBytes {
		return fmt.Errorf("%w: it writes text to its output that is no message%s", ErrServer, c.noiseShown())
	}
	return nil
}

// noiseShown says what the first line was that was no message, if there was one.
func (c *stdioConn) noiseShown() string {
	if s := c.noise.Load(); s != nil {
		return "; the first line of its output that is no message: " + *s
	}
	return ""
}

// admit decides whether a message is handed on. It waits where notifications
// come too fast, and refuses requests where too many are unanswered.
func (c *stdioConn) admit(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	switch {
	case !ok:
		return true
	case !req.IsCall():
		if !c.notes.Allow() {
			if !c.paused && c.link.logger != nil {
				c.link.logger.Warn("mcp server sends notifications too fast; reading waits", "a_second", notifyRate)
			}
			c.paused = true
			c.notes.Wait(c.link.pacing)
		}
		return true
	case c.requests.Add(1) <= maxRequests:
		return true
	}
	c.requests.Add(-1)
	c.send(context.Background(), &jsonrpc.Response{ID: req.ID, Error: errBusy})
	return false
}

// Write implements mcp.Connection. It ends with its context. A message of which
// a part has been written by then is completed behind the caller's back, since
// half of one would spoil what follows.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.requests.Add(-1)
	}
	return c.send(ctx, msg)
}

func (c *stdioConn) send(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return c.writeError(io.ErrClosedPipe)
	}
	c.stdin.SetWriteDeadline(time.Now().Add(c.stall))
	release := func() {}
	if ctx.Done() != nil {
		called := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			c.stdin.SetWriteDeadline(time.Unix(1, 0))
			close(called)
		})
		release = func() {
			if !stop() {
				<-called // or it would hit the next write
			}
		}
	}
	n, err := c.stdin.Write(data)
	release()
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		if n == 0 {
			<-c.writing
		} else {
			go c.complete(data[n:])
		}
		return ctx.Err()
	}
	<-c.writing
	return c.writeError(err)
}

// complete writes the rest of a message, whose writer has gone.
func (c *stdioConn) complete(rest []byte) {
	c.stdin.SetWriteDeadline(time.Now().Add(c.stall))
	_, err := c.stdin.Write(rest)
	<-c.writing
	c.writeError(err)
}

// writeError says what the error of a write means, and acts on it.
func (c *stdioConn) writeError(err error) error {
	switch {
	case err == nil:
		return nil
	case c.isClosed():
		return io.ErrClosedPipe
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w: it has not read its input for %s", ErrServer, c.stall)
		c.link.fail(err)
		return err
	}
	return c.link.ended(err)
}
