package snippets_test

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// readServer is an MCP server on this machine with the tool read. It returns its
// URL.
func readServer(t *testing.T) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "read", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "what it read"}}}, nil
		})
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return strings.Replace(ts.URL, "127.0.0.1", "localhost", 1)
}

// archive writes a package of a skill and a server as a zip archive, and returns
// its path and its content hash.
func archive(t *testing.T, version, url string) (file, hash string) {
	draft := &plugin.Draft{
		Manifest: plugin.Manifest{Name: "demo", Version: version},
		Skills: []skills.Draft{{
			Name: "review", Description: "Reviews a change.", Body: "\nBe kind.\n",
			Files: fstest.MapFS{"references/rules.md": {Data: []byte("Rules.\n")}},
		}},
		Servers: []plugin.ServerDraft{{Name: "files", Type: plugin.TransportStreamableHTTP, Remote: plugin.Remote{URL: url}}},
	}
	pkg, err := draft.Build(t.Context(), plugin.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "demo.zip")
	out, err := os.Create(file)
	if err == nil {
		err = errors.Join(pkg.WriteZip(out), out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, pkg.Hash()
}

// logged collects what is logged until the test ends.
func logged(t *testing.T) *strings.Builder {
	out := new(strings.Builder)
	log.SetOutput(out)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	return out
}

// TestHostsPackages: a package is installed, updated, run and taken away.
func TestHostsPackages(t *testing.T) {
	ctx, url, dir := t.Context(), readServer(t), filepath.Join(t.TempDir(), "demo")
	file, hash := archive(t, "1.0.0", url)
	p, err := install(ctx, file, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	next, nextHash := archive(t, "1.1.0", url+"/next")
	if _, err := install(ctx, next, dir, ""); !errors.Is(err, plugin.ErrOccupied) {
		t.Errorf("an update without the hash: %v", err)
	}
	offered, err := plugin.OpenArchive(ctx, next, plugin.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	newer, err := offered.Load(ctx, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := update(ctx, p, newer); err != nil {
		t.Error(err)
	}
	q, err := install(ctx, next, dir, hash)
	if err != nil {
		t.Fatal(err)
	}
	if p.Manifest().Version != "1.0.0" || q.Manifest().Version != "1.1.0" {
		t.Errorf("versions %s and %s", p.Manifest().Version, q.Manifest().Version)
	}

	out := logged(t)
	if err := loadAndLog(ctx, dir); err != nil {
		t.Error(err)
	}
	back, _ := archive(t, "1.0.0", url)
	if q, err = install(ctx, back, dir, nextHash); err != nil {
		t.Fatal(err)
	}
	if err := runServers(ctx, q, mcpclient.Options{Egress: mcpclient.DesktopEgress()}, nil); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"demo/files connected", "mcp__demo__files__read", "what it read"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if text, err := prompt(q); err != nil || !strings.Contains(text, "Reviews a change.") {
		t.Errorf("%q, %v", text, err)
	}
}

type secretStore map[string]string

func (s secretStore) For(_ context.Context, instance plugin.Instance, server, origin string) (string, bool) {
	token, ok := s[instance.ID+"/"+server+" "+origin]
	return token, ok
}

type approvalStore map[string]bool

func (a approvalStore) Has(_ plugin.Instance, _, digest string) bool { return a[digest] }

type owners map[string]string // tasks by tenant

func (o owners) Owns(tenant, task string) bool { return o[tenant] == task }

// TestHostsPolicy: what was approved may start, what the host knows goes along,
// and tools wait until they are accepted.
func TestHostsPolicy(t *testing.T) {
	ctx := t.Context()
	approvals, secrets, currentTenants = approvalStore{"sha256:1": true}, secretStore{"installation 1/files https://files.example": "t"}, owners{"acme": "task-17"}
	t.Cleanup(func() { approvals, secrets, currentTenants = nil, nil, nil })
	options := policy(t.TempDir(), slog.New(slog.DiscardHandler))
	if err := options.Consent(ctx, mcpclient.ConsentRequest{Digest: "sha256:1"}); err != nil {
		t.Error(err)
	}
	if err := options.Consent(ctx, mcpclient.ConsentRequest{Digest: "sha256:2"}); err == nil {
		t.Error("another plan was approved")
	}
	asked := mcpclient.CredentialsRequest{
		ID:     mcpclient.ServerID{Instance: plugin.Instance{ID: "installation 1"}, Plugin: "demo", Server: "files"},
		Origin: "https://files.example",
	}
	known, err := options.Credentials(ctx, asked)
	if err != nil || known.Headers.Get("Authorization") != "Bearer t" {
		t.Errorf("credentials %v, %v", known, err)
	}
	server, installation, place := asked, asked, asked
	server.ID.Server = "other"
	installation.ID.Instance.ID = "installation 2" // names are packages' choice
	place.Origin = "https://files.example.evil.example"
	for _, req := range []mcpclient.CredentialsRequest{server, installation, place} {
		if none, err := options.Credentials(ctx, req); err != nil || none.Headers != nil {
			t.Errorf("credentials for %v: %v, %v", req, none, err)
		}
	}

	judge := authorizer()
	for tenant, want := range map[string]bool{"acme": false, "other": true} {
		err := judge.Authorize(ctx, mcpserver.Authorization{Run: mcpserver.Run{Identity: mcpserver.Identity{Workspace: tenant, Task: "task-17"}}, Tool: "x"})
		if errors.Is(err, mcpserver.ErrIdentity) != want {
			t.Errorf("a call for %s: %v", tenant, err)
		}
	}

	accepted, err := pins(filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{Egress: mcpclient.DesktopEgress()}, Pins: accepted})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(ctx)
	file, _ := archive(t, "1.0.0", readServer(t))
	p, err := install(ctx, file, filepath.Join(t.TempDir(), "demo"), "")
	if err != nil {
		t.Fatal(err)
	}
	instance := plugin.Instance{ID: "one"}
	if err := errors.Join(host.Add(instance, p), host.Ready(ctx)); err != nil {
		t.Fatal(err)
	}
	before := len(host.Tools())
	acceptAll(host, func(mcpclient.Tool) bool { return true })
	if after := len(host.Tools()); before != 0 || after != 1 {
		t.Errorf("%d tools before they were accepted, %d after", before, after)
	}
	if err := uninstall(host, accepted, options.DataRoot, instance); err != nil || len(host.Servers()) != 0 {
		t.Errorf("%v, and %d servers are left", err, len(host.Servers()))
	}
}

// TestHostsEndpoint: a run gets its endpoint, with tools of packages and of the
// host.
func TestHostsEndpoint(t *testing.T) {
	ctx := t.Context()
	host, err := mcpclient.NewHost(mcpclient.HostOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file, _ := archive(t, "1.0.0", "https://example.com/mcp")
	p, err := install(ctx, file, filepath.Join(t.TempDir(), "demo"), "")
	if err != nil {
		t.Fatal(err)
	}
	set, err := skills.NewSet(skills.SetOptions{}, p.SkillSource())
	if err != nil {
		t.Fatal(err)
	}
	var invokers mcpserver.Invokers
	cat, end, err := bridges(host, set, &invokers)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if n := len(cat.Snapshot().Seen("chat")); n != 2 {
		t.Errorf("%d tools for two of skills", n)
	}
	registry, server, err := endpoint(cat, &invokers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	workspace := t.TempDir()
	if err := startRun(registry, new(channel.MemoryStore), workspace); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(workspace); err != nil || len(left) > 0 {
		t.Errorf("%v is left of the configuration, %v", left, err)
	}

	ticket, err := ownTool()
	if err != nil {
		t.Fatal(err)
	}
	minted, err := registry.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: "task-17", Surface: "chat"}, Labels: map[string]string{"customer": "c-7"}, Tools: []*mcpserver.Tool{ticket}})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(server.Handler)
	defer ts.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   ts.URL + "/mcp",
		HTTPClient: &http.Client{Transport: throughProxy{minted.Token.Reveal()}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "open_ticket", Arguments: map[string]any{"title": "x"}})
	if err != nil || result.Content[0].(*mcp.TextContent).Text != "opened for c-7: x" {
		t.Errorf("%v, %v", result, err)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	session.Close()
	if err := stop(ctx, registry, new(channel.Backlog), server, host); err != nil {
		t.Error(err)
	}
}

// throughProxy sends what an agent sends as a proxy passes it on, with the token of
// a run.
type throughProxy struct{ token string }

func (p throughProxy) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Host = "agents.example.com"
	req.Header.Set("Authorization", "Bearer "+p.token)
	return http.DefaultTransport.RoundTrip(req)
}

// TestHostsQuestions: a question that is recorded is answered between runs, and one
// that is live is shown.
func TestHostsQuestions(t *testing.T) {
	ctx := t.Context()
	buffered := channel.NewBuffered(new(channel.MemoryStore))
	question := channel.Question{Text: "Publish now?"}
	if _, err := buffered.Ask(ctx, question); !errors.Is(err, channel.ErrBlocked) {
		t.Fatal(err)
	}
	if err := afterRun(ctx, buffered); err != nil {
		t.Fatal(err)
	}
	if answer, err := buffered.Ask(ctx, question); err != nil || answer.Text != "yes" {
		t.Errorf("%v, %v", answer, err)
	}
}
