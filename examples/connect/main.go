// Connect runs the MCP servers of plugin packages, lists their tools and calls
// some of them.
//
// Usage:
//
//	connect [-json] [-data DIR] [-allow-stdio] [-timeout D] [-call 'EXPOSED={...}']... PATH...
//
// Each PATH is the directory of one plugin. Servers on stdio are programs of
// the package: they are started only with -allow-stdio, with their data below
// DIR, or in a directory that is removed again. Remote servers may be public
// ones, and those on this machine whose URL says so. testdata/demo is a package
// to try, whose server is started with go run.
//
// -call calls a tool by the name under which it is exposed, with a JSON object
// of arguments; -call all:TOOL calls the tool of that name with {} on each
// server that has it. With -json, standard output is one JSON document a path
// and nothing else.
//
// The exit status is 0 when every valid server that is enabled connected and
// every call was delivered, 1 when not or when a plugin was rejected, and 2 when
// the program could not do its work.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK = iota
	statusFailed
	statusUnable
)

// settings are what the command line says.
type settings struct {
	json       bool
	data       string
	allowStdio bool
	timeout    time.Duration
	calls      calls
	paths      []string
}

// call is one -call.
type call struct {
	tool      string // the exposed name, or with all the server's own
	all       bool
	arguments json.RawMessage
}

type calls []call

func (c *calls) String() string { return "" }

// Set reads EXPOSED={...}, EXPOSED alone, or all:TOOL.
func (c *calls) Set(s string) error {
	name, arguments, given := strings.Cut(s, "=")
	if !given {
		arguments = "{}"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		return errors.New("the arguments are not a JSON object")
	}
	tool, all := strings.CutPrefix(name, "all:")
	if tool == "" {
		return errors.New("a name is missing")
	}
	*c = append(*c, call{tool: tool, all: all, arguments: json.RawMessage(arguments)})
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var set settings
	flags := flag.NewFlagSet("connect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: connect [-json] [-data DIR] [-allow-stdio] [-timeout D] [-call 'EXPOSED={...}']... PATH...\n")
		flags.PrintDefaults()
	}
	flags.BoolVar(&set.json, "json", false, "print one JSON document a path")
	flags.StringVar(&set.data, "data", "", "keep the plugins' data below `DIR`")
	flags.BoolVar(&set.allowStdio, "allow-stdio", false, "start the programs of the package")
	flags.DurationVar(&set.timeout, "timeout", 30*time.Second, "bound connecting to a server, and each call")
	flags.Var(&set.calls, "call", "call a tool, as `EXPOSED={...}` or all:TOOL")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusUnable
	}
	set.paths = flags.Args()
	if len(set.paths) == 0 || set.timeout <= 0 {
		flags.Usage()
		return statusUnable
	}
	if set.data == "" {
		dir, err := os.MkdirTemp("", "plugberth-connect-")
		if err != nil {
			fmt.Fprintf(stderr, "connect: %s\n", clean(err.Error()))
			return statusUnable
		}
		set.data = dir
		defer func() {
			if err := removeData(&set); err != nil {
				fmt.Fprintf(stderr, "connect: %s\n", clean(err.Error()))
			}
		}()
	}

	var show shower = newText(stdout, stderr)
	if set.json {
		show = jsonShower{stdout}
	}
	status := statusOK
	results, err := connect(ctx, &set, show, func(path string, err error) {
		fmt.Fprintf(stderr, "connect: %s: %s\n", clean(path), clean(err.Error()))
		if errors.Is(err, plugin.ErrRejected) {
			status = max(status, statusFailed)
		} else {
			status = statusUnable
		}
	})
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintf(stderr, "connect: %s\n", clean(err.Error()))
		return statusUnable
	}
	for _, r := range results {
		if err := show.result(r); err != nil {
			fmt.Fprintf(stderr, "connect: %s\n", clean(err.Error()))
			return statusUnable
		}
		if !r.ok() {
			status = max(status, statusFailed)
		}
	}
	return status
}

