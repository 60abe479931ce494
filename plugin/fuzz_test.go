package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin/finding"
)

// seeds adds the documents of that name from the shared cases, where they lie
// beside the checkout.
func seeds(f *testing.F, name string) {
	f.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", "shared", "cases", "*.json"))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var c struct{ Files map[string]string }
		if err := json.Unmarshal(src, &c); err != nil {
			f.Fatal(err)
		}
		if text, ok := c.Files[name]; ok {
			f.Add([]byte(text))
		}
	}
}

const fuzzManifest = `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"a"}`

// checkLoad loads a package twice and checks what holds for every load.
func checkLoad(t *testing.T, files fstest.MapFS) *Plugin {
	t.Helper()
	opts := Options{Lint: true}
	p, err := LoadFS(context.Background(), files, opts)
	again, _ := LoadFS(context.Background(), files, opts)
	var list finding.List
	if err != nil {
		var rejected *RejectedError
		if !errors.As(err, &rejected) || len(rejected.Findings.AtLeast(finding.SeverityError)) == 0 || rejected.Error() == "" {
			t.Fatalf("error %v is no rejection with a reason", err)
		}
		list = rejected.Findings
	} else {
		list = p.Findings()
		if CheckName(p.Name()) != nil || p.Manifest().SpecVersion == "" {
			t.Fatalf("loaded with the name %q", p.Name())
		}
		for _, f := range list {
			if f.Boundary == finding.BoundaryPlugin {
				t.Fatalf("loaded with %v", f)
			}
		}
		if again == nil || !reflect.DeepEqual(list, again.Findings()) || len(p.servers) != len(again.servers) || !reflect.DeepEqual(p.skippedServers, again.skippedServers) {
			t.Fatal("two loads differ")
		}
	}
	line, column := 0, 0
	file := ""
	for _, f := range list {
		if _, ok := finding.Lookup(f.Code); !ok {
			t.Fatalf("%q is not in the table", f.Code)
		}
		if f.Message == "" || strings.ContainsFunc(f.String(), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e }) {
			t.Fatalf("%+v does not print", f)
		}
		if f.File != file {
			file, line, column = f.File, 0, 0
		}
		if f.Line < line || f.Line == line && f.Column < column {
			t.Fatalf("findings are not in document order: %v", list)
		}
		line, column = f.Line, f.Column
		if f.Line == 0 {
			continue
		}
		lines := strings.Split(string(files[f.File].Data), "\n")
		if f.Line > len(lines) || f.Column < 1 || f.Column > len(lines[f.Line-1])+1 {
			t.Fatalf("%v lies outside the file", f)
		}
	}
	if _, err := json.Marshal(list); err != nil {
		t.Fatal(err)
	}
	return p
}

