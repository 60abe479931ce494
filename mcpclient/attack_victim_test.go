//go:build linux

package mcpclient_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// The test's program is also the process that is measured, and the stdio
// servers of both: started with one of these set it never runs a test.
const (
	attackVictimEnv = "PLUGBERTH_TEST_VICTIM"
	attackServerEnv = "PLUGBERTH_TEST_ATTACKER"
)

func init() {
	switch {
	case os.Getenv(attackServerEnv) != "":
		serveAttacker(os.Getenv(attackServerEnv))
		os.Exit(0)
	case os.Getenv(attackVictimEnv) != "":
		os.Unsetenv(attackVictimEnv)
		if err := runVictim(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

var discardLog = log.New(io.Discard, "", 0)

type mcpHostOptions = mcpclient.HostOptions

// victimConfig is what the measured process is told.
type victimConfig struct {
	Attack           string
	GoodDir, EvilDir string
	DataRoot, Path   string
	DNS, CA          string
}

// victim is a host with two good servers that is about to use a hostile one.
type victim struct {
	config victimConfig
	attack *attack
	ctx    context.Context
	host   *mcpclient.Host
	report report

	evil     *plugin.Plugin
	began    time.Time
	session  *mcpclient.Session // with the hostile server, as it was before the attack
	findings []string           // of the consent request for it
	timeout  time.Duration      // of a call of the hostile server
}

var (
	evilInstance = plugin.Instance{ID: "evil"}
	evilID       = mcpclient.ServerID{Instance: evilInstance, Plugin: "evil", Server: "s"}
)

func (v *victim) failf(format string, args ...any) {
	v.report.Failures = append(v.report.Failures, fmt.Sprintf(format, args...))
}

func runVictim(in io.Reader, out io.Writer) error {
	v := &victim{timeout: attackBound}
	if err := json.NewDecoder(in).Decode(&v.config); err != nil {
		return err
	}
	i := slices.IndexFunc(attacks, func(a attack) bool { return a.name == v.config.Attack })
	if i < 0 {
		return fmt.Errorf("no attack %q", v.config.Attack)
	}
	v.attack = &attacks[i]
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", v.config.DNS)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), attackBound)
	defer cancel()
	v.ctx = ctx
	before, files := goleak.IgnoreCurrent(), openFiles()
	if err := v.fight(); err != nil {
		return err
	}
	began := time.Now()
	ctx, cancel = context.WithTimeout(context.Background(), attackBound)
	defer cancel()
	if err := v.host.Close(ctx); err != nil {
		v.failf("closing: %v", err)
	}
	v.report.Closing = time.Since(began)
	if err := goleak.Find(before); err != nil {
		v.failf("goroutines are left: %v", err)
	}
	if n := openFiles(); n > files {
		v.failf("%d open files, and %d before", n, files)
	}
	return json.NewEncoder(out).Encode(v.report)
}

func (v *victim) fight() (err error) {
	opts := mcpclient.HostOptions{
		Retry: mcpclient.Retry{Min: time.Millisecond, Max: time.Millisecond},
		Options: mcpclient.Options{
			Environ:        []string{"PATH=" + v.config.Path},
			DataRoot:       v.config.DataRoot,
			Egress:         mcpclient.DesktopEgress(),
			ConnectTimeout: 10 * time.Second,
			GracePeriod:    200 * time.Millisecond,
			Consent: func(_ context.Context, req mcpclient.ConsentRequest) error {
				if req.ID == evilID {
					for _, f := range req.Findings {
						v.findings = append(v.findings, f.Message)
					}
				}
				return nil
			},
		},
	}
	if v.config.CA != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(v.config.CA))
		opts.TLS = &tls.Config{RootCAs: pool}
	}
	if v.attack.host != nil {
		v.attack.host(&opts, v)
	}
	if v.host, err = mcpclient.NewHost(opts); err != nil {
		return err
	}
	good, err := plugin.Load(v.ctx, v.config.GoodDir, plugin.Options{})
	if err != nil {
		return err
	}
	if v.evil, err = plugin.Load(v.ctx, v.config.EvilDir, plugin.Options{}); err != nil {
		return err
	}
	if v.evil.Server("s") == nil {
		return fmt.Errorf("the hostile server is not loaded: %v", v.evil.Findings())
	}
	if err := v.host.Add(plugin.Instance{ID: "good"}, good); err != nil {
		return err
	}
	if err := v.goodReady(); err != nil {
		return err
	}
	if v.report.Before, _, err = v.callGood(10, nil); err != nil {
		return fmt.Errorf("a good server before the attack: %w", err)
	}

	debug.FreeOSMemory()
	baseline := statusBytes("VmRSS")
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return err // the highest mark is not set back
	}
	stop := make(chan struct{})
	type calls struct {
		median, slowest time.Duration
		n               int
		err             error
	}
	during := make(chan calls, 1)
	go func() {
		var c calls
		c.median, c.slowest, c.err = v.callGood(0, stop, &c.n)
		during <- c
	}()
	v.began = time.Now()
	attackErr := v.attack.run(v)
	v.report.Took = time.Since(v.began)
	close(stop)
	c := <-during
	v.report.During, v.report.Slowest, v.report.Calls = c.median, c.slowest, c.n
	if c.err != nil {
		v.failf("a good server during the attack: %v", c.err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), attackBound)
	defer cancel()
	v.ctx = ctx
	if _, slowest, err := v.callGood(10, nil); err != nil {
		v.failf("a good server after the attack: %v", err)
	} else {
		v.report.Slowest = max(v.report.Slowest, slowest)
	}
	if v.report.Slowest > goodBound {
		v.failf("a good server answered after %v", v.report.Slowest)
	}
	v.checkError(attackErr)
	v.checkAfter()
	v.report.Peak = statusBytes("VmHWM") - baseline
	return nil
}

