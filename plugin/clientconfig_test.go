package plugin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

// allow lets every program start.
func allow(*plugin.Server, *plugin.LaunchPlan) bool { return true }

func TestClientConfig(t *testing.T) { // [C9] [E4]
	dir := write(t, map[string]string{
		"bin/server": "x",
		"mcp.json": fill.Replace(servers(
			`"local":{"type":"stdio","command":"./bin/server","args":["--root","${PLUGIN_ROOT}","a$b$","costs $5"],"env":{"CACHE":"${PLUGIN_DATA}/c"},"cwd":"${PLUGIN_ROOT}/bin"}`,
			`"bare":{"type":"stdio","command":"node","args":["%Y%m%d","50%","a%20%C3%A9b","$5"]}`,
			`"refused":{"type":"stdio","command":"rm"}`,
			`"http":{"type":"streamable-http","url":"https://example.com/mcp","headers":{"X-Key":"secret"}}`,
			`"old sse":{"type":"sse","url":"http://localhost:1/sse%E4abc%20"}`,
			`"steals":{"type":"streamable-http","url":"https://example.com/mcp","headers":{"X-Key":"${HOME_TOKEN}"}}`,
			`"steals too":{"type":"sse","url":"https://example.com/?k=$TOKEN"}`,
			`"file":{"type":"stdio","command":"node","args":["{file:~/.ssh/id}"]}`,
			`"windows":{"type":"stdio","command":"node","env":{"A":"x%TEMP%"}}`,
			`"invalid":{"type":"stdio"}`)),
	})
	p := mustLoad(t, dir)
	data := filepath.Join(t.TempDir(), "data")
	asked := map[string]string{}
	opts := plugin.ClientConfigOptions{
		DataDir: data,
		Allow: func(s *plugin.Server, plan *plugin.LaunchPlan) bool {
			asked[s.Name()] = plan.Digest()
			plan.Args, plan.Env = []string{"changed"}, nil // it belongs to the host
			return s.Name() != "refused"
		},
	}
	c := p.ClientConfig(opts)
	want := map[string]plugin.ClientServer{
		"demo_bare":                          {Type: "stdio", Command: "node", Args: []string{"%Y%m%d", "50%", "a%20%C3%A9b", "$5"}, Env: map[string]string{"PLUGIN_ROOT": dir, "PLUGIN_DATA": data}, Cwd: dir},
		"demo_http":                          {Type: "http", URL: "https://example.com/mcp", Headers: map[string]string{"X-Key": "secret"}},
		plugin.ClientName("demo", "old sse"): {Type: "sse", URL: "http://localhost:1/sse%E4abc%20"},
	}
	if c.Plugin != "demo" || fmt.Sprint(slices.Sorted(maps.Keys(c.Servers))) != fmt.Sprint(slices.Sorted(maps.Keys(want))) {
		t.Fatalf("servers %v", slices.Sorted(maps.Keys(c.Servers)))
	}
	for name, w := range want {
		got, err := json.Marshal(c.Servers[name])
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(w); err != nil || string(got) != string(text) {
			t.Errorf("%s: %s, want %s", name, got, text)
		}
	}
	var skipped []string
	for _, s := range c.Skipped {
		switch {
		case errors.Is(s.Err, plugin.ErrPlaceholder):
			skipped = append(skipped, s.Name+": placeholder")
		case errors.Is(s.Err, plugin.ErrNotAllowed):
			skipped = append(skipped, s.Name+": not allowed")
		default:
			t.Errorf("%s: %v", s.Name, s.Err)
		}
		if strings.Contains(s.Err.Error(), "HOME") || strings.Contains(s.Err.Error(), "TOKEN") || strings.Contains(s.Err.Error(), "ssh") {
			t.Errorf("the error quotes a value: %v", s.Err)
		}
	}
	if !slices.Equal(skipped, []string{"local: placeholder", "refused: not allowed", "steals: placeholder", "steals too: placeholder", "file: placeholder", "windows: placeholder"}) {
		t.Errorf("skipped %q", skipped)
	}
	if plan, err := p.LaunchPlan("bare", data); err != nil || asked["bare"] != plan.Digest() {
		t.Errorf("asked %v, %v", asked, err)
	}

	opts.Literal = true
	c = p.ClientConfig(opts)
	local := c.Servers["demo_local"]
	if local.Command != filepath.Join(dir, "bin", "server") || !slices.Equal(local.Args, []string{"--root", dir, "a$b$", "costs $5"}) ||
		local.Env["CACHE"] != data+"/c" || local.Cwd != filepath.Join(dir, "bin") || len(c.Skipped) != 1 {
		t.Errorf("%+v %q", c.Skipped, local.Args)
	}

	// Without leave no program is there, and without names none is at all.
	c = p.ClientConfig(plugin.ClientConfigOptions{})
	for _, s := range c.Servers {
		if s.Type == "stdio" {
			t.Errorf("%+v", c.Servers)
		}
	}
	c = p.ClientConfig(plugin.ClientConfigOptions{Literal: true, Name: func(_, s string) string {
		return map[string]string{"http": "same", "steals": "same", "old sse": "\xff"}[s]
	}})
	if len(c.Servers) != 1 || c.Servers["same"].Headers["X-Key"] != "secret" {
		t.Errorf("%v", slices.Collect(maps.Keys(c.Servers)))
	}
	names := 0
	for _, s := range c.Skipped {
		if errors.Is(s.Err, plugin.ErrClientName) {
			names++
		}
	}
	if names != 3 {
		t.Errorf("%+v", c.Skipped)
	}
}

