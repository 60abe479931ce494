package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// image is all that a plugin says through its methods, to compare two of them.
func image(t testing.TB, p *plugin.Plugin) map[string]any {
	t.Helper()
	out := map[string]any{"manifest": p.Manifest(), "skills": p.SkillsState(), "mcp": p.MCPState()}
	for _, member := range []string{"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"} {
		out["declares "+member] = p.Declares(member)
	}
	for _, n := range p.Extensions() {
		raw, _ := p.Extension(n)
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			t.Fatal(err)
		}
		out["extension "+n] = b.String()
	}
	for i, s := range p.Skills() {
		body, err := s.Body()
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprint("skill ", i)] = []any{s.Name(), s.Directory(), s.Description(), s.License(), s.Compatibility(), s.Metadata(), s.AllowedTools(), s.ExtraKeys(), s.Location(), body}
		for _, key := range s.ExtraKeys() {
			var v any
			if err := s.Decode(key, &v); err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprint("skill ", i, " ", key)] = fmt.Sprintf("%#v", v)
		}
		list, more, err := s.Resources(context.Background(), 0)
		if err != nil || more {
			t.Fatal(more, err)
		}
		out[fmt.Sprint("skill ", i, " files")] = list
	}
	for i, s := range p.Servers() {
		local, _ := s.Stdio()
		remote, _ := s.Remote()
		out[fmt.Sprint("server ", i)] = []any{s.Name(), s.Type(), local, remote}
	}
	return out
}

// sameImage fails where two plugins differ in what they say.
func sameImage(t testing.TB, what string, got, want *plugin.Plugin) {
	t.Helper()
	a, b := image(t, got), image(t, want)
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if !reflect.DeepEqual(a[key], b[key]) {
			t.Errorf("%s: %s is %#v, want %#v", what, key, a[key], b[key])
		}
	}
	for key := range a {
		if _, ok := b[key]; !ok {
			t.Errorf("%s: %s is new: %#v", what, key, a[key])
		}
	}
}

// grave returns the findings that a written package must not have. Extra keys, and
// directories of skills that are none, are an info in every form.
func grave(p *plugin.Plugin) finding.List {
	return slices.DeleteFunc(p.Findings(), func(f finding.Finding) bool {
		return f.Code == finding.SkillUnknownKey || f.Code == finding.LintNoSkill
	})
}

func mustBuild(t testing.TB, d *plugin.Draft) *plugin.Package {
	t.Helper()
	pkg, err := d.Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// bothArchives returns the two archive forms of a package.
func bothArchives(t testing.TB, pkg *plugin.Package) (zip, tgz []byte) {
	t.Helper()
	var a, b bytes.Buffer
	if err := pkg.WriteZip(&a); err != nil {
		t.Fatal(err)
	}
	if err := pkg.WriteTarGz(&b); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

func readBoth(t testing.TB, zip, tgz []byte) []*plugin.Archive {
	t.Helper()
	ctx := context.Background()
	a, err := plugin.ReadZip(ctx, bytes.NewReader(zip), int64(len(zip)), plugin.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := plugin.ReadTarGz(ctx, bytes.NewReader(tgz), plugin.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return []*plugin.Archive{a, b}
}

// filesOf is the files of a file system: content, and x behind it for executables.
func filesOf(t testing.TB, fsys fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if list, err := fs.ReadDir(fsys, name); err != nil || len(list) > 0 || name == "." {
				return err
			}
			out[name+"/"] = ""
			return nil
		}
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		if info.Mode()&0o111 != 0 {
			name += " x"
		}
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sample is a draft that uses everything.
func sample() *plugin.Draft {
	return &plugin.Draft{
		Manifest: plugin.Manifest{
			Name: "sample", Version: "1.2.0", Description: "All of it: <b>&</b> \u2028", Author: plugin.Author{Name: "A", Email: "a@example.com", URL: "https://example.com"},
			Homepage: "https://example.com", Repository: "https://example.com/r", License: "MIT", Keywords: []string{"one", ""},
		},
		Extensions: map[string]json.RawMessage{"com.example": json.RawMessage(`{"b":1.10,"a":[{"x":null}]}`), "org.example": json.RawMessage(`{}`)},
		Skills: []skills.Draft{
			{Name: "review", Description: "Reviews: carefully.", License: "MIT", Metadata: map[string]string{"version": "1.0"}, AllowedTools: []string{"Bash(git log:*)", "Read"},
				Extra: []skills.ExtraKey{{Key: "hooks", Value: map[string]any{"a": []any{1, "2"}}}}, Body: "\n# Review\n---\n",
				Files: memoryFiles("SKILL.md", "not this", "references/style.md", "Be brief.", "scripts/run.sh x", "#!/bin/sh\n")},
			{Name: "plain", Description: "x"},
		},
		Servers: []plugin.ServerDraft{
			{Name: "local", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "./bin/server", Args: []string{"--config", "${PLUGIN_ROOT}/c.json", ""}, Env: map[string]string{"LEVEL": "info"}, Cwd: "./work"}},
			{Name: "remote \u202e", Type: plugin.TransportSSE, Remote: plugin.Remote{URL: "https://example.com/sse", Headers: map[string]string{"X-Team": "a"}}},
			{Name: "bare", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "npx", Args: []string{}, Env: map[string]string{}}},
		},
		Files: memoryFiles("plugin.json", "not this", "bin/server x", "\x7fELF", "work/", "", "com.example/data", "d", "skills/note.txt", "n", "skills/none/x", "x"),
	}
}

// memoryFiles makes a file system of names and contents. A name that ends in
// " x" can be executed.
func memoryFiles(pairs ...string) fs.FS {
	m := memory(nil)
	delete(m, "plugin.json")
	for i := 0; i < len(pairs); i += 2 {
		name, exec := strings.CutSuffix(pairs[i], " x")
		for k, f := range memory(map[string]string{name: pairs[i+1]}) {
			if k != "plugin.json" || name == "plugin.json" {
				if m[k] = f; exec {
					f.Mode = 0o755
				}
			}
		}
	}
	return m
}

// hashCommand is the command of the documentation.
const hashCommand = `find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z -- | sha256sum`

// shellHash computes the content hash of a directory with the command of the
// documentation, where the tools for it are there.
func shellHash(t testing.TB, dir string) (string, bool) {
	t.Helper()
	cmd := exec.Command("sh", "-c", hashCommand)
	cmd.Dir = dir
	out, err := cmd.Output()
	digits, _, _ := strings.Cut(string(out), " ")
	if runtime.GOOS != "linux" {
		return "", false
	}
	if err != nil {
		return err.Error(), true
	}
	return digits, true
}

// replaceFile returns a draft's files with another one in place of one of them.
func replaceFile(d *plugin.Draft, name, text string, mode fs.FileMode) fs.FS {
	m := maps.Clone(d.Files.(fstest.MapFS))
	m[name] = &fstest.MapFile{Data: []byte(text), Mode: mode}
	return m
}
