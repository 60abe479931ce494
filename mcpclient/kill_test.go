//go:build linux

package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

var (
	killRounds = flag.Int("kill.rounds", 20, "rounds of TestKill")
	killSeed   = flag.Uint64("kill.seed", 0, "what chance in TestKill begins with; 0 is another each time")
)

// killServerEnv makes the test's program a server of TestKill: "stdio" or
// "http", a space, and the file that it appends the id of each call to.
const killServerEnv = "PLUGBERTH_TEST_KILL"

func init() {
	if how, file, ok := strings.Cut(os.Getenv(killServerEnv), " "); ok {
		if err := serveKill(how, file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// work is what a call of TestKill asks for.
type work struct {
	ID    string `json:"id"`
	Delay int    `json:"delay"` // microseconds between noting the call and its answer
}

func serveKill(how, file string) error {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".pid", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "kill", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "work"}, func(_ context.Context, _ *mcp.CallToolRequest, w work) (*mcp.CallToolResult, any, error) {
		if _, err := log.WriteString(w.ID + "\n"); err != nil {
			return nil, nil, err
		}
		time.Sleep(time.Duration(w.Delay) * time.Microsecond) // the work
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: w.ID}}}, nil, nil
	})
	if how == "stdio" {
		return srv.Run(context.Background(), &mcp.StdioTransport{})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	conns := &resettable{Listener: l, open: map[net.Conn]struct{}{}}
	usr1 := make(chan os.Signal, 1)
	signal.Notify(usr1, syscall.SIGUSR1)
	go func() {
		for range usr1 {
			conns.reset()
		}
	}()
	go func() { // ends with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return http.Serve(conns, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
}

// resettable is a listener whose connections can be reset at once.
type resettable struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func (l *resettable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.open[c] = struct{}{}
		l.mu.Unlock()
	}
	return c, err
}

func (l *resettable) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	clear(l.open)
}

// killed is one server of a round.
type killed struct {
	name  string
	http  bool
	file  string
	calls sync.Map // id to *callOutcome
}

type callOutcome struct {
	text string
	err  error
}

// killTotals is what all rounds had.
type killTotals struct {
	calls, answered, failed, unsent, lost atomic.Int64
	how                                   [3]atomic.Int64
}

