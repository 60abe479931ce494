package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/plugberth/plugberth/paths"
)

func open(t *testing.T) (*Dir, string) {
	t.Helper()
	base := t.TempDir()
	d, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, base
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links cannot be made here: ", err)
		}
		t.Fatal(err)
	}
}

func want(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestNames(t *testing.T) {
	d, _ := open(t)
	for _, name := range []string{"", ".", "..", "a/b", "/a", "a\x00"} {
		_, err := d.Open(name)
		want(t, err, fs.ErrInvalid)
		_, _, err = d.Make(name, 0o755)
		want(t, err, fs.ErrInvalid)
		_, err = d.Lstat(name)
		want(t, err, fs.ErrInvalid)
		_, _, err = d.ReadFile(name, 1)
		want(t, err, fs.ErrInvalid)
		want(t, d.Create(name, nil, 0o644), fs.ErrInvalid)
		want(t, d.Replace(name, nil, 0o644, false), fs.ErrInvalid)
		want(t, d.Remove(name), fs.ErrInvalid)
		if name != "a/b" {
			want(t, d.Rename(name, "x"), fs.ErrInvalid)
			want(t, d.Rename("x", name), fs.ErrInvalid)
		}
	}
}

func TestDirectories(t *testing.T) {
	d, base := open(t)
	_, err := d.Open("sub")
	want(t, err, fs.ErrNotExist)
	sub, made, err := d.Make("sub", 0o755)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	defer sub.Close()
	again, made, err := d.Make("sub", 0o755)
	if err != nil || made {
		t.Fatal(made, err)
	}
	again.Close()
	write(t, filepath.Join(base, "file"), "x")
	link(t, "sub", filepath.Join(base, "link"))
	link(t, "nowhere", filepath.Join(base, "dangling"))
	for _, name := range []string{"file", "link", "dangling"} {
		_, err = d.Open(name)
		want(t, err, ErrLink)
		_, _, err = d.Make(name, 0o755)
		want(t, err, ErrLink)
	}
	list, err := d.List(4)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"dangling", "file", "link", "sub"}) {
		t.Error(names, err)
	}
	_, err = d.List(3)
	want(t, err, paths.ErrTooLarge)
}

func TestFiles(t *testing.T) {
	d, base := open(t)
	if err := d.Create("a", []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, d.Create("a", []byte("two"), 0o600), fs.ErrExist)
	link(t, "a", filepath.Join(base, "link"))
	want(t, d.Create("link", nil, 0o600), fs.ErrExist)
	want(t, d.Replace("link", nil, 0o600, false), ErrLink)
	_, _, err := d.ReadFile("link", 10)
	want(t, err, ErrLink)
	_, err = d.OpenOrCreate("link", 0o600)
	want(t, err, ErrLink)
	_, _, err = d.ReadFile("a", 2)
	want(t, err, paths.ErrTooLarge)
	_, _, err = d.ReadFile("none", 2)
	want(t, err, fs.ErrNotExist)

	// What an interrupted run left does not stand in the way.
	write(t, filepath.Join(base, "a"+tempSuffix), "partial")
	if err := d.Replace("a", []byte("two"), 0o600, true); err != nil {
		t.Fatal(err)
	}
	data, info, err := d.ReadFile("a", 3)
	if err != nil || string(data) != "two" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", data, info, err)
	}
	if _, err := os.Lstat(filepath.Join(base, "a"+tempSuffix)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	link(t, "a", filepath.Join(base, "b"+tempSuffix))
	want(t, d.Replace("b", []byte("three"), 0o600, false), ErrLink)
	if !IsTemp("b"+tempSuffix) || IsTemp("b") {
		t.Error("IsTemp")
	}
	if err := d.Chmod("a", 0o644); err != nil {
		t.Error(err)
	}
	want(t, d.Chmod("link", 0o644), ErrLink)
	if err := d.Remove("link"); err != nil {
		t.Error(err)
	}
	if data, _, err := d.ReadFile("a", 3); err != nil || string(data) != "two" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestRename(t *testing.T) {
	d, base := open(t)
	write(t, filepath.Join(base, "a", "x"), "x")
	if err := os.Mkdir(filepath.Join(base, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	want(t, d.Rename("a", "empty"), fs.ErrExist)
	want(t, d.Rename("none", "b"), fs.ErrNotExist)
	if err := d.Rename("a/x", "empty/y"); err != nil {
		t.Error(err)
	}
	link(t, "nowhere", filepath.Join(base, "dangling"))
	want(t, d.Rename("a", "dangling"), fs.ErrExist)
	if err := d.Rename("dangling", "moved"); err != nil {
		t.Error(err)
	}
	if err := d.Remove("a"); err != nil {
		t.Error(err)
	}
	if err := d.Remove("empty"); err == nil {
		t.Error("a directory with a file was removed")
	}
}

func TestLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be locked there")
	}
	at := t.TempDir()
	var dirs [2]*Dir
	for i := range dirs {
		d, err := Open(at)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		dirs[i] = d
	}
	release, ok, err := dirs[0].Lock()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, ok, err := dirs[1].Lock(); ok || err != nil {
		t.Error(ok, err)
	}
	release()
	release, ok, err = dirs[1].Lock()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	release()
}
