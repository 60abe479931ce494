//go:build linux

package mcpclient_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An attack is one hostile server, named "s" of plugin "evil", and what a host
// meets that uses it. Its server runs outside of the process that is measured:
// a stdio server as a process, a remote one in the test's own process.
type attack struct {
	name  string
	rules string // the rules that it proves, in brackets

	// entry makes the server's entry in mcp.json, in the test's process.
	entry func(*arena) map[string]any
	// host changes the options of the host, in the process that is measured.
	host func(*mcpHostOptions, *victim)
	// run does what a host does, and returns the error that its user reads.
	run func(*victim) error

	is   error    // errors.Is holds for the error; nil where there is none
	says []string // all in the error's text
	// after is what is left of the server.
	after aftermath
	// left is how many processes stay behind, where that is a documented limit.
	left int
	// seen is checked in the test's process when all is over.
	seen func(*testing.T, *arena)
}

type aftermath int

const (
	unusable  aftermath = iota
	lives               // the same session answers a call
	comesBack           // a call connects again and is answered
)

const (
	attackBound = 20 * time.Second // against hanging, on a loaded machine
	goodBound   = 5 * time.Second  // of a call to a server that behaves well
	memoryBound = 64 << 20
)

// report is what the measured process says of one attack.
type report struct {
	Error    string // as a user reads it
	Took     time.Duration
	Peak     int64 // bytes of resident memory over the baseline
	Calls    int   // of the good servers during the attack
	Before   time.Duration
	During   time.Duration // median of those
	Slowest  time.Duration
	Closing  time.Duration
	Failures []string
}

// arena is what one attack has in the test's process.
type arena struct {
	t        *testing.T
	config   victimConfig
	hits     atomic.Int64 // of whatever the attack counts
	switched atomic.Bool  // something that the server turns
	foreign  string       // origin of another server, whose hits count
	closers  []func()
	resolve  func(name string) [4]byte
	evil     string // directory of the package
}

// listen serves on loopback and returns the URL, by the name that Egress asks
// for.
func (a *arena) listen(h http.Handler) string {
	ts := httptest.NewUnstartedServer(h)
	ts.Config.ErrorLog = discardLog
	ts.Start()
	a.closers = append(a.closers, func() { ts.CloseClientConnections(); ts.Close() })
	return strings.Replace(ts.URL, "127.0.0.1", "localhost", 1)
}

// listenTLS serves https as example.com, whose addresses the arena resolves.
func (a *arena) listenTLS(h http.Handler) string {
	ts := httptest.NewUnstartedServer(h)
	ts.Config.ErrorLog = discardLog
	ts.TLS = &tls.Config{}
	ts.StartTLS()
	a.closers = append(a.closers, func() { ts.CloseClientConnections(); ts.Close() })
	a.config.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ts.Certificate().Raw}))
	_, port, _ := net.SplitHostPort(ts.Listener.Addr().String())
	return "https://example.com:" + port
}

// TestAttacks has each of a table of hostile servers in a host that also runs
// two good ones, a stdio and an HTTP server, in a process of its own. It checks
// what the host's user reads and after how long, the memory that it costs, that
// the good servers answer all the while and after it, and that no goroutine,
// file or process is left.
func TestAttacks(t *testing.T) { // [R3] [R4] [R9]
	good := mcp.NewServer(&mcp.Implementation{Name: "good", Version: "1"}, nil)
	addEchoTool(good)
	goodHTTP := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return good }, nil))
	t.Cleanup(func() { goodHTTP.CloseClientConnections(); goodHTTP.Close() })
	goodDir := writePackageNamed(t, "good", map[string]any{
		"local":  map[string]any{"type": "stdio", "command": "server", "env": map[string]string{attackServerEnv: "good"}},
		"remote": map[string]any{"type": "streamable-http", "url": strings.Replace(goodHTTP.URL, "127.0.0.1", "localhost", 1)},
	})
	path := serverPath(t)

	type outcome struct {
		report report
		stderr string
		err    error
		arena  *arena
	}
	outcomes := make([]chan outcome, len(attacks))
	room := make(chan struct{}, 4) // at once: most of the time they wait
	var all sync.WaitGroup
	for i := range attacks {
		outcomes[i] = make(chan outcome, 1)
		if !attackWanted(i) {
			continue
		}
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			a := &arena{t: t, config: victimConfig{Attack: attacks[i].name, GoodDir: goodDir, Path: path}}
			var o outcome
			o.arena = a
			o.report, o.stderr, o.err = a.fight(&attacks[i])
			outcomes[i] <- o
		})
	}
	t.Cleanup(all.Wait)

	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "attack\tfor\tpeak MiB\tclosing\tgood: before\tduring\tslowest of\terror")
	for i, at := range attacks {
		if !attackWanted(i) {
			continue
		}
		t.Run(at.name+" "+at.rules, func(t *testing.T) {
			o := <-outcomes[i]
			a, r := o.arena, o.report
			defer a.close()
			if o.err != nil {
				t.Fatalf("%v\n%s", o.err, o.stderr)
			}
			for _, f := range r.Failures {
				t.Error(f)
			}
			if t.Failed() && o.stderr != "" {
				t.Logf("the measured process says:\n%s", o.stderr)
			}
			if r.Peak > memoryBound && !raceEnabled {
				t.Errorf("%d MiB of memory over the baseline", r.Peak>>20)
			}
			if left := processesOf(t, a.evil); len(left) != at.left {
				t.Errorf("processes left: %v, want %d", left, at.left)
			}
			if at.seen != nil {
				at.seen(t, a)
			}
			fmt.Fprintf(w, "%s\t%v\t%.1f\t%v\t%v\t%v\t%v of %d\t%s\n", at.name, round(r.Took), float64(r.Peak)/(1<<20), round(r.Closing),
				round(r.Before), round(r.During), round(r.Slowest), r.Calls, oneCell(r.Error))
		})
	}
	if left := processesOf(t, goodDir); len(left) > 0 {
		t.Errorf("processes of the good plugin left: %v", left)
	}
	w.Flush()
	t.Logf("%d attacks\n%s", len(attacks), &table)
}

