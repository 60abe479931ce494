package mcpclient_test

//lint:file-ignore SA1019 roots work in the protocol until they are removed from it

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os/exec"
	"strings"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// A run of an agent gets the servers that were chosen for it, connected to when
// it needs them, and loses them when it ends.
func ExampleHost_View() {
	p, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	h, err := mcpclient.NewHost(mcpclient.HostOptions{
		Options: mcpclient.Options{Egress: mcpclient.DesktopEgress()},
		Lazy:    true,
		OnCall: func(r mcpclient.CallRecord) { // usage accounting
			fmt.Println("used", r.Tool, "of", r.Server, r.Outcome, r.Outcome == mcpclient.OutcomeResult, r.Err)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	if err := h.Add(plugin.Instance{ID: "demo"}, p); err != nil {
		log.Fatal(err)
	}

	v := h.View(func(id mcpclient.ServerID) bool { return id.Plugin == "demo" })
	defer v.Close()
	if err := v.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	for _, s := range v.Servers() {
		fmt.Println(s.ID, s.Status, fmt.Sprint(s.Tools, " tools, ", len(s.Findings), " findings"))
	}
	for _, t := range v.Tools() {
		tool, found := v.Lookup(t.Name)
		fmt.Println(found, tool.Local)
	}
	_, err = v.Call(ctx, "mcp__demo__greeter__greet", json.RawMessage(`{"name": "Ada"}`), mcpclient.CallOptions{
		Timeout:  10 * time.Second,
		Progress: func(p mcpclient.Progress) { fmt.Println(p.Done, p.Total, p.Message) },
	})
	fmt.Println(err)
	// Output:
	// demo/greeter connected 1 tools, 0 findings
	// true greet
	// used mcp__demo__greeter__greet of demo/greeter result true <nil>
	// <nil>
}

// What a call failed with says whether it may be made again.
func ExampleHost_Call() {
	p, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	h, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{Egress: mcpclient.DesktopEgress()}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	if err := errors.Join(h.Add(plugin.Instance{ID: "demo"}, p), h.Ready(ctx)); err != nil {
		log.Fatal(err)
	}
	try := func(ctx context.Context, name, arguments string) {
		_, err := h.Call(ctx, name, json.RawMessage(arguments), mcpclient.CallOptions{})
		var exit *mcpclient.ExitError
		var unauthorized *mcpclient.UnauthorizedError
		switch {
		case errors.Is(err, mcpclient.ErrUnknownTool), errors.Is(err, mcpclient.ErrArguments):
			fmt.Println("the agent's fault")
		case errors.As(err, &unauthorized): // before ErrNotSent, which a 401 is too
			fmt.Println("log in:", unauthorized.Status, unauthorized.Schemes, unauthorized.Scope)
		case errors.Is(err, mcpclient.ErrNotSent):
			fmt.Println("may be made again")
		case errors.As(err, &exit):
			fmt.Println("its program ended:", exit.Stderr)
		case errors.Is(err, mcpclient.ErrLimit), errors.Is(err, mcpclient.ErrServer):
			fmt.Println("nobody knows whether the server did it")
		case err == nil:
			fmt.Println("a result")
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	try(ctx, "mcp__demo__greeter__sing", `{}`)
	try(ctx, "mcp__demo__greeter__greet", `[]`)
	try(ended, "mcp__demo__greeter__greet", `{"name": "Ada"}`)
	try(ctx, "mcp__demo__greeter__greet", `{"name": "Ada"}`)
	// Output:
	// the agent's fault
	// the agent's fault
	// may be made again
	// a result
}

// A host starts what its user has seen, and asks again when it changes.
func ExampleConsent() {
	p, err := plugin.LoadFS(context.Background(), fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "demo"}`)},
		"mcp.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {
			"local": {"type": "stdio", "command": "python3", "args": ["server.py"], "env": {"PYTHONPATH": "lib"}}}}`)},
	}, plugin.Options{})
	if err != nil {
		log.Fatal(err)
	}
	allowed := map[string]bool{} // digests; a host stores them by instance and server
	var consent mcpclient.Consent = func(_ context.Context, req mcpclient.ConsentRequest) error {
		fmt.Println("may", req.ID, "run", req.Plan.Program, req.Plan.Args, "in", req.Plan.Dir)
		for _, f := range req.Findings {
			fmt.Println(f.Message)
		}
		if !allowed[req.Digest] {
			return errors.New("its user did not allow it")
		}
		return nil
	}
	h, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
		Consent:    consent,
		DataRoot:   "/var/lib/agent/data",
		AskTimeout: 10 * time.Minute, // a person may be away
	}, Lazy: true})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(context.Background())
	instance := plugin.Instance{ID: "demo"}
	if err := h.Add(instance, p); err != nil {
		log.Fatal(err)
	}
	for _, s := range h.Servers() { // known before anybody is asked
		fmt.Println(s.ID, s.Status, s.Findings[0].Message)
	}
	// Output:
	// demo/local idle env sets "PYTHONPATH", by which Python and its package managers can be made to load or start code: look at its value before you allow the server
}

