package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain makes the test binary the MCP server of the test's packages: it is
// started again with this argument.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "serve-mcp") {
		if slices.Contains(os.Args, "lock-data") {
			lockData()
		}
		if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// lockData leaves a directory in the server's data that nobody can write to.
func lockData() {
	dir := filepath.Join(os.Getenv("PLUGIN_DATA"), "locked")
	err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600), os.Chmod(dir, 0o500))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newServer() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	srv.AddTool(&mcp.Tool{Name: "echo", Description: "Says\x1b[31m it again", InputSchema: object}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: "you said " + string(req.Params.Arguments)}},
			StructuredContent: map[string]any{"ok": true},
		}, nil
	})
	srv.AddTool(&mcp.Tool{Name: "fail", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no\u202e"}}}, nil
	})
	return srv
}

// writePlugin writes a package with these entries of mcp.json and the test
// binary as bin/server.
func writePlugin(t *testing.T, name, entries string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{
		"plugin.json": []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "` + name + `"}`),
		"mcp.json":    []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {` + entries + `}}`),
		program:       binary,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var program = map[bool]string{false: "bin/server", true: "bin/server.exe"}[runtime.GOOS == "windows"]

var stdioEntry = `{"type": "stdio", "command": "./` + program + `", "args": ["serve-mcp"]}`

func connectJSON(t *testing.T, args ...string) (docs []document, raw, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"-json"}, args...), &out, &errs)
	for line := range strings.Lines(out.String()) {
		var d struct {
			Servers []serverDoc `json:"servers"`
			Calls   []struct {
				callDoc
				Content []map[string]any `json:"content"`
			} `json:"calls"`
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		doc := document{Servers: d.Servers}
		for _, c := range d.Calls {
			for _, part := range c.Content {
				text, _ := part["text"].(string)
				c.callDoc.Content = append(c.callDoc.Content, &mcp.TextContent{Text: text})
			}
			doc.Calls = append(doc.Calls, c.callDoc)
		}
		docs = append(docs, doc)
	}
	return docs, out.String(), errs.String(), status
}

func textIn(c callDoc) string { return c.Content[0].(*mcp.TextContent).Text }

func TestJSON(t *testing.T) {
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil))
	defer ts.Close()
	dir := writePlugin(t, "demo", `
		"program": `+stdioEntry+`,
		"remote": {"type": "streamable-http", "url": "`+ts.URL+`"},
		"gone": {"type": "sse", "url": "http://127.0.0.1:1/"},
		"wrong": {"type": "stdio"}`)

	docs, raw, stderr, status := connectJSON(t, "-allow-stdio", "-data", t.TempDir(),
		"-call", `mcp__demo__program__echo={"a": 1}`, "-call", "all:fail", "-call", "mcp__demo__none={}", dir)
	if len(docs) != 1 || status != statusFailed || stderr != "" {
		t.Fatalf("status %d, %d documents, stderr %q", status, len(docs), stderr)
	}
	want := map[string]string{"program": "connected", "remote": "connected", "gone": "failed", "wrong": "invalid"}
	var order []string
	for _, s := range docs[0].Servers {
		order = append(order, s.Server)
		if s.Status != want[s.Server] || s.Plugin != "demo" {
			t.Errorf("%s: %s %s", s.Server, s.Status, s.Error)
		}
		connected := s.Status == "connected"
		if connected != (s.Error == "") || connected != (s.ProtocolVersion != "") || connected != (len(s.Tools) == 2) {
			t.Errorf("%+v", s)
		}
	}
	if strings.Join(order, " ") != "program remote gone wrong" {
		t.Errorf("order %v", order)
	}
	if tool := docs[0].Servers[0].Tools[0]; tool != (toolDoc{"mcp__demo__program__echo", "echo"}) {
		t.Errorf("tool %+v", tool)
	}
	calls := docs[0].Calls
	if len(calls) != 4 {
		t.Fatalf("calls %+v", calls)
	}
	if c := calls[0]; c.Error != "" || c.IsError || textIn(c) != `you said {"a":1}` || c.StructuredContent == nil {
		t.Errorf("the first call: %+v", c)
	}
	if calls[1].Tool != "mcp__demo__program__fail" || calls[2].Tool != "mcp__demo__remote__fail" || !calls[1].IsError || !calls[2].IsError {
		t.Errorf("all:fail: %+v", calls[1:3])
	}
	if c := calls[3]; c.Tool != "mcp__demo__none" || c.Error == "" {
		t.Errorf("a tool that is not there: %+v", c)
	}
	if strings.ContainsAny(raw, "\x1b\u202e") {
		t.Errorf("it acts on a terminal: %q", raw)
	}
	if !strings.HasPrefix(raw, `{"servers":[{"plugin":"demo","server":"program","type":"stdio","status":"connected","error":"","protocolVersion":"`) ||
		!strings.Contains(raw, `"calls":[{"tool":"mcp__demo__program__echo","isError":false,"content":[{"type":"text","text":`) {
		t.Errorf("the order of the keys: %s", raw)
	}
}

