package snippets_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// The snippets are run here as a host would run them, one after the other, on a
// package whose server is the test's own program.

// init makes this program the package's server where it is started as such.
func init() {
	if slices.Contains(os.Args, "serve-mcp") {
		server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "read", Description: "Reads."},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "content"}}}, nil, nil
			})
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// What the host of the snippets has.

type fakeSecrets struct{}

func (fakeSecrets) For(_ context.Context, tenant, plugin, server string) (string, bool) {
	return "secret of " + tenant, plugin == "demo" && server == "files"
}

// fakeApprovals are the digests that were approved.
type fakeApprovals map[string]bool

func (a fakeApprovals) Has(_ plugin.Instance, _, digest string) bool { return a[digest] }

type fakeTenants struct{}

func (fakeTenants) Owns(workspace, task string) bool { return workspace == "w" && task == "t" }

// packed writes the demo package to an archive. Its server is this program,
// found over PATH.
func packed(t *testing.T, version string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(self)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	draft := &plugin.Draft{
		Manifest: plugin.Manifest{Name: "demo", Version: version},
		Skills:   []skills.Draft{{Name: "reading", Description: "Reads files. Use for files.", Body: "\nRead.\n"}},
		Servers: []plugin.ServerDraft{{Name: "files", Type: plugin.TransportStdio,
			Stdio: plugin.Stdio{Command: filepath.Base(self), Args: []string{"serve-mcp", version}}}},
	}
	pkg, err := draft.Build(t.Context(), plugin.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "demo.zip")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := pkg.WriteZip(out); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPackages installs a package, updates it, runs its server and takes it out.
func TestPackages(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "demo")
	p, err := install(ctx, packed(t, "1.0.0"), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	hash, err := p.Hash(ctx, plugin.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	next, err := install(ctx, packed(t, "1.1.0"), dir, hash)
	if err != nil || next.Manifest().Version != "1.1.0" {
		t.Fatal(next, err)
	}
	if err := loadAndLog(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if err := update(ctx, next, next); err != nil {
		t.Fatal(err)
	}
	if text, err := prompt(next); err != nil || !strings.Contains(text, "<name>reading</name>") {
		t.Errorf("prompt: %s, %v", text, err)
	}

	dataRoot := t.TempDir()
	secrets, approvals = fakeSecrets{}, fakeApprovals{}
	instance := plugin.Instance{Tenant: "a", ID: "1"}
	options := policy(dataRoot, slog.New(slog.DiscardHandler))
	options.Egress = nil
	if err := runServers(ctx, next, options, nil); err == nil {
		t.Error("a server that was not approved was called")
	}
	data, err := plugin.DataDir(dataRoot, plugin.Instance{ID: "installation 1"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := next.LaunchPlan("files", data)
	if err != nil {
		t.Fatal(err)
	}
	approvals = fakeApprovals{plan.Digest(): true}
	if err := runServers(ctx, next, options, json.RawMessage("{}")); err != nil {
		t.Errorf("an approved server: %v", err)
	}
	if err := readmeServers(ctx, next, policy(dataRoot, nil).Consent, json.RawMessage("{}")); err == nil {
		t.Error("the plan for another data directory was approved")
	}

	host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(context.WithoutCancel(ctx))
	if err := host.Add(instance, next); err != nil {
		t.Fatal(err)
	}
	if err := uninstall(host, dataRoot, instance); err != nil || len(host.Servers()) > 0 {
		t.Errorf("%d servers after uninstalling: %v", len(host.Servers()), err)
	}
}

// TestPins holds the tools back until somebody accepts them.
func TestPins(t *testing.T) {
	ctx := t.Context()
	p, err := install(ctx, packed(t, "1.0.0"), filepath.Join(t.TempDir(), "demo"), "")
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := pins(filepath.Join(t.TempDir(), "none yet"))
	if err != nil {
		t.Fatal(err)
	}
	host, err := mcpclient.NewHost(mcpclient.HostOptions{Pins: accepted, Options: mcpclient.Options{
		Consent:  func(context.Context, mcpclient.ConsentRequest) error { return nil },
		DataRoot: t.TempDir(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(context.WithoutCancel(ctx))
	if err := host.Add(plugin.Instance{ID: "1"}, p); err != nil {
		t.Fatal(err)
	}
	if err := host.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(host.Tools()); n != 0 || len(host.Held()) != 1 {
		t.Fatalf("%d tools, %d held back", n, len(host.Held()))
	}
	acceptAll(host, func(tool mcpclient.Tool) bool { return tool.Local == "read" })
	if n := len(host.Tools()); n != 1 || len(host.Held()) != 0 {
		t.Errorf("%d tools, %d held back after they were accepted", n, len(host.Held()))
	}
}

// TestRun serves a run of an agent, which uses the package's tool and skill, a
// tool of the host, and asks.
func TestRun(t *testing.T) {
	ctx := t.Context()
	p, err := install(ctx, packed(t, "1.0.0"), filepath.Join(t.TempDir(), "demo"), "")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
		Consent:  func(context.Context, mcpclient.ConsentRequest) error { return nil },
		DataRoot: t.TempDir(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.Add(plugin.Instance{ID: "1"}, p); err != nil {
		t.Fatal(err)
	}
	if err := clients.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	set, err := skills.NewSet(skills.SetOptions{}, p.SkillSource())
	if err != nil {
		t.Fatal(err)
	}
	var invokers mcpserver.Invokers
	cat, closeBridges, err := bridges(clients, set, &invokers)
	if err != nil {
		t.Fatal(err)
	}
	registry, server, err := endpoint(cat, &invokers, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler)
	defer web.Close()
	defer func() {
		closeBridges()
		if err := stop(context.WithoutCancel(ctx), registry, server, clients); err != nil {
			t.Error(err)
		}
	}()

	if err := startRun(registry, new(channel.MemoryStore), t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := readmeEndpoint(http.NewServeMux(), new(channel.MemoryStore), filepath.Join(t.TempDir(), "mcp.json")); err != nil {
		t.Error(err)
	}

	ticket, err := ownTool()
	if err != nil {
		t.Fatal(err)
	}
	buffered := channel.NewBuffered(new(channel.MemoryStore))
	shown := make(chan channel.Question, 1)
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "t", Workspace: "w", Surface: "chat"},
		Channel:  live(ctx, buffered, func(q channel.Question) { shown <- q }),
		Tools:    []*mcpserver.Tool{ticket},
	})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   web.URL + "/mcp",
		HTTPClient: &http.Client{Transport: bearer(minted.Token.Reveal())},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	for name, want := range map[string]string{
		"mcp__demo__files__read": "content",
		"load_skill":             "Read.",
		"open_ticket":            "opened for t: Fix it",
	} {
		arguments := map[string]any{"load_skill": map[string]any{"name": "reading"}, "open_ticket": map[string]any{"title": "Fix it"}}[name]
		result, err := agent.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := result.Content[0].(*mcp.TextContent).Text; result.IsError || !strings.Contains(text, want) {
			t.Errorf("%s answers %q", name, text)
		}
	}

	// The question is shown, and its agent goes away before it is answered.
	asking, goAway := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = agent.CallTool(asking, &mcp.CallToolParams{Name: "ask_user", Arguments: map[string]any{"question": "Publish?"}})
	}()
	if q := <-shown; q.Text != "Publish?" {
		t.Errorf("shown: %q", q.Text)
	}
	goAway()
	<-asked
	if _, err := buffered.Ask(ctx, channel.Question{Text: "Publish?"}); !errors.Is(err, channel.ErrBlocked) {
		t.Fatal(err)
	}
	if err := afterRun(ctx, buffered); err != nil {
		t.Error(err)
	}
	if answer, err := buffered.Ask(ctx, channel.Question{Text: "Publish?"}); err != nil || answer.Text != "yes" {
		t.Errorf("asked again: %q, %v", answer.Text, err)
	}

	currentTenants = fakeTenants{}
	belong := authorizer().(mcpserver.CatalogAuthorizer).Belong
	if err := belong(ctx, mcpserver.Identity{Workspace: "w", Task: "t"}); err != nil {
		t.Error(err)
	}
	if err := belong(ctx, mcpserver.Identity{Workspace: "other", Task: "t"}); err == nil {
		t.Error("a task of another workspace is let through")
	}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}
