package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin"
)

// TestMain makes the test binary the server of the plugin notes where it is
// started as that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveNotes {
		main()
	}
	os.Exit(m.Run())
}

// released are the two versions of the plugin, made once.
var released = sync.OnceValues(func() (out [2]*plugin.Package, err error) {
	for i, version := range []string{"1.0.0", "1.1.0"} {
		if out[i], err = release(context.Background(), version); err != nil {
			break
		}
	}
	return out, err
})

func versions(t *testing.T) (v10, v11 *plugin.Package) {
	t.Helper()
	v, err := released()
	if err != nil {
		t.Fatal(err)
	}
	return v[0], v[1]
}

// keyOf is the key that a tenant has entrusted to the service.
func keyOf(tenant string) string { return "the key of " + tenant }

// begin makes a service with two tenants that have the plugin and a key.
func begin(t *testing.T) (s *service, acme, borealis *tenant) {
	t.Helper()
	v10, _ := versions(t)
	s, err := serve(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	tenants := map[string]*tenant{}
	for _, name := range []string{"acme", "borealis"} {
		s.vault.put(secret{plugin.Instance{Tenant: name, ID: "notes"}, "notes", ""}, mcpclient.Credentials{Env: map[string]string{"NOTES_KEY": keyOf(name)}})
		if tenants[name], err = s.admit(name); err != nil {
			t.Fatal(err)
		}
		if err := tenants[name].install(t.Context(), v10); err != nil {
			t.Fatal(err)
		}
	}
	return s, tenants["acme"], tenants["borealis"]
}

// work connects an agent of a tenant. Every tenant calls its task the same.
func work(t *testing.T, s *service, of *tenant) *agent {
	t.Helper()
	minted, err := of.mint("task-1")
	if err != nil {
		t.Fatal(err)
	}
	return connected(t, s, of, minted)
}

func connected(t *testing.T, s *service, of *tenant, minted mcpserver.Minted) *agent {
	t.Helper()
	a, err := connect(t.Context(), s.url(of.name), minted.Token.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a
}

func (a *agent) says(t *testing.T, local, arguments, want string) {
	t.Helper()
	got, err := a.call(t.Context(), tool(local), arguments)
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("%s answers %q, %v; want %q", local, got, err, want)
	}
}

func (a *agent) sees(t *testing.T, locals ...string) {
	t.Helper()
	var want []string
	for _, local := range locals {
		want = append(want, tool(local))
	}
	if got, err := a.tools(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("it sees %q, %v; want %q", got, err, want)
	}
}

// keptNotes reads what the plugin keeps for a tenant.
func keptNotes(t *testing.T, s *service, of *tenant) (string, bool) {
	t.Helper()
	dir, err := plugin.DataDir(s.data(), of.instance("notes"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "notes.json"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_, err = os.Stat(dir)
	return string(text), err == nil
}

// TestIsolation: two tenants with the same plugin, the same names and the same
// task have nothing of each other's. [E3] [R8] [T2] [T3]
func TestIsolation(t *testing.T) {
	s, acme, borealis := begin(t)
	a, b := work(t, s, acme), work(t, s, borealis)

	t.Run("data and credentials", func(t *testing.T) {
		a.says(t, "add", `{"text": "of acme"}`, "Noted. (notes: 1, account: "+account(keyOf("acme"))+")")
		b.says(t, "list", `{}`, "(notes: 0, account: "+account(keyOf("borealis"))+")")
		b.says(t, "add", `{"text": "of borealis"}`, "(notes: 1,")
		a.says(t, "list", `{}`, "of acme (notes: 1,")
		if of, _ := keptNotes(t, s, acme); of != `["of acme"]` {
			t.Errorf("acme's data is %s", of)
		}
		if of, _ := keptNotes(t, s, borealis); of != `["of borealis"]` {
			t.Errorf("borealis's data is %s", of)
		}
	})
	t.Run("tokens and sessions", func(t *testing.T) {
		for name, tt := range map[string]struct {
			at, session string
			want        int
		}{
			"its own":                     {"borealis", b.session.ID(), 200},
			"the other's address":         {"acme", "", 401},
			"the other's session, there":  {"acme", a.session.ID(), 401},
			"its session, there":          {"acme", b.session.ID(), 401},
			"the other's session, here":   {"borealis", a.session.ID(), 404},
			"no tenant's address":         {"nobody", b.session.ID(), 401},
			"an address that is a path":   {"../acme", a.session.ID(), 401},
			"an address with the other's": {"borealis/../acme", a.session.ID(), 401},
		} {
			t.Run(name, func(t *testing.T) {
				if got, err := b.attempt(t.Context(), s.url(tt.at), tt.session); err != nil || got != tt.want {
					t.Errorf("status %d, %v; want %d", got, err, tt.want)
				}
			})
		}
		if _, err := connect(t.Context(), s.url("acme"), b.token); err == nil {
			t.Error("an agent of borealis is connected to acme's endpoint")
		}
		if _, known := acme.registry.LookupToken(b.token); known {
			t.Error("acme's registry knows the token of borealis")
		}
	})
	t.Run("arguments", func(t *testing.T) {
		for _, arguments := range []string{`{"tenant": "acme"}`, `{"task_id": "task-1"}`} {
			b.says(t, "list", arguments, "refused: ")
		}
		b.says(t, "list", `{}`, "of borealis (notes: 1, account: "+account(keyOf("borealis")))
	})
	t.Run("servers and tools", func(t *testing.T) {
		for _, of := range []*tenant{acme, borealis} {
			servers := of.clients.Servers()
			if len(servers) != 1 || servers[0].ID.Instance != of.instance("notes") {
				t.Errorf("%s has the servers %v", of.name, servers)
			}
			for _, tool := range of.clients.Tools() {
				if tool.Server.Instance.Tenant != of.name {
					t.Errorf("%s has %s of %s", of.name, tool.Name, tool.Server.Instance.Tenant)
				}
			}
		}
	})
	t.Run("the end of a task", func(t *testing.T) {
		borealis.end("task-1")
		if got, err := b.attempt(t.Context(), s.url("borealis"), b.session.ID()); err != nil || got != 401 {
			t.Errorf("status %d, %v after the task has ended", got, err)
		}
		a.says(t, "list", `{}`, "of acme")
	})
}

// TestNoKey: a tenant that has entrusted nothing has no key, also where others
// have entrusted one for the same plugin. [R8]
func TestNoKey(t *testing.T) {
	s, _, _ := begin(t)
	v10, _ := versions(t)
	third, err := s.admit("third")
	if err != nil {
		t.Fatal(err)
	}
	if err := third.install(t.Context(), v10); err != nil {
		t.Fatal(err)
	}
	work(t, s, third).says(t, "list", `{}`, "account: none")
	if _, err := s.admit("third"); err == nil {
		t.Error("there are two tenants of one name")
	}
}

// TestUpdate: an update keeps the tenant's data and the connections of its agents,
// and is its own: nobody else gets the new version. [E3]
func TestUpdate(t *testing.T) {
	s, acme, borealis := begin(t)
	_, v11 := versions(t)
	a, b := work(t, s, acme), work(t, s, borealis)
	a.says(t, "add", `{"text": "stays"}`, "Noted.")
	before := acme.installed["notes"].Dir()
	for range 2 { // the second time nothing is new
		if err := acme.install(t.Context(), v11); err != nil {
			t.Fatal(err)
		}
	}
	a.sees(t, "add", "last", "list")
	a.says(t, "last", `{}`, "stays (notes: 1, account: "+account(keyOf("acme")))
	b.sees(t, "add", "list")
	b.says(t, "last", `{}`, "error: unknown tool")
	if _, err := os.Stat(before); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old version is still there: %v", err)
	}
}

// TestUninstall: what one tenant removes is gone, with its data, and the other's is
// as it was. [E3]
func TestUninstall(t *testing.T) {
	s, acme, borealis := begin(t)
	v10, _ := versions(t)
	a, b := work(t, s, acme), work(t, s, borealis)
	a.says(t, "add", `{"text": "stays"}`, "Noted.")
	b.says(t, "add", `{"text": "goes"}`, "Noted.")
	if err := borealis.uninstall("notes"); err != nil {
		t.Fatal(err)
	}
	b.sees(t)
	b.says(t, "list", `{}`, "error: unknown tool")
	if _, kept := keptNotes(t, s, borealis); kept {
		t.Error("the data is still there")
	}
	if packages, err := os.ReadDir(s.packages()); err != nil || len(packages) != 1 {
		t.Errorf("the packages are %v, %v", packages, err)
	}
	a.says(t, "list", `{}`, "stays (notes: 1,")

	if err := borealis.install(t.Context(), v10); err != nil {
		t.Fatal(err)
	}
	b.says(t, "list", `{}`, "(notes: 0, account: none")
}

// TestAuthorize: a grant that was minted for the wrong tenant, by a mistake of the
// host, and one whose task or tenant is not what it was, can list and not call, and
// the plugin is not asked. [K5]
func TestAuthorize(t *testing.T) {
	s, acme, _ := begin(t)
	a := work(t, s, acme)
	for name, grant := range map[string]mcpserver.Grant{
		"of another tenant": {Identity: mcpserver.Identity{Task: "task-1", Surface: surface}, Labels: map[string]string{labelTenant: "borealis"}},
		"of no tenant":      {Identity: mcpserver.Identity{Task: "task-1", Surface: surface}},
		"of another task":   {Identity: mcpserver.Identity{Task: "task-2", Surface: surface}, Labels: map[string]string{labelTenant: "acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			minted, err := acme.registry.Mint(grant)
			if err != nil {
				t.Fatal(err)
			}
			wrong := connected(t, s, acme, minted)
			wrong.sees(t, "add", "list")
			wrong.says(t, "add", `{"text": "no"}`, "refused: ")
		})
	}
	acme.suspend(true)
	a.says(t, "add", `{"text": "no"}`, "refused: The account is suspended.")
	acme.suspend(false)
	a.says(t, "add", `{"text": "yes"}`, "Noted. (notes: 1,")
}

// TestConsent: no program is started but those of what the tenant has installed,
// and none that asks for code to be loaded into it. [R2]
func TestConsent(t *testing.T) {
	_, acme, borealis := begin(t)
	id := mcpclient.ServerID{Instance: acme.instance("notes"), Plugin: "notes", Server: "notes"}
	if err := acme.consent(t.Context(), mcpclient.ConsentRequest{ID: id}); err != nil {
		t.Error(err)
	}
	if borealis.consent(t.Context(), mcpclient.ConsentRequest{ID: id}) == nil {
		t.Error("borealis starts a server of acme")
	}
	id.Instance, id.Plugin = acme.instance("other"), "other"
	if acme.consent(t.Context(), mcpclient.ConsentRequest{ID: id}) == nil {
		t.Error("what is not installed is started")
	}
	loads := plugin.Draft{
		Manifest: plugin.Manifest{Name: "loads"},
		Servers: []plugin.ServerDraft{{Name: "s", Type: plugin.TransportStdio, Stdio: plugin.Stdio{
			Command: "true", Env: map[string]string{"LD_PRELOAD": "./evil.so"},
		}}},
	}
	pkg, err := loads.Build(t.Context(), plugin.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := acme.install(t.Context(), pkg); !errors.Is(err, mcpclient.ErrNotAllowed) {
		t.Errorf("a program that loads code is installed: %v", err)
	}
}

// TestScene: the program shows that, says no token and no key, and leaves neither
// files, processes nor goroutines.
func TestScene(t *testing.T) {
	versions(t) // outside of the directory that is looked at
	temp := temporary(t)
	before := goleak.IgnoreCurrent()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), nil, &stdout, &stderr); status != statusOK || stderr.Len() > 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	rest := stdout.String()
	for _, want := range []string{
		"acme      installs notes 1.0.0: its server is connected",
		"borealis  installs notes 1.0.0: its server is connected",
		"borealis  sees mcp__notes__notes__add, mcp__notes__notes__list\n",
		"acme      < Noted. (notes: 1, account: ",
		"borealis  < (notes: 0, account: ",
		"at Acme's address: 401 Unauthorized",
		"at its own address: 404 Not Found",
		"at an address of nobody: 401 Unauthorized",
		"borealis  < refused: ",
		"from 1.0.0 to 1.1.0: server notes is changed: args",
		"acme      sees mcp__notes__notes__add, mcp__notes__notes__last, mcp__notes__notes__list\n",
		"acme      < ship on Friday (notes: 1, ",
		"borealis  sees mcp__notes__notes__add, mcp__notes__notes__list\n",
		"borealis  < refused: The account is suspended.",
		"borealis  uninstalls notes: the service keeps data of 1 installations",
		"borealis  sees no tools",
		"acme      < ship on Friday (notes: 1, ",
		"acme      uninstalls notes: the service keeps data of 0 installations",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing, or not in its place, in\n%s", want, &stdout)
		}
		rest = after
	}
	if strings.Contains(stdout.String(), "plugberth_") {
		t.Errorf("a token is shown:\n%s", &stdout)
	}
	nothingLeft(t, temp, before)
}

// TestInterrupted: nothing stays behind either where the program is ended early or
// cannot write.
func TestInterrupted(t *testing.T) {
	versions(t)
	temp := temporary(t)
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := 0
	out := writerFunc(func(p []byte) (int, error) {
		if lines++; lines == 6 {
			cancel() // both servers run, an agent is at work
		}
		return len(p), nil
	})
	if err := play(ctx, out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	full := errors.New("full")
	if err := play(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full })); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, temp, before)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// temporary makes a directory for all temporary files of the test.
func temporary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	return dir
}

func nothingLeft(t *testing.T, temp string, before goleak.Option) {
	t.Helper()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// Where the system shows the program of each process, none is one of here.
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if program, err := os.Readlink(link); err == nil && strings.HasPrefix(program, temp) {
			t.Errorf("%s still runs", program)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		arg    string
		status int
	}{{"-h", statusOK}, {"-x", statusFailed}, {"extra", statusFailed}} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{tt.arg}, &stdout, &stderr); status != tt.status || stdout.Len() > 0 || !strings.Contains(stderr.String(), "usage: multitenant") {
			t.Errorf("%s: status %d, %q, %q", tt.arg, status, &stdout, &stderr)
		}
	}
}