func FuzzManifest(f *testing.F) {
	seeds(f, "plugin.json")
	for _, text := range []string{
		fuzzManifest, "", "{", "null", "\uFEFF{}", "\xff\xfe{\x00}\x00", `{"name":"a","name":1,"x":{"a":1,"a":"\ud800"}}`,
		`{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"a","author":{"name":1,"x":2},"keywords":["a",null],"extensions":{"com.a":1,"b":{}},"version":"v","homepage":"h","license":" "}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := checkLoad(t, fstest.MapFS{"plugin.json": {Data: text}})
		if p == nil {
			return
		}
		var v struct{ Extensions json.RawMessage }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(string(text), "\uFEFF")), &v); err != nil {
			t.Fatalf("encoding/json does not read what was accepted: %v", err)
		}
		for _, name := range p.Extensions() {
			if raw, ok := p.Extension(name); !ok || !json.Valid(raw) || raw[0] != '{' {
				t.Fatalf("extension %q = %s", name, raw)
			}
		}
	})
}

func FuzzMCP(f *testing.F) {
	seeds(f, "mcp.json")
	for _, text := range []string{
		"", "{", "[]", `{"mcpServers":null}`,
		`{"$schema":"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json","mcpServers":{"a":{"type":"stdio","command":"./bin/x","args":["",1],"env":{"":"\u0000","PLUGIN_ROOT":"x"},"cwd":"${PLUGIN_DATA}/.."},"a":1,"\ud800":{"type":"sse","url":"http://h#","headers":{"A":"1","a":" "}}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p := checkLoad(t, fstest.MapFS{"plugin.json": {Data: []byte(fuzzManifest)}, "mcp.json": {Data: text}, "bin/x": {}})
		if p == nil {
			t.Fatal("a bad mcp.json rejects the plugin")
		}
		errorsOf := map[string]bool{}
		whole := false
		for _, f := range p.Findings().AtLeast(finding.SeverityError) {
			switch f.Boundary {
			case finding.BoundaryServer:
				errorsOf[f.Subject] = true
			case finding.BoundaryComponent:
				whole = true
			}
		}
		if p.MCPState() == MCPDisabled && (!whole || len(p.Servers())+len(p.SkippedServers()) > 0) || p.MCPState() == MCPAbsent {
			t.Fatalf("state %v with %v", p.MCPState(), p.Findings())
		}
		for _, name := range p.SkippedServers() {
			if !errorsOf[name] || p.Server(name) != nil {
				t.Fatalf("%q was skipped without an error, or loaded too", name)
			}
		}
		for _, s := range p.Servers() {
			if errorsOf[s.Name()] {
				t.Fatalf("%q has an error and loads", s.Name())
			}
			local, isLocal := s.Stdio()
			remote, isRemote := s.Remote()
			switch {
			case isLocal == isRemote:
				t.Fatalf("%q is of type %q", s.Name(), s.Type())
			case isLocal && (checkCommand(local.Command) != nil || strings.Contains(strings.Join(local.Args, ""), "\x00")):
				t.Fatalf("%q: %+v", s.Name(), local)
			case isRemote && independentURL(remote.URL) != "":
				t.Fatalf("%q: %s: %s", s.Name(), remote.URL, independentURL(remote.URL))
			}
			for name := range local.Env {
				if name == "" || strings.ContainsAny(name, "=\x00") || name == envRoot || name == envData {
					t.Fatalf("%q: env has %q", s.Name(), name)
				}
			}
			seen := map[string]bool{}
			for name, value := range remote.Headers {
				if !isToken(name) || !isFieldValue(value) || seen[strings.ToLower(name)] {
					t.Fatalf("%q: header %q: %q", s.Name(), name, value)
				}
				seen[strings.ToLower(name)] = true
			}
		}
	})
}

func FuzzCommand(f *testing.F) {
	for _, c := range commandCases {
		f.Add(c.command)
	}
	f.Fuzz(func(t *testing.T, c string) {
		fault := checkCommand(c)
		if fault != nil {
			if info, ok := finding.Lookup(fault.code); !ok || info.Severity != finding.SeverityError || fault.message == "" {
				t.Fatalf("%q: %+v", c, fault)
			}
			return
		}
		if c == "" || strings.Contains(c, "\x00") || len(c) > maxPath {
			t.Fatalf("%q is accepted", c)
		}
		if !strings.HasPrefix(c, "./") && (strings.ContainsAny(c, "/\\ \t\n") || c == "." || c == "..") {
			t.Fatalf("%q is accepted as a bare name", c)
		}
	})
}

func FuzzCwd(f *testing.F) {
	for _, c := range cwdCases {
		f.Add(c.cwd)
	}
	f.Fuzz(func(t *testing.T, cwd string) {
		_, below, fault := parseCwd(cwd)
		if fault != nil {
			if info, ok := finding.Lookup(fault.code); !ok || info.Severity != finding.SeverityError || fault.message == "" {
				t.Fatalf("%q: %+v", cwd, fault)
			}
			return
		}
		if !strings.HasPrefix(below, "./") || strings.Contains(below, "\x00") || !strings.HasSuffix(cwd, strings.TrimPrefix(below, "./")) {
			t.Fatalf("%q is split into %q", cwd, below)
		}
		if rest := strings.TrimPrefix(strings.TrimPrefix(cwd, "${PLUGIN_ROOT}"), "${PLUGIN_DATA}"); rest != "" && rest[0] != '/' && !strings.HasPrefix(rest, "./") {
			t.Fatalf("%q is accepted", cwd)
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, c := range urlCases {
		if len(c.url) < 1000 {
			f.Add(c.url)
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		fault := checkURL(raw)
		if fault == nil {
			if why := independentURL(raw); why != "" {
				t.Fatalf("%q is accepted, but %s", raw, why)
			}
			return
		}
		if info, ok := finding.Lookup(fault.code); !ok || info.Severity != finding.SeverityError {
			t.Fatalf("%q: %+v", raw, fault)
		}
	})
}

func FuzzHeader(f *testing.F) {
	for name := range headerNames {
		f.Add(name, "v")
	}
	for value := range headerValues {
		if len(value) < 1000 {
			f.Add("X-A", value)
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		if ours, theirs := isToken(name) && isFieldValue(value), sendable(name, value); ours && !theirs {
			t.Fatalf("%q: %q is accepted, but net/http does not send it", name, value)
		}
	})
}
