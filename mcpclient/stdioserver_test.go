package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plugberth/plugberth/plugin"
)

// The test binary is also the stdio server of the tests: started with
// serverModeEnv set, it serves as the mode says and never runs a test.
const serverModeEnv = "PLUGBERTH_TEST_SERVER"

func init() {
	if mode := os.Getenv(serverModeEnv); mode != "" {
		(&testServer{mode: mode}).run()
		os.Exit(0)
	}
}

// testServer speaks MCP by hand, so that it can also do it wrongly.
type testServer struct {
	mode string
	out  *bufio.Writer
}

func (s *testServer) send(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
	s.out.Flush()
}

func (s *testServer) answer(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	s.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted)
}

// sleep is as long as anything here lasts if a test forgets it.
func sleep() { time.Sleep(time.Minute) }

func (s *testServer) run() {
	s.out = bufio.NewWriter(os.Stdout)
	switch s.mode {
	case "sleep": // a child of another mode
		sleep()
	case "host": // of a server, until it is killed
		self, _ := os.Executable()
		p, err := Local{}.Launch(context.Background(), Launch{
			Plan:    plugin.LaunchPlan{Program: self, Dir: filepath.Dir(self)},
			Environ: []string{serverModeEnv + "=normal"},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(7)
		}
		fmt.Println(p.(*localProcess).proc.Pid)
		sleep()
	case "stubborn child":
		ignoreSignals()
		sleep()
	case "exit":
		fmt.Fprintf(os.Stderr, "starting\r\n\x1b[31mcannot find module \u202e'x'\x1b[0m with %s\n", os.Getenv("API_TOKEN"))
		os.Exit(3)
	case "exit after much":
		for i := range 5000 {
			fmt.Fprintf(os.Stderr, "line %d of what went wrong\n", i)
		}
		os.Exit(1)
	case "success":
		return
	case "abort":
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		sleep()
	case "never answers":
		fmt.Fprintln(os.Stderr, "waiting for a database")
		io.Copy(io.Discard, os.Stdin)
	case "banner":
		s.send("Server v1.0 \x1b[32mready\x1b[0m")
		s.send(`{"level":"info","msg":"a log line in JSON"}`)
		s.send(`[INFO] more`)
		s.send(`{ port: 3000 }`)
		s.send("")
	case "only noise":
		for {
			s.send("tick %s", strings.Repeat(".", 100))
		}
	case "quiet noise":
		s.send("Usage: server [\x1b[1moptions\x1b[0m] %s", os.Getenv("API_TOKEN"))
		io.Copy(io.Discard, os.Stdin)
	case "long line":
		s.send(`{"jsonrpc":"2.0","id":1,"result":{"x":"%s"}}`, strings.Repeat("x", 2000))
		io.Copy(io.Discard, os.Stdin)
	case "huge line":
		s.out.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"x":"`)
		for {
			if _, err := s.out.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				sleep()
			}
		}
	case "stderr flood":
		go func() {
			for i := 0; ; i++ {
				fmt.Fprintf(os.Stderr, "%d %s\n", i, strings.Repeat("e", 200))
			}
		}()
	case "ignores TERM and end of input", "wrapper":
		ignoreSignals()
	}
	s.serve()
	switch s.mode {
	case "writes while it ends":
		for range 64 {
			fmt.Fprintln(os.Stdout, strings.Repeat("z", 64<<10))
		}
		os.WriteFile(filepath.Join(os.Getenv("PLUGIN_DATA"), "ended"), []byte("well"), 0o600)
	case "ignores TERM and end of input", "wrapper":
		sleep()
	}
}

func (s *testServer) serve() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				Arguments       map[string]any
			}
		}
		if json.Unmarshal(line, &req) != nil {
			fmt.Fprintln(os.Stderr, "a line that is not JSON came in")
			os.Exit(9)
		}
		switch req.Method {
		case "initialize":
			s.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}}`,
				req.ID, req.Params.ProtocolVersion)
		case "tools/list":
			s.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, req.ID)
		case "notifications/initialized":
			s.initialized()
		case "tools/call":
			s.call(req.ID, req.Params.Name, req.Params.Arguments)
		}
	}
}

func (s *testServer) initialized() {
	switch s.mode {
	case "closes its output":
		os.Stdout.Close()
		sleep()
	case "stops reading":
		sleep()
	case "answers a notification":
		s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}`)
	}
}

func (s *testServer) call(id json.RawMessage, tool string, args map[string]any) {
	text, _ := args["text"].(string)
	switch tool {
	case "echo":
		s.answer(id, text)
	case "length":
		s.answer(id, strconv.Itoa(len(text)))
	case "report":
		s.answer(id, selfReport())
	case "refuse":
		s.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the key %s is not valid","data":{"key":%q}}}`, id, os.Getenv("API_TOKEN"), os.Getenv("API_TOKEN"))
	case "slow":
		time.Sleep(300 * time.Millisecond)
		s.answer(id, "done")
	case "exit":
		fmt.Fprintln(os.Stderr, "gave up")
		os.Exit(5)
	case "answer and exit":
		s.answer(id, strings.Repeat("a", 100_000))
		os.Exit(0)
	case "stop":
		stopSelf()
	case "fork and exit":
		fmt.Fprintln(os.Stderr, startChild("sleep", false).Process.Pid)
		os.Exit(0)
	case "escape and exit":
		fmt.Fprintln(os.Stderr, startChild("sleep", true).Process.Pid)
		os.Exit(0)
	case "fork": // as npx does: a child that outlives its wrapper if nobody ends it
		s.answer(id, strconv.Itoa(startChild("stubborn child", false).Process.Pid))
	case "torn":
		s.send(`Working...{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
	case "two on a line":
		s.send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}{"jsonrpc":"2.0","method":"x"}`, id)
	case "batch":
		s.send(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":%s,"result":{"content":[]}},{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}]`, id)
	case "noise":
		for range 3 {
			s.send("done!")
		}
		s.answer(id, "noise")
	case "long":
		s.answer(id, strings.Repeat("l", int(args["n"].(float64))))
	case "twice":
		s.answer(id, "first")
		s.answer(id, "second")
	case "notify":
		for i := range int(args["n"].(float64)) {
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"n":%d}}}`+"\n", i)
		}
		s.answer(id, "notified")
	case "ask":
		for i := range int(args["n"].(float64)) {
			fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}`+"\n", i)
		}
		s.answer(id, "asked")
	}
}

func startChild(mode string, ownSession bool) *exec.Cmd {
	self, _ := os.Executable()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverModeEnv+"="+mode)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if ownSession {
		leaveGroup(cmd)
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(8)
	}
	return cmd
}

func ignoreSignals() { signal.Ignore(ignorable...) }

// processReport is what a server sees of itself.
type processReport struct {
	Args    []string
	Environ []string
	Dir     string
	Files   []string
	Pid     int
	Group   int
	Session int
	TTY     bool
}

func selfReport() string {
	dir, _ := os.Getwd()
	r := processReport{Args: os.Args, Environ: os.Environ(), Dir: dir, Pid: os.Getpid()}
	r.Group, r.Session = groupAndSession()
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, e := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
				r.Files = append(r.Files, e.Name()+" "+target)
			}
		}
	}
	if tty, err := os.Open("/dev/tty"); err == nil {
		r.TTY = true
		tty.Close()
	}
	out, _ := json.Marshal(r)
	return string(out)
}
