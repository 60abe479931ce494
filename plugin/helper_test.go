package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

const (
	manifestSchema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
	mcpSchema      = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
	smallManifest  = `{"$schema":"` + manifestSchema + `","name":"demo"}`
	noServers      = `{"$schema":"` + mcpSchema + `","mcpServers":{}}`
)

// fill replaces the short forms that the tables use: @S and @M are the $schema
// members of the two documents.
var fill = strings.NewReplacer("@S", `"$schema":"`+manifestSchema+`"`, "@M", `"$schema":"`+mcpSchema+`"`)

// writeTo writes files, by slash-separated name, below dir. A name that ends in
// a slash is a directory, and a text that begins with "-> " is a link.
func writeTo(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err = os.Symlink(filepath.FromSlash(target), path); err != nil {
				t.Skip(err) // a system or user without links
			}
		} else if !strings.HasSuffix(name, "/") {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// write makes a package in a directory of its own, with a small plugin.json
// where files has none, and returns the resolved directory.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "package")
	all := map[string]string{"plugin.json": smallManifest}
	for name, text := range files {
		all[name] = text
	}
	writeTo(t, dir, all)
	return dir
}

// memory is the same package as a file system.
func memory(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{"plugin.json": {Data: []byte(smallManifest)}}
	for name, text := range files {
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			out[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		} else if dir, ok := strings.CutSuffix(name, "/"); ok {
			out[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		} else {
			out[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	return out
}

func mustLoad(t testing.TB, dir string) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustLoadFS(t testing.TB, fsys fs.FS, opts plugin.Options) *plugin.Plugin {
	t.Helper()
	p, err := plugin.LoadFS(context.Background(), fsys, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcome returns the findings of a load, whether it loaded or was rejected.
func outcome(t testing.TB, p *plugin.Plugin, err error) finding.List {
	t.Helper()
	if err == nil {
		return p.Findings()
	}
	var rejected *plugin.RejectedError
	if !errors.As(err, &rejected) || !errors.Is(err, plugin.ErrRejected) {
		t.Fatalf("error %v is no rejection", err)
	}
	if p != nil {
		t.Error("a rejected plugin was returned")
	}
	if len(rejected.Findings.AtLeast(finding.SeverityError)) == 0 {
		t.Errorf("rejected without an error: %v", rejected.Findings)
	}
	return rejected.Findings
}

// brief writes a finding as the tables do. The subject stands behind the
// boundary where there is one.
func brief(f finding.Finding) string {
	s := fmt.Sprintf("%s %s %s", f.Code, f.Severity, f.Boundary)
	if f.Subject != "" {
		s += "=" + f.Subject
	}
	if f.Pointer != "" {
		s += " " + f.Pointer
	}
	if f.Line > 0 {
		s += fmt.Sprintf(" %d:%d", f.Line, f.Column)
	}
	return s
}

func briefs(list finding.List) []string {
	var out []string
	for _, f := range list {
		out = append(out, brief(f))
	}
	return out
}

// positions takes the marks ¶ out of a text and returns the line and column of
// each, counted in the plainest way.
func positions(text string) (clean string, at []string) {
	line, column := 1, 1
	for _, r := range text {
		switch r {
		case '¶':
			at = append(at, fmt.Sprintf("%d:%d", line, column))
		case '\n':
			line, column = line+1, 1
		case '\uFEFF': // takes no column where it stands first, and stands nowhere else
		default:
			column++
		}
	}
	return strings.ReplaceAll(text, "¶", ""), at
}

// checkFindings compares all findings with what is wanted, in order. A wanted
// one without a position takes the position of the next mark; one that ends in
// "whole" has none.
func checkFindings(t *testing.T, got finding.List, want, at []string) {
	t.Helper()
	var full []string
	for _, w := range want {
		w, whole := strings.CutSuffix(w, " whole")
		if last := w[strings.LastIndexByte(w, ' ')+1:]; !whole && !strings.Contains(last, ":") {
			if len(at) == 0 {
				t.Fatalf("no mark is left for %q", w)
			}
			w += " " + at[0]
			at = at[1:]
		}
		full = append(full, w)
	}
	if len(at) > 0 {
		t.Fatalf("marks without a finding: %q", at)
	}
	if have := briefs(got); !slices.Equal(have, full) {
		t.Errorf("findings:\n  %s\nwant:\n  %s\nin full:\n%v", strings.Join(have, "\n  "), strings.Join(full, "\n  "), got)
	}
	checkMessages(t, got)
}

// checkMessages checks what holds for every finding.
func checkMessages(t testing.TB, list finding.List) {
	t.Helper()
	for _, f := range list {
		info, ok := finding.Lookup(f.Code)
		if !ok || info.Severity != f.Severity || info.Boundary != f.Boundary || info.Layer != f.Layer || info.Section != f.Section {
			t.Errorf("finding %v does not agree with the table", f)
		}
		if f.File == "" || f.Message == "" || (f.Line == 0) != (f.Column == 0) {
			t.Errorf("finding %+v is not complete", f)
		}
		for _, text := range []string{f.Message, f.String()} {
			if bad := unprintable(text); bad >= 0 {
				t.Errorf("%q shows the character %U", text, bad)
			}
		}
	}
}

// unprintable returns the first character that may act on a terminal, or -1.
func unprintable(s string) rune {
	for _, r := range s {
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r == '\u200b', r >= '\u200d' && r <= '\u200f',
			r >= '\u2028' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\uFEFF', r >= 0xe0000 && r < 0xe0080, r == '\uFFFD':
			return r
		}
	}
	return -1
}

// faultyFS fails where errs says so.
type faultyFS struct {
	fstest.MapFS
	errs map[string]error
}

func (f faultyFS) Open(name string) (fs.File, error) {
	if err := f.errs[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.MapFS.Open(name)
}

func (f faultyFS) Lstat(name string) (fs.FileInfo, error) {
	if err := f.errs["lstat "+name]; err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return f.MapFS.Lstat(name)
}

// ReadDir goes through Open, so that it fails as that does.
func (f faultyFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.errs[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f.MapFS.ReadDir(name)
}

// codesWith returns the codes of the table that begin with one of the prefixes.
func codesWith(prefixes ...string) map[finding.Code]bool {
	out := map[finding.Code]bool{}
	for _, info := range finding.All() {
		for _, p := range prefixes {
			if strings.HasPrefix(string(info.Code), p) {
				out[info.Code] = true
			}
		}
	}
	return out
}