// A token goes to the place that it was given for, and nowhere else: not to
// where an update of the plugin leads the server.
func ExampleCredentials() {
	opts := mcpclient.Options{
		Egress: mcpclient.ServiceEgress(),
		Credentials: func(_ context.Context, req mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
			if req.ID.Plugin != "demo" || req.ID.Server != "tickets" || req.Origin != "https://tickets.example" {
				return mcpclient.Credentials{}, nil
			}
			return mcpclient.Credentials{Headers: http.Header{"Authorization": {"Bearer secret"}}}, nil
		},
		// The service redirects to its other address, to which the token does not go.
		Origins: func(mcpclient.ServerID) []string { return []string{"https://eu.tickets.example"} },
	}
	req := mcpclient.CredentialsRequest{
		ID:     mcpclient.ServerID{Plugin: "demo", Server: "tickets"},
		Type:   plugin.TransportStreamableHTTP,
		Origin: "https://tickets.example",
		URL:    "https://tickets.example/mcp",
	}
	fmt.Println(opts.Credentials(context.Background(), req))
	req.Origin, req.URL = "https://elsewhere.example", "https://elsewhere.example/mcp"
	fmt.Println(opts.Credentials(context.Background(), req))
	// Output:
	// credentials(headers: Authorization; env: ; oauth: false) <nil>
	// credentials(headers: ; env: ; oauth: false) <nil>
}

// A server may ask the user something, and for the directories it may work in.
func ExampleHandlers() {
	handlers := mcpclient.Handlers{
		Elicit: func(_ context.Context, id mcpclient.ServerID, req *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(id, "asks:", req.Message)
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		Roots: func(context.Context, mcpclient.ServerID) ([]*mcp.Root, error) {
			return []*mcp.Root{{URI: "file:///home/ada/project"}}, nil
		},
	}
	id := mcpclient.ServerID{Plugin: "demo", Server: "tickets"}
	res, err := handlers.Elicit(context.Background(), id, &mcp.ElicitParams{Message: "Close 12 tickets?"})
	fmt.Println(res.Action, err)
	// Output:
	// demo/tickets asks: Close 12 tickets?
	// decline <nil>
}

// A plugin is updated, tried again, and uninstalled.
func ExampleHost_Refresh() {
	p, stop := exampleServer()
	defer stop()
	ctx := context.Background()
	var pins mcpclient.Pins
	if err := json.Unmarshal([]byte(`[]`), &pins); err != nil { // as they were stored
		log.Fatal(err)
	}
	h, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{Egress: mcpclient.DesktopEgress()}, Pins: &pins})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)
	instance := plugin.Instance{ID: "demo"}
	if err := h.Add(instance, p); err != nil {
		log.Fatal(err)
	}
	if err := h.Refresh(ctx, h.Servers()[0].ID); err != nil { // "Try again", a button
		log.Fatal(err)
	}
	h.Accept(h.Held()...)
	sess, err := h.Session(ctx, h.Servers()[0].ID) // for its prompts and resources
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sess.ID(), len(h.Tools()), "tools")

	err = h.Add(plugin.Instance{Tenant: "another", ID: "demo"}, p)
	fmt.Println(errors.Is(err, mcpclient.ErrInstalled))

	if err := h.Remove(instance); err != nil {
		log.Fatal(err)
	}
	pins.Forget(instance)
	stored, err := json.Marshal(&pins)
	<-sess.Done()
	fmt.Println(string(stored), err, errors.Is(sess.Err(), mcpclient.ErrClosed))
	// Output:
	// demo/greeter 1 tools
	// true
	// [] <nil> true
}

// docker runs each server in a container of its own, which has of this machine
// the package, read only, and the instance's data.
type docker struct{ image string }

func (d docker) Launch(_ context.Context, l mcpclient.Launch) (mcpclient.Process, error) {
	root, data := l.Plan.Env["PLUGIN_ROOT"], l.Plan.Env["PLUGIN_DATA"]
	args := []string{"run", "--rm", "-i", "--workdir", l.Plan.Dir, "--volume", root + ":" + root + ":ro", "--volume", data + ":" + data}
	for _, e := range l.Environ {
		// The name only: docker takes the value from its own environment, while
		// everybody on the machine can read its arguments.
		name, _, _ := strings.Cut(e, "=")
		args = append(args, "--env", name)
	}
	cmd := exec.Command("docker", append(append(args, d.image, l.Plan.Program), l.Plan.Args...)...)
	cmd.Env = l.Environ
	return nil, fmt.Errorf("not started in this example: %d arguments for %s", len(cmd.Args), l.ID)
}

func ExampleLaunch() {
	_, err := docker{"node:22"}.Launch(context.Background(), mcpclient.Launch{
		ID: mcpclient.ServerID{Plugin: "demo", Server: "files"},
		Plan: plugin.LaunchPlan{Program: "npx", Args: []string{"-y", "a-server"}, Dir: "/plugin",
			Env: map[string]string{"PLUGIN_ROOT": "/plugin", "PLUGIN_DATA": "/data"}},
		Environ: []string{"TOKEN=secret"},
	})
	fmt.Println(err)
	// Output:
	// not started in this example: 16 arguments for demo/files
}
