// Catalog shows tools of plugins that appear, change and vanish under an agent
// that stays connected.
//
// Usage:
//
//	catalog
//
// It is a host with a tool catalog and an endpoint, two plugins whose tools it
// carries out itself, and an agent: a client of the MCP SDK, connected over HTTP
// with the token of its run. After each step it prints what the agent was told,
// what it sees, and what its calls come to.
//
// The exit status is 0, or 2 with the reason on standard error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK     = 0
	statusFailed = 2
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("catalog", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintln(stderr, "usage: catalog") }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusFailed
	}
	if flags.NArg() > 0 {
		flags.Usage()
		return statusFailed
	}
	if err := tell(ctx, stdout); err != nil {
		fmt.Fprintln(stderr, "catalog:", err)
		return statusFailed
	}
	return statusOK
}

// host is what a program needs to offer tools of plugins to agents.
type host struct {
	catalog  *catalog.Catalog
	invokers mcpserver.Invokers
	registry *mcpserver.Registry
	url      string
}

// tell tells the story.
func tell(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	h, stop, err := serve(ctx)
	if err != nil {
		return err
	}
	defer stop()

	minted, err := h.registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task-17", Session: "1", Surface: "chat"},
	})
	if err != nil {
		return err
	}
	a, err := connect(ctx, h.url, minted.Token.Reveal())
	if err != nil {
		return err
	}
	defer a.close()

	s := &story{ctx: ctx, out: out, agent: a}
	s.say("An agent connects. Nothing is installed yet.")
	s.look()

	s.say("The plugin weather is installed.")
	h.invokers.Set("weather", mcpserver.InvokerFunc(weather))
	s.do(h.catalog.Declare("weather", forecast("city")))
	s.told()
	s.call("plugin_weather_forecast", `{"city": "Oslo"}`)

	s.say("The plugin notes is installed, with three tools, one of them on the surface admin.")
	notes := &notebook{}
	h.invokers.Set("notes", notes)
	s.do(h.catalog.Declare("notes", notes.tools()...))
	s.told()
	s.call("plugin_notes_add", `{"text": "buy bread"}`)
	s.call("plugin_notes_count", `{}`)
	s.call("plugin_notes_clear", `{}`)

	s.say("The plugin weather is updated: the forecast takes a place now, and there are warnings.")
	s.do(h.catalog.Declare("weather", forecast("place"), warnings))
	s.told()
	s.call("plugin_weather_forecast", `{"city": "Oslo"}`)
	s.call("plugin_weather_forecast", `{"place": "Oslo"}`)

	s.say("Its next update is broken, and refused as a whole.")
	err = h.catalog.Declare("weather", forecast("place"), catalog.Tool{Name: "Not-A-Name"})
	if !errors.Is(err, catalog.ErrDeclaration) {
		return fmt.Errorf("a broken declaration: %w", err)
	}
	s.say("  " + err.Error())
	s.look()

	s.say("The plugin notes is suspended while one of its calls is in flight.")
	begun := notes.hold()
	answer := s.start("plugin_notes_add", `{"text": "buy milk"}`)
	if s.err != nil {
		return s.err
	}
	select {
	case <-begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	h.catalog.Suspend("notes")
	s.finish(answer)
	s.told()
	s.call("plugin_notes_count", `{}`)

	s.say("It is resumed.")
	h.catalog.Resume("notes")
	s.told()
	s.call("plugin_notes_count", `{}`)

	s.say("The run moves to the surface admin.")
	s.do(h.registry.SetSurface(minted.ID, "admin"))
	s.told()
	s.call("plugin_notes_clear", `{}`)

	s.say("Both plugins are removed.")
	h.catalog.Withdraw("weather")
	h.catalog.Withdraw("notes")
	s.told()
	s.call("plugin_notes_count", `{}`)
	return s.err
}

// serve makes the host and listens on this machine.
func serve(ctx context.Context) (*host, func(), error) {
	h := &host{}
	var err error
	if h.catalog, err = catalog.New(catalog.Options{}); err != nil {
		return nil, nil, err
	}
	h.registry, err = mcpserver.New(mcpserver.Options{Catalog: h.catalog, Invokers: &h.invokers})
	if err != nil {
		return nil, nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	h.url = "http://" + listener.Addr().String() + "/mcp"
	server := &http.Server{Handler: h.registry, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	return h, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = h.registry.Shutdown(ctx)
		_ = server.Close()
	}, nil
}

// schema is an object of one text.
func schema(property string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type": "object", "properties": {%q: {"type": "string", "maxLength": 200}}, "required": [%[1]q], "additionalProperties": false}`, property))
}

func forecast(property string) catalog.Tool {
	return catalog.Tool{
		Name: "forecast", Description: "Says what the weather will be in a " + property + ".",
		InputSchema: schema(property), Surfaces: []string{"chat", "admin"},
		Annotations: catalog.Annotations{ReadOnly: true, Idempotent: true},
	}
}

var warnings = catalog.Tool{
	Name: "warnings", Description: "Lists warnings of storms.",
	InputSchema: json.RawMessage(`{"type": "object"}`), Surfaces: []string{"chat"},
	Annotations: catalog.Annotations{ReadOnly: true, Idempotent: true},
}

// weather carries out the tools of the plugin weather.
func weather(_ context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
	var args struct{ City, Place string }
	if err := json.Unmarshal(inv.Arguments, &args); err != nil {
		return mcpserver.Result{}, err
	}
	return mcpserver.Result{Text: "Sunny in " + args.City + args.Place + "."}, nil
}