func TestClientConfigOfWhatIsNotEnabled(t *testing.T) { // [C9]
	files := map[string]string{"mcp.json": fill.Replace(servers(`"a":{"type":"stdio","command":"node"}`, `"b":{"type":"sse","url":"https://example.com"}`))}
	p := mustLoadFS(t, memory(files), plugin.Options{})
	c := p.ClientConfig(plugin.ClientConfigOptions{DataDir: t.TempDir(), Allow: allow})
	if len(c.Servers) != 1 || len(c.Skipped) != 1 || !errors.Is(c.Skipped[0].Err, plugin.ErrNoDirectory) {
		t.Errorf("%+v", c)
	}
	p = mustLoadFS(t, memory(files), plugin.Options{Unsupported: []plugin.Transport{plugin.TransportSSE}})
	c = p.ClientConfig(plugin.ClientConfigOptions{})
	if len(c.Servers) != 0 || len(c.Skipped) != 2 || !errors.Is(c.Skipped[1].Err, plugin.ErrNotEnabled) {
		t.Errorf("%+v", c)
	}
	if text, err := json.Marshal(c); err != nil || string(text) != `{"mcpServers":{}}` {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := json.Marshal(&plugin.ClientConfig{}); err != nil || string(text) != `{"mcpServers":{}}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestClientServerShowsNoValues(t *testing.T) { // [R8]
	s := plugin.ClientServer{Type: "http", URL: "https://secret", Headers: map[string]string{"A": "secret"}, Env: map[string]string{"B": "secret"}, Args: []string{"secret"}, Command: "secret"}
	config := &plugin.ClientConfig{Servers: map[string]plugin.ClientServer{"x": s}}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "server", s)
	for _, text := range []string{s.String(), fmt.Sprintf("%v %+v %#v %s", s, s, s, s), fmt.Sprintf("%+v %#v", *config, *config), log.String()} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "http server") {
			t.Error(text)
		}
	}
}

func TestClientName(t *testing.T) {
	for _, c := range []struct{ plugin, server, want string }{
		{"demo", "files", "demo_files"},
		{"a-b", "c_D-9", "a-b_c_D-9"},
		{"a.b", "c", "a-b_c-"},
		{"demo", "my server", "demo_my-server-"},
		{"demo", "日本", "demo_---"},
		{"demo", "", "demo_-"},
		{"demo", strings.Repeat("x", 59), "demo_" + strings.Repeat("x", 59)},
		{"demo", strings.Repeat("x", 60), "demo_" + strings.Repeat("x", 48) + "-"},
	} {
		got := plugin.ClientName(c.plugin, c.server)
		if len(got) > 64 || strings.HasSuffix(c.want, "-") && (!strings.HasPrefix(got, c.want) || len(got) != len(c.want)+10) || !strings.HasSuffix(c.want, "-") && got != c.want {
			t.Errorf("%q, %q: %q", c.plugin, c.server, got)
		}
	}
	if plugin.ClientName("a.b", "c") == plugin.ClientName("a-b", "c") || plugin.ClientName("a", "x y") == plugin.ClientName("a", "x-y") {
		t.Error("two servers have one name")
	}
}

// config is a configuration of a plugin with those servers, each with a URL.
func config(name string, servers map[string]string) *plugin.ClientConfig {
	c := &plugin.ClientConfig{Plugin: name, Servers: map[string]plugin.ClientServer{}}
	for n, url := range servers {
		c.Servers[n] = plugin.ClientServer{Type: "http", URL: url, Headers: map[string]string{"Authorization": "Bearer x"}}
	}
	return c
}

func changes(c plugin.ClientConfigChange) string {
	return strings.Join([]string{
		"written " + strings.Join(c.Written, ","), "unchanged " + strings.Join(c.Unchanged, ","),
		"removed " + strings.Join(c.Removed, ","), "kept " + strings.Join(c.Kept, ","),
	}, "; ")
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func entries(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(dir, p); relErr == nil && rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// clientURLs returns the URL of each entry of a file.
func clientURLs(t testing.TB, path string) map[string]string {
	t.Helper()
	var doc struct {
		McpServers map[string]plugin.ClientServer `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(readFile(t, path)), &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, s := range doc.McpServers {
		out[name] = s.URL
	}
	return out
}

// TestClientConfigFile: a full round leaves the file byte for byte as before.
func TestClientConfigFile(t *testing.T) {
	for name, text := range map[string]string{
		"no file":         "",
		"empty object":    "{}",
		"blanks":          " {\n\n }\n",
		"other members":   "{\"theme\": \"dark\",\n \"n\": 1.50}\n",
		"empty servers":   "{\n  \"mcpServers\": {},\n  \"x\": [ ]\n}",
		"servers":         "{\n\t\"mcpServers\": {\n\t\t\"mine\": { \"command\": \"x\" },\n\t\t\"other\": {}\n\t},\n\t\"k\": \"\\u00e9\"\n}\n",
		"one line":        `{"mcpServers":{"mine":{"command":"x"}}}`,
		"CRLF":            "{\r\n  \"mcpServers\": {\r\n    \"mine\": {}\r\n  }\r\n}\r\n",
		"null among them": `{"mcpServers":{"mine":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			ws := t.TempDir()
			file := plugin.ClientConfigFile{Workspace: ws, Path: "a/b/mcp.json"}
			path := filepath.Join(ws, "a", "b", "mcp.json")
			if text != "" {
				writeTo(t, ws, map[string]string{"a/b/mcp.json": text})
			}
			before := entries(t, ws)
			do := func(c plugin.ClientConfigChange, err error, want string) {
				t.Helper()
				if err != nil || changes(c) != want {
					t.Errorf("%v: %s, want %s", err, changes(c), want)
				}
			}
			c, err := file.Write(config("p", map[string]string{"a": "1", "b": "2"}))
			do(c, err, "written a,b; unchanged ; removed ; kept ")
			was := readFile(t, path)
			c, err = file.Write(config("p", map[string]string{"a": "1", "b": "2"}))
			do(c, err, "written ; unchanged a,b; removed ; kept ")
			if readFile(t, path) != was {
				t.Error("nothing changed, but the file did")
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if info, err := os.Stat(path + ".plugberth"); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || strings.Contains(readFile(t, path+".plugberth"), "Bearer") {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			c, err = file.Write(config("q", map[string]string{"c": "3", "a": "other"}))
			do(c, err, "written c; unchanged ; removed ; kept a")
			c, err = file.Write(config("p", map[string]string{"a": "1", "b": "changed", "d": "4"}))
			do(c, err, "written b,d; unchanged a; removed ; kept ")
			c, err = file.Write(config("p", map[string]string{"b": "changed", "d": "4"}))
			do(c, err, "written ; unchanged b,d; removed a; kept ")
			got := clientURLs(t, path)
			delete(got, "mine")
			delete(got, "other")
			if !maps.Equal(got, map[string]string{"b": "changed", "c": "3", "d": "4"}) {
				t.Errorf("%q", got)
			}
			c, err = file.Remove("p")
			do(c, err, "written ; unchanged ; removed b,d; kept ")
			c, err = file.Remove("q")
			do(c, err, "written ; unchanged ; removed c; kept ")
			c, err = file.Remove("q")
			do(c, err, "written ; unchanged ; removed ; kept ")
			if got := entries(t, ws); !slices.Equal(got, before) {
				t.Errorf("%q, was %q", got, before)
			}
			if text != "" {
				if got := readFile(t, path); got != text {
					t.Errorf("%q, was %q", got, text)
				}
				if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
					t.Errorf("%v, %v", info.Mode(), err)
				}
			}
		})
	}
}

// TestClientConfigKeepsWhatOthersWrote: entries of the user, and ours once they
// were edited, are neither replaced nor removed.
func TestClientConfigKeepsWhatOthersWrote(t *testing.T) {
	ws := t.TempDir()
	file := plugin.ClientConfigFile{Workspace: ws, Path: ".mcp.json"}
	path := filepath.Join(ws, ".mcp.json")
	writeTo(t, ws, map[string]string{".mcp.json": `{"mcpServers":{"mine":{"url":"theirs"}}}`})
	c, err := file.Write(config("p", map[string]string{"mine": "ours", "a": "1", "b": "2", "c": "3"}))
	if err != nil || changes(c) != "written a,b,c; unchanged ; removed ; kept mine" {
		t.Errorf("%v: %s", err, changes(c))
	}
	// Somebody edits one, and another program writes the file in its own way.
	var doc map[string]map[string]map[string]any
	if err := json.Unmarshal([]byte(readFile(t, path)), &doc); err != nil {
		t.Fatal(err)
	}
	doc["mcpServers"]["a"]["url"] = "edited"
	doc["mcpServers"]["new"] = map[string]any{"command": "theirs"}
	text, err := json.MarshalIndent(doc, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = file.Write(config("p", map[string]string{"a": "1", "b": "2"}))
	if err != nil || changes(c) != "written ; unchanged b; removed c; kept a" {
		t.Errorf("%v: %s", err, changes(c))
	}
	c, err = file.Remove("p")
	if err != nil || changes(c) != "written ; unchanged ; removed b; kept " {
		t.Errorf("%v: %s", err, changes(c))
	}
	if got := clientURLs(t, path); !maps.Equal(got, map[string]string{"mine": "theirs", "a": "edited", "new": ""}) {
		t.Errorf("%q", got)
	}
	if got := entries(t, ws); !slices.Equal(got, []string{".mcp.json"}) {
		t.Errorf("%q", got)
	}
}

func TestClientConfigFileIsGone(t *testing.T) {
	ws := t.TempDir()
	file := plugin.ClientConfigFile{Workspace: ws, Path: ".mcp.json"}
	for _, next := range []func() (plugin.ClientConfigChange, error){
		func() (plugin.ClientConfigChange, error) { return file.Remove("p") },
		func() (plugin.ClientConfigChange, error) {
			if _, err := file.Write(config("p", map[string]string{"b": "1"})); err != nil {
				t.Fatal(err)
			}
			return file.Remove("p")
		},
	} {
		if _, err := file.Write(config("p", map[string]string{"a": "1"})); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(ws, ".mcp.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := next(); err != nil {
			t.Error(err)
		}
		if got := entries(t, ws); len(got) != 0 {
			t.Errorf("%q", got)
		}
	}
	if c, err := file.Write(config("p", nil)); err != nil || changes(c) != "written ; unchanged ; removed ; kept " {
		t.Errorf("%v: %s", err, changes(c))
	}
	if c, err := file.Write(nil); err != nil || len(entries(t, ws)) != 0 {
		t.Errorf("%v: %s", err, changes(c))
	}
}

// TestClientConfigFileRefuses: nothing is written where the file is not what it
// should be, or a link leads elsewhere.
func TestClientConfigFileRefuses(t *testing.T) { // [P1]
	for name, c := range map[string]struct {
		path  string
		files map[string]string
	}{
		"no path":               {"", nil},
		"the workspace":         {".", nil},
		"up":                    {"../mcp.json", nil},
		"absolute":              {"/tmp/mcp.json", nil},
		"hidden characters":     {"a\u202e.json", nil},
		"no JSON":               {"m.json", map[string]string{"m.json": "{"}},
		"empty":                 {"m.json", map[string]string{"m.json": ""}},
		"comments":              {"m.json", map[string]string{"m.json": "{\n  // mine\n}"}},
		"array":                 {"m.json", map[string]string{"m.json": "[]"}},
		"servers is an array":   {"m.json", map[string]string{"m.json": `{"mcpServers":[]}`}},
		"servers is null":       {"m.json", map[string]string{"m.json": `{"mcpServers":null}`}},
		"servers twice":         {"m.json", map[string]string{"m.json": `{"mcpServers":{},"mcpServers":{}}`}},
		"a server twice":        {"m.json", map[string]string{"m.json": `{"mcpServers":{"a":{},"a":{}}}`}},
		"link":                  {"m.json", map[string]string{"mine": "{}", "m.json": "-> mine"}},
		"dangling link":         {"m.json", map[string]string{"m.json": "-> mine"}},
		"directory":             {"m.json", map[string]string{"m.json/": ""}},
		"link before it":        {"a/m.json", map[string]string{"b/x": "x", "a": "-> b"}},
		"link further before":   {"a/c/m.json", map[string]string{"b/c/x": "x", "a": "-> b"}},
		"file before it":        {"a/m.json", map[string]string{"a": "x"}},
		"record is a link":      {"m.json", map[string]string{"mine": "x", "m.json.plugberth": "-> mine"}},
		"record is no JSON":     {"m.json", map[string]string{"m.json.plugberth": "{"}},
		"record with more":      {"m.json", map[string]string{"m.json.plugberth": `{"format":1,"mode":0,"entries":{}} {}`}},
		"record of the future":  {"m.json", map[string]string{"m.json.plugberth": `{"format":2,"mode":0,"entries":{}}`}},
		"record with text":      {"m.json", map[string]string{"m.json.plugberth": `{"format":1,"mode":0,"topGap":"\"x\":1","entries":{}}`}},
		"record with mode":      {"m.json", map[string]string{"m.json.plugberth": `{"format":1,"mode":2541,"entries":{}}`}},
		"temporary is a link":   {"m.json", map[string]string{"mine": "x", "m.json.plugberth-tmp": "-> mine"}},
		"record's is a link":    {"m.json", map[string]string{"mine": "x", "m.json.plugberth.plugberth-tmp": "-> mine"}},
		"members of the record": {"m.json", map[string]string{"m.json.plugberth": `{"format":1,"mode":0,"entries":{},"x":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			ws := t.TempDir()
			writeTo(t, ws, c.files)
			content := func() map[string]string {
				out := map[string]string{}
				for _, n := range entries(t, ws) {
					out[n] = ""
					if info, err := os.Stat(filepath.Join(ws, n)); err == nil && info.Mode().IsRegular() {
						out[n] = readFile(t, filepath.Join(ws, n))
					}
				}
				return out
			}
			before := content()
			change, err := plugin.ClientConfigFile{Workspace: ws, Path: c.path}.Write(config("p", map[string]string{"a": "1"}))
			if !errors.Is(err, plugin.ErrClientFile) || len(change.Written) > 0 || strings.Contains(err.Error(), "\u202e") {
				t.Errorf("%v: %s", err, changes(change))
			}
			if after := content(); !maps.Equal(after, before) {
				t.Errorf("%q, was %q", after, before)
			}
		})
	}
	if _, err := (plugin.ClientConfigFile{Path: "m.json"}).Write(config("p", map[string]string{"a": "1"})); !errors.Is(err, plugin.ErrClientFile) {
		t.Error(err)
	}
	gone := plugin.ClientConfigFile{Workspace: filepath.Join(t.TempDir(), "gone"), Path: "m.json"}
	if _, err := gone.Write(config("p", map[string]string{"a": "1"})); !errors.Is(err, plugin.ErrClientFile) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestClientConfigAfterAnInterruption: what a run that was killed left is
// completed by the next.
func TestClientConfigAfterAnInterruption(t *testing.T) {
	const text = `{"mcpServers":{"mine":{"url":"x"}}}`
	ws := t.TempDir()
	file := plugin.ClientConfigFile{Workspace: ws, Path: "m.json"}
	path := filepath.Join(ws, "m.json")
	record := path + ".plugberth"
	writeTo(t, ws, map[string]string{"m.json": text})
	write := func(url string) (string, string) {
		t.Helper()
		if _, err := file.Write(config("p", map[string]string{"a": url})); err != nil {
			t.Fatal(err)
		}
		return readFile(t, path), readFile(t, record)
	}
	oldFile, oldRecord := write("1")
	newFile, newRecord := write("2")
	var was, is struct {
		Entries map[string]struct{ SHA256 []string }
	}
	if json.Unmarshal([]byte(oldRecord), &was) != nil || json.Unmarshal([]byte(newRecord), &is) != nil {
		t.Fatal(oldRecord, newRecord)
	}
	both := strings.Replace(newRecord, `"`+is.Entries["a"].SHA256[0]+`"`, `"`+is.Entries["a"].SHA256[0]+`","`+was.Entries["a"].SHA256[0]+`"`, 1)
	for name, left := range map[string][2]string{
		"before the file":     {oldFile, both},
		"before the record":   {newFile, both},
		"before the removal":  {text, newRecord},
		"first, before it":    {text, both},
		"with a partial file": {oldFile, both},
	} {
		for _, then := range []string{"1", "2", "3", ""} {
			writeTo(t, ws, map[string]string{"m.json": left[0], "m.json.plugberth": left[1]})
			if name == "with a partial file" {
				writeTo(t, ws, map[string]string{"m.json.plugberth-tmp": "{\"mcp", "m.json.plugberth.plugberth-tmp": ""})
			}
			if then != "" {
				write(then)
				if got := clientURLs(t, path); !maps.Equal(got, map[string]string{"mine": "x", "a": then}) {
					t.Errorf("%s: %q", name, got)
				}
			}
			if c, err := file.Remove("p"); err != nil || len(c.Kept) > 0 {
				t.Errorf("%s: %v, %s", name, err, changes(c))
			}
			if got := entries(t, ws); readFile(t, path) != text || !slices.Equal(got, []string{"m.json"}) {
				t.Errorf("%s: %q, %q", name, readFile(t, path), got)
			}
		}
	}
}