// goodReady waits until both good servers are connected, also where the time
// for it is as short as an attack needs it.
func (v *victim) goodReady() error {
	for {
		if err := v.host.Refresh(v.ctx); err != nil {
			return err
		}
		v.host.Accept(v.host.Held()...) // in a host with pins
		connected := 0
		for _, s := range v.host.Servers() {
			if s.Status == mcpclient.StatusConnected && s.Err == nil {
				connected++
			}
		}
		if connected == 2 {
			return nil
		}
	}
}

// callGood calls both good servers by turns, n times or until stop is closed,
// with a pause of a few milliseconds, and returns the median and the longest
// time that a call took.
func (v *victim) callGood(n int, stop <-chan struct{}, count ...*int) (median, slowest time.Duration, err error) {
	var took []time.Duration
	for i := 0; n == 0 || i < n; i++ {
		for _, name := range []string{"mcp__good__local__echo", "mcp__good__remote__echo"} {
			say := fmt.Sprintf("%s %d", name, i)
			began := time.Now()
			res, err := v.host.Call(v.ctx, name, echoArguments(say), mcpclient.CallOptions{Timeout: attackBound})
			took = append(took, time.Since(began))
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %w", name, err)
			}
			if got := firstText(res); got != say {
				return 0, 0, fmt.Errorf("%s answers %q to %q", name, got, say)
			}
		}
		if n == 0 {
			select {
			case <-stop:
				n = i // the last round
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	slices.Sort(took)
	for _, c := range count {
		*c = len(took)
	}
	return took[len(took)/2], took[len(took)-1], nil
}

func echoArguments(say string) json.RawMessage {
	text, _ := json.Marshal(map[string]string{"say": say})
	return text
}

func firstText(res *mcp.CallToolResult) string {
	if res == nil || len(res.Content) == 0 {
		return ""
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	if text == nil {
		return ""
	}
	return text.Text
}

// checkError judges the error that the user reads.
func (v *victim) checkError(err error) {
	at := v.attack
	switch {
	case at.is == nil && err != nil:
		v.failf("error %q, and none is expected", err)
		return
	case at.is == nil:
		return
	case err == nil:
		v.failf("no error")
		return
	}
	text := err.Error()
	v.report.Error = text
	if !errors.Is(err, at.is) {
		v.failf("error %q is no %v", text, at.is)
	}
	for _, word := range at.says {
		if !strings.Contains(text, word) {
			v.failf("error %q does not say %q", text, word)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e\u200b\r\x00") {
		v.failf("error %q is not safe to show", text)
	}
	if len(text) > 4<<10 {
		v.failf("an error of %d bytes", len(text))
	}
}

// checkAfter judges what is left of the server.
func (v *victim) checkAfter() {
	if v.attack.after == unusable {
		return
	}
	if v.attack.after == lives && v.session != nil && v.session.Err() != nil {
		v.failf("the session did not survive: %v", v.session.Err())
		return
	}
	for try := 0; ; try++ {
		err := v.echo("after")
		if err == nil {
			return
		}
		if try == 50 || v.attack.after == lives || v.ctx.Err() != nil {
			v.failf("a call after the attack: %v", err)
			return
		}
		time.Sleep(2 * time.Millisecond) // for Retry.Min, which counts real time
	}
}

// connect has the host connect to the hostile server and returns why it is not
// usable, if it is not.
func (v *victim) connect() error {
	if err := v.host.Add(evilInstance, v.evil); err != nil {
		return err
	}
	if err := v.host.Ready(v.ctx); err != nil {
		return err
	}
	state := v.state()
	if state.Status == mcpclient.StatusConnected {
		v.session, _ = v.host.Session(v.ctx, evilID)
	}
	return state.Err
}

func (v *victim) state() mcpclient.ServerState {
	for _, s := range v.host.Servers() {
		if s.ID == evilID {
			return s
		}
	}
	return mcpclient.ServerState{}
}

// attackedBy connects, which must succeed, and returns the error of a call of
// tool evil.
func attackedBy(v *victim) error {
	if err := v.connect(); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	_, err := v.callEvil()
	return err
}

// callEvil calls the tool evil, from when on time counts.
func (v *victim) callEvil() (*mcp.CallToolResult, error) {
	v.began = time.Now()
	return v.host.Call(v.ctx, "mcp__evil__s__evil", json.RawMessage(`{}`), mcpclient.CallOptions{Timeout: v.timeout})
}

// echo calls the hostile server's tool that behaves well.
func (v *victim) echo(say string) error {
	res, err := v.host.Call(v.ctx, "mcp__evil__s__echo", echoArguments(say), mcpclient.CallOptions{Timeout: attackBound})
	if err != nil {
		return err
	}
	if got := firstText(res); got != say {
		return fmt.Errorf("it answers %q to %q", got, say)
	}
	return nil
}

// statusBytes reads a size of this process from /proc.
func statusBytes(name string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				panic(err)
			}
			return n << 10
		}
	}
	panic("no " + name)
}

// openFiles counts the open files of this process, those of the runtime's
// poller apart.
func openFiles() int {
	runtime.GC() // what is closed by a finalizer would be a leak, but not of ours
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	n := 0
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") {
			n++
		}
	}
	return n
}
