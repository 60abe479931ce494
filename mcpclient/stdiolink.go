package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/plugberth/plugberth/internal/printable"
)

const (
	// lingerTime is how long is waited for what stands in the pipes once the
	// server has ended, in case that something out of the launcher's reach
	// holds them open.
	lingerTime = 500 * time.Millisecond
	// endTime is how long is waited for the end of a server whose output has
	// ended, to be able to say how it ended.
	endTime = time.Second
	// killTime is how long is waited for the end of a server that was killed.
	killTime = 5 * time.Second
)

// stdioLink is the way to a server that a launcher has started. One goroutine
// waits for its end and one reads its stderr; its stdout is read by whoever
// reads messages.
type stdioLink struct {
	proc   Process
	conn   *stdioConn
	stdout deadlineReader
	stderr io.ReadCloser
	errors *stderrLog
	mask   *masker
	logger *slog.Logger // may be nil
	grace  time.Duration

	pacing     context.Context // ends when nothing needs to be paced any more
	stopPacing context.CancelFunc

	exited     chan struct{} // the process has ended, and exitErr is set
	exitErr    error
	stderrDone chan struct{} // all of stderr has been read
	gone       chan struct{} // closed by the first of exited and fail

	mu      sync.Mutex
	isGone  bool
	closing bool  // its input was closed before the server was gone
	cause   error // why the way was given up, before the server ended

	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error
}

func newStdioLink(proc Process, opts *Options, m *masker, logger *slog.Logger) *stdioLink {
	stdin, stdout, stderr := proc.Pipes()
	l := &stdioLink{
		proc:       proc,
		stdout:     readerWithDeadlines(stdout),
		stderr:     stderr,
		errors:     newStderrLog(opts.Limits.Stderr, m, logger),
		mask:       m,
		logger:     logger,
		grace:      opts.GracePeriod,
		exited:     make(chan struct{}),
		stderrDone: make(chan struct{}),
		gone:       make(chan struct{}),
		closed:     make(chan struct{}),
	}
	l.pacing, l.stopPacing = context.WithCancel(context.Background())
	l.conn = newStdioConn(l, writerWithDeadlines(stdin), opts)
	go l.watch()
	pace := l.pace(opts.Limits.Rate)
	go func() {
		defer close(l.stderrDone)
		l.errors.readAll(l.stderr, pace)
	}()
	return l
}

// pace returns a function that waits for as long as reading n bytes may take.
func (l *stdioLink) pace(bytesPerSecond int64) func(n int) {
	burst := int(min(bytesPerSecond, 1<<30))
	limit := rate.NewLimiter(rate.Limit(bytesPerSecond), burst)
	return func(n int) {
		for n > 0 && limit.WaitN(l.pacing, min(n, burst)) == nil {
			n -= min(n, burst)
		}
	}
}

// watch waits for the end of the server and of what it wrote.
func (l *stdioLink) watch() {
	l.exitErr = l.proc.Wait()
	close(l.exited)
	l.markGone(nil)
	l.conn.wake()
	select {
	case <-l.stderrDone:
	case <-time.After(lingerTime):
	}
	l.stderr.Close()
}

// markGone notes that the server is gone, and why where the way was given up.
func (l *stdioLink) markGone(cause error) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone {
		return false
	}
	l.isGone, l.cause = true, cause
	// One that ends when its input is closed, as the SDK does after a handshake
	// that failed, did not end by itself.
	l.closing = l.closing || cause == nil && l.conn.isClosed()
	close(l.gone)
	return true
}

// fail gives the way up because of what the server did, and ends the server.
func (l *stdioLink) fail(cause error) {
	if l.markGone(cause) {
		go l.proc.Kill()
	}
}

// reason returns why the server is gone: nil as long as it is not, or where it
// was closed.
func (l *stdioLink) reason() error {
	l.mu.Lock()
	closing, cause := l.closing, l.cause
	l.mu.Unlock()
	switch {
	case closing:
		return nil
	case cause != nil:
		return cause
	}
	select {
	case <-l.exited:
	default:
		return nil
	}
	select {
	case <-l.stderrDone:
	case <-time.After(lingerTime):
	}
	exitErr := l.exitErr
	if local := (*exec.ExitError)(nil); exitErr != nil && !errors.As(exitErr, &local) {
		exitErr = l.masked(exitErr) // the words of another launcher
	}
	return &ExitError{Err: exitErr, Stderr: l.errors.text()}
}