// attackWanted reports whether an attack is run: every third one, or those whose
// names match PLUGBERTH_ATTACKS, as all do a period.
func attackWanted(i int) bool {
	pattern := os.Getenv("PLUGBERTH_ATTACKS")
	if pattern == "" {
		return i%3 == 0
	}
	return regexp.MustCompile(pattern).MatchString(attacks[i].name)
}

func round(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

func oneCell(text string) string {
	const most = 220
	text = strings.NewReplacer("\n", " | ", "\t", " ").Replace(text)
	if text == "" {
		return "none"
	}
	if len(text) > most {
		return text[:most] + " …"
	}
	return text
}

// fight runs one attack and returns what the measured process says.
func (a *arena) fight(at *attack) (r report, stderr string, err error) {
	resolver, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return r, "", err
	}
	a.closers = append(a.closers, func() { resolver.Close() })
	a.config.DNS = resolver.LocalAddr().String()
	a.evil = writePackageNamed(a.t, "evil", map[string]any{"s": at.entry(a)})
	go a.serveDNS(resolver) // once the entry has said how
	a.config.EvilDir = a.evil
	a.config.DataRoot = filepath.Join(filepath.Dir(a.evil), "data of "+filepath.Base(a.evil))

	self, err := os.Executable()
	if err != nil {
		return r, "", err
	}
	config, err := json.Marshal(a.config)
	if err != nil {
		return r, "", err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), attackVictimEnv+"=1")
	cmd.Stdin = bytes.NewReader(config)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return r, "", err
	}
	timer := time.AfterFunc(2*attackBound, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		return r, log.String(), fmt.Errorf("the measured process: %w", err)
	}
	return r, log.String(), json.Unmarshal(out.Bytes(), &r)
}

func (a *arena) close() {
	for _, c := range a.closers {
		c()
	}
	for _, p := range processesOf(a.t, a.evil) {
		pid, _, _ := strings.Cut(p, " ")
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// serveDNS answers questions for addresses of version 4 as the arena says, and
// others with nothing.
func (a *arena) serveDNS(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		q := buf[:n]
		if n < 17 {
			continue
		}
		var labels []string
		i := 12
		for i < n && q[i] != 0 {
			end := i + 1 + int(q[i])
			if end >= n {
				break
			}
			labels = append(labels, string(q[i+1:end]))
			i = end
		}
		if i+5 > n {
			continue
		}
		question := q[12 : i+5]
		answer := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
		if q[i+2] == 1 && a.resolve != nil { // an A record
			addr := a.resolve(strings.ToLower(strings.Join(labels, ".")))
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, addr[0], addr[1], addr[2], addr[3])
		}
		_, _ = conn.WriteTo(answer, from)
	}
}

// serverPath makes a directory for PATH in which the test's program is
// "server".
func serverPath(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "server")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writePackageNamed is writePackage for a plugin of that name.
func writePackageNamed(t testing.TB, name string, servers map[string]any) string {
	t.Helper()
	dir := writePackage(t, servers)
	manifest := `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "` + name + `"}`
	if err := os.WriteFile(filepath.Join(dir, "plugin.json"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
