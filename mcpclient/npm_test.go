//go:build unix

package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// The versions that the test runs.
const (
	npmEverything = "@modelcontextprotocol/server-everything@2026.8.31"
	npmFilesystem = "@modelcontextprotocol/server-filesystem@2026.8.31"
	npmMemory     = "@modelcontextprotocol/server-memory@2026.8.31"
)

// TestNPMServers runs servers that were not written here, by packages whose
// mcp.json names them with npx. npx leaves its server as a child, so this shows
// as well that closing ends a whole group. It needs Node and a package registry
// and runs where PLUGBERTH_NPM is set.
func TestNPMServers(t *testing.T) { // [R1] [R4]
	if os.Getenv("PLUGBERTH_NPM") == "" {
		t.Skip("PLUGBERTH_NPM is not set: the servers of npm are not run")
	}
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Fatal(err)
	}
	port := startEverything(t, npx, "streamableHttp")
	ssePort := startEverything(t, npx, "sse")

	files := t.TempDir()
	if files, err = filepath.EvalSymlinks(files); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "hello.txt"), []byte("hello from a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := writePackage(t, map[string]any{
		"everything": map[string]any{"type": "stdio", "command": "npx", "args": []string{"-y", npmEverything, "stdio"}},
		"files":      map[string]any{"type": "stdio", "command": "npx", "args": []string{"-y", npmFilesystem, files}},
		"memory": map[string]any{"type": "stdio", "command": "npx", "args": []string{"-y", npmMemory},
			"env": map[string]string{"MEMORY_FILE_PATH": "${PLUGIN_DATA}/memory.jsonl"}},
		"http": map[string]any{"type": "streamable-http", "url": fmt.Sprintf("http://localhost:%d/mcp", port)},
		"sse":  map[string]any{"type": "sse", "url": fmt.Sprintf("http://localhost:%d/sse", ssePort)},
	})
	p, err := plugin.Load(t.Context(), dir, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dataRoot := t.TempDir()
	h, err := mcpclient.NewHost(mcpclient.HostOptions{
		ShortNames: true,
		Options: mcpclient.Options{
			Environ:        npmEnviron(),
			Consent:        func(context.Context, mcpclient.ConsentRequest) error { return nil },
			DataRoot:       dataRoot,
			Egress:         mcpclient.DesktopEgress(),
			ConnectTimeout: 2 * time.Minute,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	instance := plugin.Instance{ID: "npm"}
	if err := h.Add(instance, p); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range h.Servers() {
		if s.Status != mcpclient.StatusConnected || s.Err != nil || s.Tools == 0 || len(s.Dropped) > 0 {
			t.Errorf("%v: %v %v, %d tools, dropped %v", s.ID, s.Status, s.Err, s.Tools, s.Dropped)
		}
		t.Logf("%v: MCP %s, %s %s, %d tools", s.ID, s.Info.ProtocolVersion, s.Info.Name, s.Info.Version, s.Tools)
	}

	call := func(name, arguments string) *mcp.CallToolResult {
		t.Helper()
		res, err := h.Call(t.Context(), name, json.RawMessage(arguments), mcpclient.CallOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return &mcp.CallToolResult{}
		}
		if res.IsError {
			t.Errorf("%s: %s", name, mcpclient.ResultText(name, res, 500))
		}
		return res
	}
	for _, server := range []string{"everything", "http", "sse"} {
		name := "mcp__" + server + "__echo"
		if text := mcpclient.ResultText(name, call(name, `{"message": "grüße"}`), 0); !strings.Contains(text, "grüße") {
			t.Errorf("%s answered %s", name, text)
		}
	}
	name := "mcp__files__read_text_file"
	if text := mcpclient.ResultText(name, call(name, `{"path": "`+files+`/hello.txt"}`), 0); !strings.Contains(text, "hello from a file") {
		t.Errorf("%s answered %s", name, text)
	}
	call("mcp__memory__create_entities", `{"entities": [{"name": "plugberth", "entityType": "library", "observations": ["remembers"]}]}`)
	name = "mcp__memory__read_graph"
	if text := mcpclient.ResultText(name, call(name, `{}`), 0); !strings.Contains(text, "remembers") {
		t.Errorf("%s answered %s", name, text)
	}
	data, err := plugin.DataDir(dataRoot, instance)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(data, "memory.jsonl")); err != nil || !bytes.Contains(text, []byte("remembers")) {
		t.Errorf("nothing in PLUGIN_DATA: %v", err)
	}

	if n := len(processesOf(t, dir)); n < 3 {
		t.Errorf("%d processes run, and at least three were started", n)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// npmEnviron is the base environment with what reaching a registry may need on
// this machine, which a host adds for the programs that it allows.
func npmEnviron() []string {
	env := mcpclient.BaseEnviron()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(strings.ToLower(v), "=")
		if name == "node_extra_ca_certs" || strings.HasPrefix(name, "npm_config_") || strings.HasSuffix(name, "_proxy") {
			env = append(env, v)
		}
	}
	return env
}

// startEverything starts a server that the test's package connects to, and
// returns its port.
func startEverything(t *testing.T, npx, transport string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(npx, "-y", npmEverything, transport)
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(2 * time.Minute)
	for {
		resp, err := http.Get(fmt.Sprintf("http://localhost:%d/", port))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return port
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen: %s", &stderr)
		}
		time.Sleep(50 * time.Millisecond) // another program: there is nothing to wait on
	}
}

// writePackage writes a package with these servers and returns its resolved
// root.
func writePackage(t testing.TB, servers map[string]any) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": servers,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plugin.json": `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "test"}`,
		"mcp.json":    string(config),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// processesOf returns the processes whose environment has dir as PLUGIN_ROOT.
func processesOf(t testing.TB, dir string) []string {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err == nil && bytes.Contains(env, []byte("PLUGIN_ROOT="+dir+"\x00")) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			found = append(found, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}