// ended returns why no more comes of the server or goes to it, given the error
// of the pipe. It waits shortly for the end of the server, which may follow.
func (l *stdioLink) ended(err error) error {
	select {
	case <-l.gone:
	case <-l.conn.closed:
		return io.EOF
	case <-time.After(endTime):
	}
	if reason := l.reason(); reason != nil {
		return reason
	}
	if l.conn.isClosed() {
		return io.EOF
	}
	if err == io.EOF {
		err = fmt.Errorf("%w: it closed its output and did not end%s", ErrServer, l.said())
	} else {
		err = fmt.Errorf("%w: its pipe broke: %w", ErrServer, err)
	}
	l.fail(err)
	return err
}

// said is what is known of a server that has not said anything useful.
func (l *stdioLink) said() string {
	text := l.conn.noiseShown()
	if stderr := l.errors.text(); stderr != "" {
		text += "; its stderr ended: " + oneLine(stderr, maxStderrShown)
	}
	return text
}

func (l *stdioLink) transport() mcp.Transport { return stdioTransport{l} }

func (l *stdioLink) done() <-chan struct{} { return l.gone }

func (l *stdioLink) explain(err error) error {
	if err == nil {
		return nil
	}
	if reason := l.reason(); reason != nil {
		return withReason(err, reason)
	}
	err = l.masked(err)
	if said := l.said(); said != "" && !l.conn.heard.Load() {
		return fmt.Errorf("%w; the server has not sent a message yet%s", err, said)
	}
	return err
}

// masked takes what the host injected out of what the server answered.
func (l *stdioLink) masked(err error) error {
	wire := (*jsonrpc.Error)(nil)
	if errors.As(err, &wire) {
		message, data := l.mask.text(wire.Message), l.mask.text(string(wire.Data))
		if message != wire.Message || data != string(wire.Data) {
			return &jsonrpc.Error{Code: wire.Code, Message: message, Data: []byte(data)}
		}
		return err
	}
	if text := err.Error(); l.mask.text(text) != text {
		return &explained{l.mask.text(text), []error{err}}
	}
	return err
}

// withReason returns an error that is both, and says the reason once: the SDK
// puts its text into errors that do not wrap it.
func withReason(err, reason error) error {
	var exit *ExitError
	if errors.Is(err, reason) || errors.As(err, &exit) {
		return err
	}
	text := err.Error()
	if !strings.Contains(text, reason.Error()) {
		text += ": " + reason.Error()
	}
	return &explained{text, []error{err, reason}}
}

type explained struct {
	text string
	errs []error
}

func (e *explained) Error() string   { return e.text }
func (e *explained) Unwrap() []error { return e.errs }

// close implements [link]: the server's input is closed, after the grace period
// it is asked to terminate, after another it is killed. Once ctx has ended it is
// killed at once.
func (l *stdioLink) close(ctx context.Context, sessionClosed <-chan struct{}) error {
	l.closeOnce.Do(func() {
		l.mu.Lock()
		l.closing = !l.isGone
		l.mu.Unlock()
		go func() {
			defer close(l.closed)
			l.closeErr = l.shutdown(ctx, sessionClosed)
		}()
	})
	<-l.closed
	return l.closeErr
}

func (l *stdioLink) shutdown(ctx context.Context, sessionClosed <-chan struct{}) error {
	l.await(ctx, sessionClosed, l.grace)
	l.conn.Close()
	l.stopPacing()
	drained := make(chan struct{})
	go func() {
		// What the server still writes while it ends must not block it.
		defer close(drained)
		l.conn.reading.Lock()
		defer l.conn.reading.Unlock()
		l.stdout.SetReadDeadline(time.Time{})
		io.Copy(io.Discard, l.stdout)
	}()
	failed := make(chan error, 2)
	if !l.await(ctx, l.exited, l.grace) {
		go func() { failed <- l.proc.Terminate() }()
		if !l.await(ctx, l.exited, l.grace) {
			go func() { failed <- l.proc.Kill() }()
			l.await(context.Background(), l.exited, killTime)
		}
	}
	select {
	case <-l.exited:
		l.await(context.Background(), l.stderrDone, lingerTime)
		l.await(context.Background(), drained, lingerTime)
	default:
	}
	l.stdout.Close()
	l.stderr.Close()
	select {
	case <-l.exited:
		<-drained
		<-l.gone
		return nil
	default:
	}
	l.markGone(nil)
	err := fmt.Errorf("%w: it did not end when it was killed", ErrServer)
	for range cap(failed) {
		select {
		case cause := <-failed:
			if cause != nil {
				err = fmt.Errorf("%w: %s", err, printable.Escape(cause.Error()))
			}
		default:
		}
	}
	return err
}

// await waits until c is closed, for at most d, and no longer than ctx lives.
// It reports whether c is closed; a nil c counts as closed.
func (l *stdioLink) await(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	if c == nil {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}
