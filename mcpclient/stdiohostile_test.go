package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// soon is far longer than anything takes that should be at once, and far
// shorter than the time limits of the options.
const soon = 5 * time.Second

// within fails the test when f takes longer than what should be at once.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > soon {
		t.Errorf("%s took %v", what, took)
	}
}

// Servers that fail while the session is opened: a clear error at once.
func TestStdioServerFailsToConnect(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  string
		tweak func(*Options)
		is    error
		texts []string
		not   string
	}{
		{"[R3] [R4] it exits with an error", "exit", nil, ErrServer,
			[]string{"exit status 3", `its stderr ended: starting | \x1b[31mcannot find module \u202e'x'\x1b[0m with [hidden]`}, "s3cret-token"},
		{"[R4] the end of a long stderr", "exit after much", nil, ErrServer, []string{"exit status 1", "its stderr ended: …", "line 4999 of what went wrong"}, "line 1 "},
		{"[R3] it exits with success", "success", nil, ErrServer, []string{"ended by itself, with success"}, "stderr"},
		{"[R3] it is killed", "abort", nil, ErrServer, []string{"signal: killed"}, ""},
		{"[R9] a line without end", "huge line", nil, ErrLimit, []string{"a line of more than 8388608 bytes"}, "xxx"},
		{"[R9] only noise", "only noise", nil, ErrServer, []string{`text to its output that is no message; the first line of its output that is no message: "tick ....`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.mode == "abort" && runtime.GOOS == "windows" {
				t.Skip("there are no signals")
			}
			noLeaks(t)
			opts := testOptions(t)
			l := open(t, c.mode, opts, Credentials{Env: map[string]string{"API_TOKEN": "s3cret-token"}})
			ctx, cancel := context.WithTimeout(t.Context(), opts.ConnectTimeout)
			defer cancel()
			within(t, "the error", func() {
				err := l.connect(ctx)
				mustFail(t, err, c.is, c.texts...)
				if c.not != "" && strings.Contains(err.Error(), c.not) {
					t.Errorf("%q shows %q", err, c.not)
				}
			})
			within(t, "closing", func() { l.end(t) })
		})
	}
}

// [R4] How a server ended can be matched, and its stderr read as it was.
func TestStdioExitError(t *testing.T) {
	noLeaks(t)
	opts := testOptions(t)
	opts.Limits.Stderr = 100
	l := open(t, "exit", opts, Credentials{Env: map[string]string{"API_TOKEN": "s3cret-token"}})
	err := l.connect(t.Context())
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Stderr != "starting\n"+`\x1b[31mcannot find module \u202e'x'\x1b[0m with [hidden]` {
		t.Errorf("%v, %+v", err, exit)
	}
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 3 {
		t.Errorf("%v has no exit status", err)
	}
	if again := l.explain(errors.New("later")); !errors.As(again, &exit) || !strings.HasPrefix(again.Error(), "later: ") {
		t.Errorf("later: %v", again)
	}
}