// instance identifies the plugin at a path: here the path is the installation.
func instance(path string) (plugin.Instance, error) {
	abs, err := filepath.Abs(path)
	return plugin.Instance{ID: abs}, err
}

// removeData removes what the plugins have kept, and the directory made for it.
// Servers may have left directories behind that not even their owner can write
// to, which os.RemoveAll would not remove.
func removeData(set *settings) error {
	var errs []error
	for _, path := range set.paths {
		id, err := instance(path)
		if err == nil {
			err = mcpclient.RemoveData(set.data, id)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.Remove(set.data))...)
}

// result is what became of one path.
type result struct {
	path    string
	plugin  *plugin.Plugin // nil where it was rejected
	servers []mcpclient.ServerState
	tools   []mcpclient.Tool
	calls   []outcome
}

// outcome is what became of one call.
type outcome struct {
	tool   string
	result *mcp.CallToolResult // nil where there is none
	err    error
}

// ok reports whether all that could be used was.
func (r *result) ok() bool {
	for _, s := range r.servers {
		if s.Status == mcpclient.StatusFailed {
			return false
		}
	}
	for _, c := range r.calls {
		if c.err != nil {
			return false
		}
	}
	return true
}

// connect runs the servers of all plugins side by side, in one host, and makes
// the calls. failed hears of paths that are no plugin.
func connect(ctx context.Context, set *settings, show shower, failed func(path string, err error)) ([]*result, error) {
	opts := mcpclient.HostOptions{Options: mcpclient.Options{
		DataRoot:       set.data,
		Egress:         mcpclient.DesktopEgress(),
		ConnectTimeout: set.timeout,
		CallTimeout:    set.timeout,
	}}
	opts.Consent = func(_ context.Context, req mcpclient.ConsentRequest) error {
		if !set.allowStdio {
			return errors.New("-allow-stdio was not given")
		}
		show.consent(req)
		return nil
	}
	host, err := mcpclient.NewHost(opts)
	if err != nil {
		return nil, err
	}
	// Whatever happens, no process stays behind.
	defer host.Close(context.WithoutCancel(ctx))

	watching, stop := context.WithCancel(ctx)
	defer stop()
	events := host.Watch(watching)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for e := range events {
			if e.Server != nil {
				show.server(*e.Server)
			}
		}
	}()

	var results []*result
	instances := map[string]plugin.Instance{}
	for _, path := range set.paths {
		p, err := plugin.Load(ctx, path, plugin.Options{Components: plugin.MCPOnly})
		if err != nil {
			failed(path, err)
			if errors.Is(err, plugin.ErrRejected) {
				results = append(results, &result{path: path})
			}
			continue
		}
		id, err := instance(path)
		if err != nil {
			return nil, err
		}
		results = append(results, &result{path: path, plugin: p})
		if _, again := instances[path]; again {
			continue
		}
		instances[path] = id
		if err := host.Add(id, p); err != nil {
			return nil, err
		}
	}
	if err := host.Ready(ctx); err != nil {
		return nil, err
	}
	stop()
	<-watched

	for i, r := range results {
		if r.plugin == nil {
			continue
		}
		id := instances[r.path]
		for _, s := range host.Servers() {
			if s.ID.Instance == id {
				r.servers = append(r.servers, s)
			}
		}
		for _, t := range host.Tools() {
			if t.Server.Instance == id {
				r.tools = append(r.tools, t)
			}
		}
		for _, c := range set.calls {
			switch t, known := host.Lookup(c.tool); {
			case c.all:
				for _, t := range r.tools {
					if t.Local == c.tool {
						r.calls = append(r.calls, made(ctx, host, t.Name, c.arguments))
					}
				}
			case known && t.Server.Instance == id, !known && i == len(results)-1:
				r.calls = append(r.calls, made(ctx, host, c.tool, c.arguments))
			}
		}
	}
	return results, ctx.Err()
}

func made(ctx context.Context, host *mcpclient.Host, tool string, arguments json.RawMessage) outcome {
	res, err := host.Call(ctx, tool, arguments, mcpclient.CallOptions{})
	return outcome{tool, res, err}
}
