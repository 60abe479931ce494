package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain makes the test binary the program itself where it is asked to be.
func TestMain(m *testing.M) {
	if os.Getenv("TASKSERVER_RUN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is a taskserver that runs.
type program struct {
	t      *testing.T
	stdin  *io.PipeWriter
	lines  chan string
	stderr *safeBuffer
	status chan int
	cancel context.CancelFunc

	url     string
	tokens  map[string]string
	configs map[string]string
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{
		t: t, stdin: stdin, stderr: new(safeBuffer), lines: make(chan string, 100), status: make(chan int, 1), cancel: cancel,
		tokens: map[string]string{}, configs: map[string]string{},
	}
	go func() {
		p.status <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), in, out, p.stderr)
		out.Close()
	}()
	go func() {
		defer close(p.lines)
		sc := bufio.NewScanner(stdout)
		for sc.Scan() {
			p.lines <- sc.Text()
		}
	}()
	t.Cleanup(cancel)
	var first struct {
		URL    string
		Grants []struct {
			Task, Token string
			Config      json.RawMessage
		}
	}
	line := p.line()
	if err := json.Unmarshal([]byte(line), &first); err != nil || !strings.HasPrefix(line, `{"url":"http://127.0.0.1:`) {
		t.Fatalf("%q: %v", line, err)
	}
	p.url = first.URL
	for _, g := range first.Grants {
		p.tokens[g.Task], p.configs[g.Task] = g.Token, string(g.Config)
	}
	return p
}

func (p *program) line() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.t.Fatalf("it ended: %s", p.stderr)
		}
		return line
	case <-time.After(20 * time.Second):
		p.t.Fatalf("it says nothing: %s", p.stderr)
		return ""
	}
}

// event returns the next event of that kind.
func (p *program) event(kind string) string {
	p.t.Helper()
	for {
		if line := p.line(); strings.Contains(line, fmt.Sprintf(`"event":%q`, kind)) {
			return line
		}
	}
}

type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

func (p *program) connect(task string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := client.Connect(p.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: p.url, HTTPClient: &http.Client{Transport: bearer(p.tokens[task])}, MaxRetries: -1,
	}, nil)
	if err == nil {
		p.t.Cleanup(func() { cs.Close() })
	}
	return cs, err
}