// Servers that do not answer: the context decides, and the error says what is
// known of them.
func TestStdioServerDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name, mode, text string
	}{
		{"[R3] stderr", "never answers", "the server has not sent a message yet; its stderr ended: waiting for a database"},
		{"[R3] noise", "quiet noise", `has not sent a message yet; the first line of its output that is no message: "Usage: server [\x1b[1moptions\x1b[0m] [hidden]"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			l := open(t, c.mode, testOptions(t), Credentials{Env: map[string]string{"API_TOKEN": "s3cret-token"}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			connected := make(chan error)
			go func() { connected <- l.connect(ctx) }()
			for !strings.HasSuffix(c.text, l.said()) || l.said() == "" {
				time.Sleep(time.Millisecond) // it says so before it reads
			}
			cancel()
			within(t, "the error", func() { mustFail(t, <-connected, context.Canceled, c.text) })
			within(t, "closing", func() { l.end(t) })
		})
	}
}

// [R9] What a server prints to stdout besides messages does not end the
// session; the first line is logged.
func TestStdioNoise(t *testing.T) {
	noLeaks(t)
	logs, logger := newLog()
	opts := testOptions(t)
	opts.Logger = logger
	l := start(t, "banner", opts)
	l.echo(t)
	for range 10 {
		if got, err := l.call(t.Context(), "noise", nil); err != nil || got != "noise" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	text := logs.String()
	if strings.Count(text, "no message") != 1 || !strings.Contains(text, `Server v1.0 \\x1b[32mready\\x1b[0m`) ||
		!strings.Contains(text, `"plugin":"demo"`) || !strings.Contains(text, `"server":"s"`) {
		t.Errorf("logs:\n%s", text)
	}
	if err := l.explain(errors.New("x")); err.Error() != "x" {
		t.Errorf("a server that speaks explains %v", err)
	}
}

// An answer to a notification, which some servers send with a null id, is
// dropped; a batch, which early versions of the protocol have, is read.
func TestStdioOddMessages(t *testing.T) {
	noLeaks(t)
	l := start(t, "answers a notification", testOptions(t))
	l.echo(t)
	if _, err := l.call(t.Context(), "batch", nil); err != nil {
		t.Error(err)
	}
	select {
	case <-l.changed:
	case <-time.After(soon):
		t.Error("the rest of a batch was lost")
	}
	if got, err := l.call(t.Context(), "twice", nil); err != nil || got != "first" {
		t.Errorf("an answer that came twice: %q, %v", got, err)
	}
	l.echo(t)
}

// Servers that end or break in the middle of a call: the call fails at once and
// says why, and nothing of the server is left.
func TestStdioServerFailsInCall(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  string
		tool  string
		args  map[string]any
		tweak func(*Options)
		is    error
		texts []string
		only  string // a system
	}{
		{"[R4] it exits", "normal", "exit", nil, nil, ErrServer, []string{"exit status 5", "its stderr ended: gave up"}, ""},
		{"[R4] it exits and a child holds its pipes", "normal", "fork and exit", nil, nil, ErrServer, []string{"ended by itself, with success"}, ""},
		{"[R4] it exits and a child that left its group holds its pipes", "normal", "escape and exit", nil, nil, ErrServer, []string{"ended by itself, with success"}, "linux"},
		{"[R9] a torn message", "normal", "torn", nil, nil, ErrServer, []string{`a broken message: "Working...{"jsonrpc"`}, ""},
		{"[R9] two messages on a line", "normal", "two on a line", nil, nil, ErrServer, []string{"a broken message"}, ""},
		{"[R9] a line over the limit", "normal", "long", map[string]any{"n": 20_000}, func(o *Options) { o.Limits.Line = 10_000 }, ErrLimit, []string{"a line of more than 10000 bytes"}, ""},
		{"[R4] it closes its output and stays", "closes its output", "echo", nil, nil, ErrServer, []string{"it closed its output and did not end"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.only != "" && c.only != runtime.GOOS {
				t.Skip("not on this system")
			}
			noLeaks(t)
			opts := testOptions(t)
			if c.tweak != nil {
				c.tweak(opts)
			}
			l := start(t, c.mode, opts)
			ctx, cancel := context.WithTimeout(t.Context(), opts.CallTimeout)
			defer cancel()
			within(t, "the error", func() {
				_, err := l.call(ctx, c.tool, c.args)
				mustFail(t, err, c.is, c.texts...)
			})
			select {
			case <-l.done():
			case <-time.After(soon):
				t.Error("[R5] the link is not done")
			}
			_, err := l.call(ctx, "echo", nil)
			mustFail(t, err, c.is, c.texts...)
			if pid, err := strconv.Atoi(l.errors.text()); err == nil {
				if c.tool == "escape and exit" {
					// Out of reach of a process group, as documented: a Launcher can hold it.
					if !alive(pid) {
						t.Error("the escaped child is gone: have the documentation say so")
					}
					kill(pid)
				}
				gonePid(t, pid)
			} else if strings.Contains(c.tool, "and exit") {
				t.Errorf("no child was started: %q", l.errors.text())
			}
			within(t, "closing", func() { l.end(t) })
		})
	}
}

// [R4] What a server wrote before it ended is read whole.
func TestStdioAnswersAndExits(t *testing.T) {
	noLeaks(t)
	l := start(t, "normal", testOptions(t))
	if got, err := l.call(t.Context(), "answer and exit", nil); err != nil || len(got) != 100_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	<-l.done()
}

// [R4] The whole group ends, whatever its members do: input closed, TERM, KILL.
func TestStdioClosing(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  string
		setup func(t *testing.T, l *testLink) (child int)
		grace time.Duration
		least time.Duration
		check func(t *testing.T, l *testLink)
	}{
		{name: "[R4] it ignores the end of its input and TERM", mode: "ignores TERM and end of input", grace: 50 * time.Millisecond, least: 100 * time.Millisecond},
		{name: "[R4] it is stopped", mode: "normal", grace: 50 * time.Millisecond, setup: func(t *testing.T, l *testLink) int {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := l.call(ctx, "stop", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call of a stopped server: %v", err)
			}
			return 0
		}},
		{name: "[R4] it does not read its input", mode: "stops reading", grace: 50 * time.Millisecond, setup: func(t *testing.T, l *testLink) int {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			within(t, "a call that cannot be written", func() {
				if _, err := l.call(ctx, "echo", map[string]any{"text": strings.Repeat("x", 1<<20)}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a call of a server that does not read: %v", err)
				}
			})
			return 0
		}},
		{name: "[R4] the child of a wrapper", mode: "wrapper", grace: 50 * time.Millisecond, setup: forkChild},
		{name: "[R4] a child that ignores TERM, of a server that ends", mode: "normal", grace: 10 * time.Second, setup: forkChild},
		{name: "[R4] it writes while it ends", mode: "writes while it ends", grace: 10 * time.Second, check: func(t *testing.T, l *testLink) {
			data, err := plugin.DataDir(l.dataRoot, testID.Instance)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(data, "ended")); err != nil || string(text) != "well" {
				t.Errorf("%q, %v", text, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && c.mode != "normal" {
				t.Skip("there are no signals")
			}
			noLeaks(t)
			opts := testOptions(t)
			opts.GracePeriod = c.grace
			l := start(t, c.mode, opts)
			child := 0
			if c.setup != nil {
				child = c.setup(t, l)
			}
			begin := time.Now()
			within(t, "closing", func() { l.end(t) })
			if took := time.Since(begin); took < c.least {
				t.Errorf("closing took %v, less than both grace periods", took)
			}
			if child != 0 && alive(child) {
				t.Error("a child is still there")
				kill(child)
			}
			if c.check != nil {
				c.check(t, l)
			}
		})
	}
}

func forkChild(t *testing.T, l *testLink) int {
	t.Helper()
	text, err := l.call(t.Context(), "fork", nil)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil || !alive(pid) {
		t.Fatalf("no child: %q, %v", text, err)
	}
	return pid
}

// [R4] A context that has ended leaves no time for grace.
func TestStdioCloseWithoutTime(t *testing.T) {
	noLeaks(t)
	opts := testOptions(t)
	opts.GracePeriod = time.Minute
	l := start(t, "ignores TERM and end of input", opts)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	within(t, "closing", func() {
		if err := l.close(ctx, nil); err != nil {
			t.Error(err)
		}
	})
}

// [R4] Closing while calls are under way: they end, and closing is not held up.
func TestStdioCloseDuringCalls(t *testing.T) {
	noLeaks(t)
	opts := testOptions(t)
	opts.GracePeriod = 50 * time.Millisecond
	l := start(t, "stops reading", opts)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := l.call(context.Background(), "echo", map[string]any{"text": strings.Repeat("x", 100_000)}); err == nil {
				t.Error("a call that nobody answered succeeded")
			}
		})
	}
	within(t, "closing", func() { l.end(t) })
	within(t, "the calls", wg.Wait)
}

