package staging_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

// fill makes entries below root: a name that ends in / is a directory, content
// that begins with "-> " a link, and content that begins with "x:" an executable
// file without that.
func fill(t testing.TB, root string, entries map[string]string) {
	t.Helper()
	for name, content := range entries {
		at := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(at, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			link(t, filepath.FromSlash(target), at)
			continue
		}
		text, executable := strings.CutPrefix(content, "x:")
		must(t, os.WriteFile(at, []byte(text), 0o644))
		if executable {
			must(t, os.Chmod(at, 0o755))
		}
	}
}

func link(t testing.TB, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links cannot be made here: ", err)
		}
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// skillMD is a SKILL.md that conforms.
func skillMD(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\nBody of " + name + ".\n"
}

// source writes a package with one skill for each name, with those entries in
// the directory of the first, and returns its root.
func source(t testing.TB, entries map[string]string, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		fill(t, root, map[string]string{"skills/" + name + "/SKILL.md": skillMD(name)})
	}
	for name, content := range entries {
		fill(t, root, map[string]string{"skills/" + names[0] + "/" + name: content})
	}
	return root
}

// items loads the skills of a package.
func items(t testing.TB, root string) []staging.Item {
	t.Helper()
	r, err := paths.Open(root)
	must(t, err)
	l, err := skills.Load(context.Background(), r, "skills", skills.Options{})
	must(t, err)
	var out []staging.Item
	for _, s := range l.Skills {
		out = append(out, staging.Item{Skill: s, Package: "pack"})
	}
	if len(out) == 0 {
		t.Fatal(l.Findings)
	}
	return out
}

// tree returns what stands below a directory: for each path its kind, its
// permissions where they say something, and its content or target.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[name+"/"] = info.Mode().Perm().String()
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			out[name] = "-> " + target
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(p)
			out[name] = info.Mode().Perm().String() + " " + string(data)
			return err
		default:
			out[name] = d.Type().String()
		}
		return nil
	}))
	return out
}

// differ says where two trees differ.
func differ(before, after map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now, ok := after[name]; !ok {
			out = append(out, "- "+name)
		} else if now != before[name] {
			out = append(out, fmt.Sprintf("! %s: %q, was %q", name, now, before[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			out = append(out, "+ "+name)
		}
	}
	return out
}

func same(t testing.TB, before, after map[string]string) {
	t.Helper()
	if d := differ(before, after); len(d) > 0 {
		t.Errorf("it is not as before:\n%s", strings.Join(d, "\n"))
	}
}

func stage(t testing.TB, target staging.Target, items ...staging.Item) []staging.Result {
	t.Helper()
	results, err := target.Stage(context.Background(), items...)
	must(t, err)
	if len(results) != len(items) {
		t.Fatalf("%d results of %d items", len(results), len(items))
	}
	return results
}

// unstage removes the skills of these names, or all where there is none.
func unstage(t testing.TB, target staging.Target, names ...string) []staging.Result {
	t.Helper()
	results, err := target.Unstage(context.Background(), names...)
	if len(names) == 0 {
		must(t, err)
		if len(results) > 0 {
			t.Errorf("no names removed %v", results)
		}
		results, err = target.UnstageAll(context.Background())
	}
	must(t, err)
	return results
}

// staged stages one skill and wants that outcome.
func staged(t testing.TB, target staging.Target, item staging.Item, want staging.Outcome) staging.Result {
	t.Helper()
	r := stage(t, target, item)[0]
	if r.Outcome != want || (r.Err != nil) != (want == staging.OutcomeRefused) {
		t.Fatalf("%s: %v, want %s", r.Outcome, r.Err, want)
	}
	return r
}

// files returns the files of a skill in the target, with their content.
func files(t testing.TB, target staging.Target, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for p, text := range tree(t, filepath.Join(target.Workspace, filepath.FromSlash(target.Dir), name)) {
		if !strings.HasSuffix(p, "/") {
			_, text, _ = strings.Cut(text, " ")
			out[p] = text
		}
	}
	return out
}