// TestKill kills one of four servers at some moment, while all are called, in
// each round. The calls of the others must all be answered; each answer must be
// that of its call; no call may reach a server twice, nor at all where the
// error says that it was not sent; and nothing may be left. More rounds are run
// with -kill.rounds.
func TestKill(t *testing.T) { // [R3] [R4] [R5]
	before := goleak.IgnoreCurrent()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill.seed=%d", seed)
	path := serverPath(t)
	var totals killTotals
	began := time.Now()
	rounds := make(chan int)
	var wg sync.WaitGroup
	for range 2 { // at once
		wg.Go(func() {
			for round := range rounds {
				killRound(t, path, rand.New(rand.NewPCG(seed, uint64(round))), round, &totals)
			}
		})
	}
	for round := range *killRounds {
		if t.Failed() {
			break
		}
		rounds <- round
	}
	close(rounds)
	wg.Wait()
	t.Logf("%d rounds in %v: %d SIGKILL, %d SIGSTOP, %d resets; %d calls, %d answered, %d failed, of which %d not sent and %d lost after they were noted",
		*killRounds, time.Since(began).Round(time.Millisecond), totals.how[0].Load(), totals.how[1].Load(), totals.how[2].Load(),
		totals.calls.Load(), totals.answered.Load(), totals.failed.Load(), totals.unsent.Load(), totals.lost.Load())
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

func killRound(t *testing.T, path string, chance *rand.Rand, round int, totals *killTotals) {
	dir := t.TempDir()
	servers := make([]*killed, 4)
	entries := map[string]any{}
	for i := range servers {
		s := &killed{name: fmt.Sprintf("s%d", i), http: i%2 == 1, file: filepath.Join(dir, fmt.Sprintf("calls%d", i))}
		servers[i] = s
		if !s.http {
			entries[s.name] = map[string]any{"type": "stdio", "command": "server", "env": map[string]string{killServerEnv: "stdio " + s.file}}
			continue
		}
		port, stop, err := startKillHTTP(s.file)
		if err != nil {
			t.Error(err)
			return
		}
		defer stop()
		entries[s.name] = map[string]any{"type": "streamable-http", "url": "http://localhost:" + port}
	}
	root := writePackage(t, entries)
	p, err := plugin.Load(t.Context(), root, plugin.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	h, err := mcpclient.NewHost(mcpclient.HostOptions{
		ShortNames: true,
		Retry:      mcpclient.Retry{Min: time.Millisecond, Max: time.Millisecond},
		Options: mcpclient.Options{
			Environ:     []string{"PATH=" + path},
			DataRoot:    filepath.Join(dir, "data"),
			Egress:      mcpclient.DesktopEgress(),
			GracePeriod: 100 * time.Millisecond,
			Consent:     func(context.Context, mcpclient.ConsentRequest) error { return nil },
		},
	})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if left := processesOf(t, root); len(left) > 0 {
			t.Errorf("round %d: processes left: %v", round, left)
		}
		for _, s := range servers {
			s.check(t, round, totals)
		}
	}()
	if err := h.Add(plugin.Instance{ID: "kill"}, p); err != nil {
		t.Error(err)
		return
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Error(err)
		return
	}
	for _, s := range h.Servers() {
		if s.Status != mcpclient.StatusConnected {
			t.Errorf("round %d: %v: %v", round, s.ID, s.Err)
			return
		}
	}

	victim := servers[chance.IntN(len(servers))]
	how := chance.IntN(2)
	if victim.http {
		how = chance.IntN(3)
	}
	totals.how[how].Add(1)
	moment := time.Duration(chance.IntN(20_000)) * time.Microsecond
	pidText, err := os.ReadFile(victim.file + ".pid")
	if err != nil {
		t.Error(err)
		return
	}
	pid, _ := strconv.Atoi(string(pidText))
	what := fmt.Sprintf("round %d, %v of %s after %v", round, killSignals[how], victim.name, moment)

	call := func(s *killed, id string, delay int, timeout time.Duration) error {
		arguments, _ := json.Marshal(work{id, delay})
		res, err := h.Call(t.Context(), "mcp__"+s.name+"__work", arguments, mcpclient.CallOptions{Timeout: timeout})
		s.calls.Store(id, &callOutcome{firstText(res), err})
		return err
	}
	var wg sync.WaitGroup
	for _, s := range servers {
		timeout := 20 * time.Second // against hanging
		if s == victim && how == 1 {
			timeout = 50 * time.Millisecond // it will not answer
		}
		for worker := range 2 {
			delays := make([]int, 8)
			for i := range delays {
				delays[i] = chance.IntN(4000)
			}
			wg.Go(func() {
				for i, delay := range delays {
					if err := call(s, fmt.Sprintf("%d.%s.%d.%d", round, s.name, worker, i), delay, timeout); err != nil && s != victim {
						t.Errorf("%s: a call of %s: %v", what, s.name, err)
					}
				}
			})
		}
	}
	wg.Go(func() {
		time.Sleep(moment) // chance is what this test is about
		if err := syscall.Kill(pid, killSignals[how]); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	wg.Wait()

	// What comes after: all but a remote server that was killed answers again.
	if how == 1 {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	back := false
	for try := 0; try < 100 && !back; try++ {
		err := call(victim, fmt.Sprintf("%d.%s.after.%d", round, victim.name, try), 0, 20*time.Second)
		back = err == nil
		if victim.http && how == 0 {
			if !errors.Is(err, mcpclient.ErrServer) {
				t.Errorf("%s: a call of a server that is gone: %v", what, err)
			}
			return
		}
		if err != nil {
			time.Sleep(2 * time.Millisecond) // for Retry.Min, which counts real time
		}
	}
	if !back {
		t.Errorf("%s: it does not answer any more", what)
	}
}

var killSignals = []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGUSR1}

// startKillHTTP starts a remote server of TestKill, as a process.
func startKillHTTP(file string) (port string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), killServerEnv+"=http "+file)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the remote server does not start: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// check compares what a server has noted with what its callers were told.
func (s *killed) check(t *testing.T, round int, totals *killTotals) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Error(err)
		return
	}
	noted := map[string]int{}
	for _, id := range strings.Fields(string(text)) {
		noted[id]++
	}
	s.calls.Range(func(key, value any) bool {
		id, out := key.(string), value.(*callOutcome)
		totals.calls.Add(1)
		times := noted[id]
		delete(noted, id)
		if times > 1 {
			t.Errorf("round %d: call %s came %d times", round, id, times)
		}
		if out.err == nil {
			totals.answered.Add(1)
			if out.text != id || times != 1 {
				t.Errorf("round %d: call %s was answered with %q and noted %d times", round, id, out.text, times)
			}
			return true
		}
		totals.failed.Add(1)
		switch {
		case errors.Is(out.err, mcpclient.ErrNotSent):
			totals.unsent.Add(1)
			if times > 0 {
				t.Errorf("round %d: call %s was noted, and its error says that it was not sent: %v", round, id, out.err)
			}
		case times == 1:
			totals.lost.Add(1)
		}
		if !errors.Is(out.err, mcpclient.ErrServer) {
			t.Errorf("round %d: call %s: %v", round, id, out.err)
		}
		return true
	})
	for id := range noted {
		t.Errorf("round %d: call %s was made by nobody", round, id)
	}
}