// [R3] A call's context ends the writing of its request, and what was half
// written is completed: the stream stays whole.
func TestStdioWriteIsCalledOff(t *testing.T) {
	noLeaks(t)
	begun, gate := make(chan struct{}), make(chan struct{})
	stdin, stdinW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stdoutW := io.Pipe()
	stderr, stderrW := io.Pipe()
	proc := &pipeProcess{stdin: stdinW, stdout: stdout, stderr: stderr, done: make(chan struct{})}
	opts := testOptions(t)
	l := newStdioLink(proc, opts, newMasker(nil), nil)
	lines := make(chan string, 10)
	go func() {
		first := make([]byte, 1)
		stdin.Read(first)
		close(begun)
		<-gate
		r := &lineReader{src: io.MultiReader(bytes.NewReader(first), stdin), max: 1 << 30}
		for {
			line, err := r.next()
			if err != nil {
				close(lines)
				close(proc.done)
				stdoutW.Close()
				stderrW.Close()
				return
			}
			lines <- string(line)
		}
	}()
	write := func(ctx context.Context, text string) error {
		return l.conn.Write(ctx, notification(text))
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if err := write(ctx, strings.Repeat("a", 1<<20)); !errors.Is(err, context.Canceled) {
		t.Errorf("[R3] a write that a full pipe holds: %v", err)
	}
	if err := write(ctx, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("[R3] with a context that has ended: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := write(ctx, "c"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("[R3] a write that waits for another: %v", err)
	}
	close(gate)
	if err := write(t.Context(), "d"); err != nil {
		t.Error(err)
	}
	if line := <-lines; len(line) < 1<<20 || !strings.HasSuffix(line, `a"}}`) {
		t.Errorf("the first message arrived with %d bytes", len(line))
	}
	if line := <-lines; !strings.Contains(line, `"d"`) {
		t.Errorf("then came %q", line)
	}
	if err := l.close(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for range lines {
	}
	stdin.Close()
}

// [R4] A server that does not read its input for as long as a call may take is
// given up.
func TestStdioServerStalls(t *testing.T) {
	noLeaks(t)
	opts := testOptions(t)
	opts.CallTimeout = 100 * time.Millisecond
	l := start(t, "stops reading", opts)
	within(t, "giving up", func() {
		_, err := l.call(context.Background(), "echo", map[string]any{"text": strings.Repeat("x", 1<<20)})
		mustFail(t, err, ErrServer, "has not read its input for 100ms")
		<-l.done()
		<-l.exited
	})
}

// [R9] A flood of notifications waits in the pipe, not in memory, and calls get
// through.
func TestStdioNotificationFlood(t *testing.T) {
	noLeaks(t)
	logs, logger := newLog()
	opts := testOptions(t)
	opts.Logger = logger
	opts.GracePeriod = 100 * time.Millisecond
	l := start(t, "normal", opts)
	l.conn.notes.SetBurst(10)
	if got, err := l.call(t.Context(), "notify", map[string]any{"n": 100}); err != nil || got != "notified" {
		t.Errorf("%q, %v", got, err)
	}
	<-l.changed
	if !strings.Contains(logs.String(), "notifications too fast") {
		t.Errorf("logs: %s", logs)
	}
	// One that never ends is closed all the same.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	before := heap()
	if _, err := l.call(ctx, "notify", map[string]any{"n": 10_000_000}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("%d bytes more", grown)
	}
	within(t, "closing", func() { l.end(t) })
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// [R9] [R14] More requests than may be unanswered are refused, and calls get
// through.
func TestStdioRequestFlood(t *testing.T) {
	noLeaks(t)
	l := open(t, "normal", testOptions(t), Credentials{})
	var asked, most atomic.Int64
	answer := make(chan struct{})
	err := l.connect(t.Context(), func(o *mcp.ClientOptions) {
		o.Capabilities = nil
		o.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if n := asked.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-answer
			asked.Add(-1)
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.call(t.Context(), "ask", map[string]any{"n": 1000}); err != nil || got != "asked" {
		t.Errorf("%q, %v", got, err)
	}
	l.echo(t)
	if n := l.conn.requests.Load(); n != maxRequests {
		t.Errorf("%d requests are unanswered", n)
	}
	close(answer)
	for deadline := time.Now().Add(soon); l.conn.requests.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := l.conn.requests.Load(); n != 0 || most.Load() > maxRequests {
		t.Errorf("%d requests are unanswered, %d were at most", n, most.Load())
	}
	l.echo(t)
}

// [R9] stderr is read at all times, kept in bounds and logged in bounds.
func TestStdioStderrFlood(t *testing.T) {
	noLeaks(t)
	logs, logger := newLog()
	opts := testOptions(t)
	opts.Logger = logger
	opts.GracePeriod = 100 * time.Millisecond
	l := start(t, "stderr flood", opts)
	for range 20 {
		l.echo(t)
	}
	for len(l.errors.text()) < opts.Limits.Stderr {
		time.Sleep(time.Millisecond)
	}
	if text := l.errors.text(); len(text) > opts.Limits.Stderr+10 {
		t.Errorf("%d bytes are kept", len(text))
	}
	l.end(t)
	if n := strings.Count(logs.String(), "\n"); n < 10 || n > 2*logBurst {
		t.Errorf("%d lines were logged", n)
	}
}

// [R9] Reading is paced.
func TestStdioRate(t *testing.T) {
	noLeaks(t)
	opts := testOptions(t)
	opts.Limits.Rate = 100_000
	l := start(t, "normal", opts)
	begin := time.Now()
	if got, err := l.call(t.Context(), "long", map[string]any{"n": 130_000}); err != nil || len(got) != 130_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if took := time.Since(begin); took < 250*time.Millisecond {
		t.Errorf("130,000 bytes came in %v", took)
	}
}

// A link carries one connection.
func TestStdioConnectsOnce(t *testing.T) {
	noLeaks(t)
	l := start(t, "normal", testOptions(t))
	if _, err := l.transport().Connect(t.Context()); err == nil {
		t.Error("a second connection was made")
	}
	if err := l.explain(nil); err != nil {
		t.Error(err)
	}
}

// Messages do not alias the buffer that the next line is read into.
func TestDecodedMessagesStay(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"hello"}}`)
	batch := []byte(`[{"jsonrpc":"2.0","method":"first","params":{"a":1}},{"jsonrpc":"2.0","method":"second","params":{"a":1}}]`)
	one, _, err := decodeLine(line)
	if err != nil {
		t.Fatal(err)
	}
	two, rest, err := decodeLine(batch)
	if err != nil || len(rest) != 1 {
		t.Fatal(rest, err)
	}
	text := fmt.Sprintf("%+v %+v %+v", encoded(t, one), encoded(t, two), encoded(t, rest[0]))
	clear(line)
	clear(batch)
	if now := fmt.Sprintf("%+v %+v %+v", encoded(t, one), encoded(t, two), encoded(t, rest[0])); now != text || !strings.Contains(now, "hello") {
		t.Errorf("%s became %s", text, now)
	}
}

func FuzzDecodeLine(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","method":"a"}]`, `[]`, `[[]]`, `{`, `{}`, `x`, `{"jsonrpc":"2.0","id":[]}`, `{"jsonrpc":"2.0","id":null,"error":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		if msg, _, err := decodeLine(line); err == nil {
			encoded(t, msg)
		}
	})
}
