package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/plugberth/plugberth/plugin"
)

const (
	testManifest = `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"demo"}`
	testMCP      = `{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":`
)

// serverEntry is an entry of mcp.json.
type serverEntry map[string]any

// writePlugin writes a package with the entries and files, by slash-separated
// name, and returns its resolved directory.
func writePlugin(t testing.TB, servers map[string]serverEntry, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"plugin.json": testManifest, "mcp.json": testMCP + string(entries) + "}"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loadPlugin(t testing.TB, dir string) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// selfDir makes a directory for PATH in which the test binary is testserver.
func selfDir(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := "testserver"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
		t.Skip(err) // a system or user without links
	}
	return dir
}

// testID is the server "s" of the plugin of the tests.
var testID = ServerID{Instance: plugin.Instance{ID: "demo@test"}, Plugin: "demo", Server: "s"}

// testOptions allow everything and are quick.
func testOptions(t testing.TB) *Options {
	t.Helper()
	// The race detector lets a process wait for a second before it exits.
	environ := []string{"PATH=" + selfDir(t), "GORACE=atexit_sleep_ms=0"}
	for _, e := range BaseEnviron() {
		if !strings.HasPrefix(strings.ToUpper(e), "PATH=") {
			environ = append(environ, e)
		}
	}
	return &Options{
		Consent:        func(context.Context, ConsentRequest) error { return nil },
		DataRoot:       filepath.Join(t.TempDir(), "data"),
		Environ:        environ,
		ConnectTimeout: 20 * time.Second,
		AskTimeout:     20 * time.Second,
		CallTimeout:    20 * time.Second,
		GracePeriod:    10 * time.Second,
		Limits:         Limits{}.withDefaults(),
	}
}

// testPlugin is one with the test server in a mode.
func testPlugin(t testing.TB, mode string) *plugin.Plugin {
	t.Helper()
	return loadPlugin(t, writePlugin(t, map[string]serverEntry{"s": {"type": "stdio", "command": "testserver", "env": map[string]string{serverModeEnv: mode}}}, nil))
}

// testLink is a link with its session.
type testLink struct {
	*stdioLink
	session  *mcp.ClientSession
	changed  chan struct{} // list_changed came
	dataRoot string
}

// open starts the test server in a mode.
func open(t testing.TB, mode string, opts *Options, creds Credentials) *testLink {
	t.Helper()
	l, err := openStdio(t.Context(), testPlugin(t, mode), testID, opts, &consents{}, given(creds))
	if err != nil {
		t.Fatal(err)
	}
	tl := &testLink{stdioLink: l.(*stdioLink), changed: make(chan struct{}, 1), dataRoot: opts.DataRoot}
	t.Cleanup(func() { tl.end(t) })
	return tl
}

// connect opens the session, with the deadline of ctx.
func (l *testLink) connect(ctx context.Context, options ...func(*mcp.ClientOptions)) error {
	opts := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case l.changed <- struct{}{}:
			default:
			}
		},
	}
	for _, o := range options {
		o(opts)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(ctx, l.transport(), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	l.session = session
	return l.explain(err)
}

// start opens a server and its session.
func start(t testing.TB, mode string, opts *Options) *testLink {
	t.Helper()
	l := open(t, mode, opts, Credentials{})
	if err := l.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// call calls a tool and returns the text of its result.
func (l *testLink) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	res, err := l.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", l.explain(err)
	}
	if len(res.Content) == 0 {
		return "", nil
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func (l *testLink) echo(t testing.TB) {
	t.Helper()
	if got, err := l.call(t.Context(), "echo", map[string]any{"text": "hello"}); err != nil || got != "hello" {
		t.Errorf("echo gives %q, %v", got, err)
	}
}

func (l *testLink) report(t testing.TB) processReport {
	t.Helper()
	text, err := l.call(t.Context(), "report", nil)
	if err != nil {
		t.Fatal(err)
	}
	var r processReport
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// end closes the session and the link as a session does, and checks that the
// server is gone.
func (l *testLink) end(t testing.TB) {
	t.Helper()
	sessionClosed := make(chan struct{})
	go func() {
		defer close(sessionClosed)
		if l.session != nil {
			l.session.Close()
		}
	}()
	if err := l.close(context.Background(), sessionClosed); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case <-sessionClosed:
	case <-time.After(10 * time.Second):
		t.Error("the SDK's session does not close")
	}
	if held, ok := l.proc.(*heldProcess); ok {
		if p, ok := held.proc.(*localProcess); ok && alive(p.proc.Pid) {
			t.Error("the server is still there")
		}
	}
	select {
	case <-l.done():
	default:
		t.Error("a closed link is not done")
	}
}

// noLeaks fails the test where goroutines are left at its end. It is called
// first, so that it looks last.
func noLeaks(t testing.TB) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
}

// mustFail checks an error by what it is and what it says.
func mustFail(t testing.TB, err, is error, texts ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("error %v is no %v", err, is)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
	if strings.ContainsAny(err.Error(), "\x1b\u202e\r\n") {
		t.Errorf("error %q is not safe to show", err)
	}
}

// gonePid waits until a process is gone, or fails.
func gonePid(t testing.TB, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("process %d is still there", pid)
			kill(pid)
			return
		}
	}
}

// logBuffer is a logger's output.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newLog() (*logBuffer, *slog.Logger) {
	b := &logBuffer{}
	return b, slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