func TestExitStatus(t *testing.T) {
	good := writePlugin(t, "good", `"s": `+stdioEntry)
	none := writePlugin(t, "none", ``)
	rejected := writePlugin(t, "Not A Name", ``)
	missing := filepath.Join(t.TempDir(), "missing")
	for name, tt := range map[string]struct {
		args   []string
		status int
		docs   int
	}{
		"all connected":            {[]string{"-allow-stdio", good}, statusOK, 1},
		"programs are not allowed": {[]string{good}, statusOK, 1},
		"two plugins":              {[]string{"-allow-stdio", good, none}, statusOK, 2},
		"the same one twice":       {[]string{"-allow-stdio", good, good}, statusOK, 2},
		"a rejected one":           {[]string{"-allow-stdio", rejected, good}, statusFailed, 2},
		"one that is missing":      {[]string{"-allow-stdio", missing, good}, statusUnable, 1},
		"a tool that failed":       {[]string{"-allow-stdio", "-call", "mcp__good__s__fail", good}, statusOK, 1},
		"a call without a tool":    {[]string{"-allow-stdio", "-call", "mcp__good__s__x={}", good}, statusFailed, 1},
		"no path":                  {nil, statusUnable, 0},
		"no object":                {[]string{"-call", "x=[]", good}, statusUnable, 0},
		"no name":                  {[]string{"-call", "={}", good}, statusUnable, 0},
		"no time":                  {[]string{"-timeout", "0s", good}, statusUnable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			docs, _, stderr, status := connectJSON(t, tt.args...)
			if status != tt.status || len(docs) != tt.docs || (status == statusUnable) != (stderr != "") && name != "a rejected one" {
				t.Errorf("status %d, %d documents, stderr %q", status, len(docs), stderr)
			}
		})
	}
}

// TestDisabled: a server that the host does not allow is no failure, and says
// what would allow it.
func TestDisabled(t *testing.T) {
	dir := writePlugin(t, "demo", `"s": `+stdioEntry)
	docs, _, _, _ := connectJSON(t, dir)
	if s := docs[0].Servers[0]; s.Status != "disabled" || !strings.Contains(s.Error, "-allow-stdio") {
		t.Errorf("%+v", s)
	}
}

func TestText(t *testing.T) {
	dir := writePlugin(t, "demo", `"s": `+stdioEntry+`, "gone": {"type": "sse", "url": "http://127.0.0.1:1/"}, "wrong": {"type": "stdio"}`)
	var out, errs bytes.Buffer
	run(t.Context(), []string{"-allow-stdio", "-call", "mcp__demo__s__echo", "-call", "all:fail", dir}, &out, &errs)
	for _, want := range []string{
		"demo  ", "connected  s  stdio, MCP ", "mcp__demo__s__echo  Says[31m it again", "failed     gone", "invalid    wrong",
		"result of mcp__demo__s__echo", "you said {}", `{"ok":true}`, "error of mcp__demo__s__fail", `no\u202e`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") || errs.Len() > 0 {
		t.Errorf("not for a terminal: %q %q", &out, &errs)
	}
}

// TestDataDirectory: what a plugin keeps goes below -data and nowhere else.
func TestDataDirectory(t *testing.T) {
	dir, data := writePlugin(t, "demo", `"s": `+stdioEntry), t.TempDir()
	if _, _, _, status := connectJSON(t, "-allow-stdio", "-data", data, dir); status != statusOK {
		t.Fatalf("status %d", status)
	}
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
}

// TestNoDataDirectory: without -data nothing of it stays behind, not even what a
// server has made unwritable. [E3]
func TestNoDataDirectory(t *testing.T) {
	dir := writePlugin(t, "demo", `"s": {"type": "stdio", "command": "./`+program+`", "args": ["serve-mcp", "lock-data"]}`)
	rejected := writePlugin(t, "Not A Name", ``)
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	docs, _, stderr, status := connectJSON(t, "-allow-stdio", dir, rejected)
	if status != statusFailed || docs[0].Servers[0].Status != "connected" || strings.Count(stderr, "\n") != 1 {
		t.Fatalf("status %d, %+v, stderr %q", status, docs, stderr)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInterrupted(t *testing.T) {
	dir := writePlugin(t, "demo", `"s": `+stdioEntry)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"-json", "-allow-stdio", dir}, &out, &errs); status != statusUnable || out.Len() > 0 || errs.Len() == 0 {
		t.Errorf("status %d, %q, %q", status, &out, &errs)
	}
}