func (p *program) call(cs *mcp.ClientSession, tool string, args map[string]any) string {
	p.t.Helper()
	res, err := cs.CallTool(p.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		p.t.Error(err)
		return ""
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func (p *program) quit() {
	p.t.Helper()
	fmt.Fprintln(p.stdin, "quit")
	select {
	case status := <-p.status:
		if status != 0 {
			p.t.Errorf("status %d: %s", status, p.stderr)
		}
	case <-time.After(20 * time.Second):
		p.t.Error("it does not quit")
	}
	for _, token := range p.tokens {
		if strings.Contains(p.stderr.String(), token[10:]) {
			p.t.Error("a token is logged")
		}
	}
}

// TestRecord: two agents work, one asks and is blocked, is answered, and gets
// the answer when it asks again; the other is revoked.
func TestRecord(t *testing.T) {
	p := start(t, "-task", "one", "-task", "two")
	if len(p.tokens) != 2 || !strings.Contains(p.configs["one"], `{"mcpServers":{"taskserver":{"type":"http","url":"`+p.url) || !strings.Contains(p.configs["one"], p.tokens["one"]) {
		t.Fatalf("%q", p.configs)
	}
	one, err := p.connect("one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := p.connect("two")
	if err != nil {
		t.Fatal(err)
	}
	p.call(two, "record_progress", map[string]any{"text": "Half <done>\u009b2J\u202e\U000e0041", "percent": 50, "task_id": "one"})
	if got := p.event("progress"); got != `{"task":"two","event":"progress","text":"Half <done>\u009b2J\u202e\udb40\udc41","percent":50}` {
		t.Error(got)
	}
	p.call(two, "spawn_subtask", map[string]any{"title": "T", "prompt": "P"})
	if got := p.event("subtask"); !strings.HasPrefix(got, `{"task":"two","event":"subtask","id":"`) {
		t.Error(got)
	}
	question := map[string]any{"question": "Which?", "choices": []string{"a", "b"}}
	if got := p.call(one, "ask_user", question); !strings.Contains(got, "End your turn now") {
		t.Error(got)
	}
	if got := p.event("question"); !strings.HasPrefix(got, `{"task":"one","event":"question","id":"`) || !strings.HasSuffix(got, `"text":"Which?","choices":["a","b"],"blocked":true}`) {
		t.Error(got)
	}
	fmt.Fprintln(p.stdin, "answer one the first one")
	fmt.Fprintln(p.stdin, "revoke two")
	if got := p.event("revoked"); got != `{"task":"two","event":"revoked"}` {
		t.Error(got)
	}
	if got := p.call(one, "ask_user", question); got != "the first one" {
		t.Errorf("the answer was %q", got)
	}
	p.call(one, "report_summary", map[string]any{"summary": "Done."})
	if got := p.event("summary"); got != `{"task":"one","event":"summary","text":"Done."}` {
		t.Error(got)
	}
	if _, err := p.connect("two"); err == nil {
		t.Error("a revoked token is good")
	}
	fmt.Fprintln(p.stdin, "answer one again")
	fmt.Fprintln(p.stdin, "answer nobody x")
	fmt.Fprintln(p.stdin, "nonsense")
	p.quit()
	for _, want := range []string{"no question of this task", "no such task", "commands are"} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("standard error lacks %q", want)
		}
	}
}

// TestLive: the agent's call waits for the answer.
func TestLive(t *testing.T) {
	p := start(t, "-live")
	cs, err := p.connect("demo")
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan string)
	go func() { answer <- p.call(cs, "ask_user", map[string]any{"question": "Now?"}) }()
	if got := p.event("question"); !strings.HasSuffix(got, `"text":"Now?","blocked":false}`) {
		t.Error(got)
	}
	fmt.Fprintln(p.stdin, "answer demo now")
	if got := <-answer; got != "now" {
		t.Errorf("the answer was %q", got)
	}
	if got := p.event("call"); !strings.HasPrefix(got, `{"task":"demo","event":"call","tool":"ask_user","outcome":"ok","durationMs":`) {
		t.Error(got)
	}
	p.stdin.Close() // the end of standard input ends nothing
	if got := p.call(cs, "record_progress", map[string]any{"text": "x"}); got != "Recorded." {
		t.Error(got)
	}
	p.cancel()
	if status := <-p.status; status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestQuitWithOpenConnection: a connection on which nothing was sent, as clients
// open ahead, does not hold up the end.
func TestQuitWithOpenConnection(t *testing.T) {
	p := start(t)
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Connections are accepted in their order: with an answer on a later one, the
	// server has this one.
	if _, err := p.connect("demo"); err != nil {
		t.Fatal(err)
	}
	p.quit()
}

// TestSignals: whoever ends the process, a person or what supervises it, has it
// end in order.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent signals here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), self, "-addr", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "TASKSERVER_RUN=1")
		stdin, err := cmd.StdinPipe() // stays open
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		if !lines.Scan() {
			t.Error("it says nothing")
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		stdin.Close()
	}
}

// TestExpiry: a token ends with its time.
func TestExpiry(t *testing.T) {
	p := start(t, "-ttl", "100ms", "-task", "short")
	if got := p.event("expired"); got != `{"task":"short","event":"expired"}` {
		t.Error(got)
	}
	if _, err := p.connect("short"); err == nil {
		t.Error("an expired token is good")
	}
	p.quit()
}

// TestUsage: what cannot be done is said, with status 2.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-task", ""}, {"-task", "a", "-task", "a"}, {"-task", "a b"}, {"extra"}, {"-ttl", "0"}, {"-ttl", "-1s"}, {"-nonsense"}, {"-addr", "nowhere:99999"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); status != 2 || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%q: status %d, %q, %q", args, status, stdout.String(), stderr.String())
		}
	}
	if status := run(t.Context(), []string{"-h"}, strings.NewReader(""), io.Discard, io.Discard); status != 0 {
		t.Errorf("-h: status %d", status)
	}
}
