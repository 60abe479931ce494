package mcpclient

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

func mkdir(t *testing.T, mode fs.FileMode, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

func symlink(t *testing.T, target string, elem ...string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(elem...)); err != nil {
		t.Skip(err) // a system or user without links
	}
}

func writeFile(t *testing.T, text string, elem ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(elem...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureDataDir(t *testing.T) {
	unix := runtime.GOOS != "windows"
	for _, c := range []struct {
		name  string
		unix  bool // only
		make  func(t *testing.T, root, dir, outside string)
		cwd   string // below the data directory
		err   string
		check func(t *testing.T, root, dir, outside string)
	}{
		{name: "[E3] everything is missing"},
		{name: "[E3] it is there", make: func(t *testing.T, root, dir, _ string) {
			mkdir(t, 0o755, root)
			mkdir(t, 0o700, dir)
			writeFile(t, "kept", dir, "f")
		}, check: func(t *testing.T, _, dir, _ string) {
			if text, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(text) != "kept" {
				t.Errorf("%q, %v", text, err)
			}
		}},
		{name: "[E3] the data root is a link of the host", make: func(t *testing.T, root, _, outside string) { symlink(t, outside, root) }},
		{name: "[E3] a link in its place", make: func(t *testing.T, root, dir, outside string) { mkdir(t, 0o700, root); symlink(t, outside, dir) },
			err: "a link or file stands in its place"},
		{name: "[E3] a link to another instance's directory", make: func(t *testing.T, root, dir, _ string) {
			mkdir(t, 0o700, root, "other")
			symlink(t, "other", dir)
		}, err: "a link or file stands in its place"},
		{name: "[E3] a dangling link", make: func(t *testing.T, root, dir, _ string) { mkdir(t, 0o700, root); symlink(t, "nowhere", dir) },
			err: "a link or file stands in its place"},
		{name: "[E3] a file", make: func(t *testing.T, root, dir, _ string) { mkdir(t, 0o700, root); writeFile(t, "", dir) },
			err: "a link or file stands in its place"},
		{name: "[E3] others may read it", unix: true, make: func(t *testing.T, _, dir, _ string) { mkdir(t, 0o704, dir) }, err: "mode 0704 where 0700 is wanted"},
		{name: "[E3] the group may look into it", unix: true, make: func(t *testing.T, _, dir, _ string) { mkdir(t, 0o710, dir) }, err: "mode 0710"},
		{name: "[E3] the data root is a file", make: func(t *testing.T, root, _, _ string) { writeFile(t, "", root) }, err: "not a directory"},
		{name: "[E3] another owner", unix: true, make: func(t *testing.T, _, dir, _ string) {
			if err := os.Chown(mkdir(t, 0o700, dir), 12345, -1); err != nil {
				t.Skip(err) // not the superuser
			}
		}, err: "a directory of another owner, user 12345"},
		{name: "[E3] not writable", unix: true, make: func(t *testing.T, _, dir, _ string) {
			mkdir(t, 0o500, dir)
			if os.Geteuid() == 0 {
				t.Skip("the superuser can write everywhere")
			}
		}, err: "it is not writable"},
		{name: "[E3] a cwd below", cwd: "a/b", check: func(t *testing.T, _, dir, _ string) {
			for _, d := range []string{"a", "a/b"} {
				if info, err := os.Stat(filepath.Join(dir, d)); err != nil || !info.IsDir() || unix && info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v, %v", d, info, err)
				}
			}
		}},
		{name: "[E3] a cwd that is there, for others too", cwd: "a/b", make: func(t *testing.T, _, dir, _ string) { mkdir(t, 0o700, dir); mkdir(t, 0o755, dir, "a") }},
		{name: "[E3] a link put on the way of the cwd", cwd: "a/b", make: func(t *testing.T, _, dir, outside string) {
			mkdir(t, 0o700, dir)
			symlink(t, outside, dir, "a")
		}, err: "cwd: plugin: unusable data directory: a link or file stands in its place", check: func(t *testing.T, _, _, outside string) {
			if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
				t.Errorf("outside: %v, %v", entries, err)
			}
		}},
		{name: "[E3] a file on the way of the cwd", cwd: "a/b", make: func(t *testing.T, _, dir, _ string) { mkdir(t, 0o700, dir); writeFile(t, "", dir, "a") },
			err: "a link or file stands in its place"},
		{name: "[E3] a cwd elsewhere is left alone", cwd: "../../elsewhere", check: func(t *testing.T, root, _, _ string) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(root), "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.unix && !unix {
				t.Skip("access lists decide there")
			}
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root := filepath.Join(base, "data")
			outside := mkdir(t, 0o700, base, "outside")
			dir, err := plugin.DataDir(root, testID.Instance)
			if err != nil {
				t.Fatal(err)
			}
			if c.make != nil {
				c.make(t, root, dir, outside)
			}
			if now, err := plugin.DataDir(root, testID.Instance); err == nil {
				dir = now // the root may be a link now
			}
			err = ensureDataDir(root, testID.Instance, filepath.Join(dir, filepath.FromSlash(c.cwd)))
			if c.err != "" {
				if !errors.Is(err, plugin.ErrDataDir) || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), base) {
					t.Errorf("error %v, want %q", err, c.err)
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				if info, err := os.Lstat(dir); err != nil || !info.IsDir() || unix && info.Mode() != fs.ModeDir|0o700 {
					t.Errorf("%v, %v", info, err)
				}
			}
			if c.check != nil {
				c.check(t, root, dir, outside)
			}
		})
	}
	if err := ensureDataDir(t.TempDir(), plugin.Instance{}, ""); !errors.Is(err, plugin.ErrInstance) {
		t.Errorf("no instance: %v", err)
	}
}

func TestRemoveData(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "data")
	outside := mkdir(t, 0o700, base, "outside")
	writeFile(t, "kept", outside, "f")
	if err := RemoveData(root, testID.Instance); err != nil {
		t.Errorf("[E3] no data root: %v", err)
	}
	other := plugin.Instance{ID: "other"}
	for _, i := range []plugin.Instance{testID.Instance, other} {
		if err := ensureDataDir(root, i, ""); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := plugin.DataDir(root, testID.Instance)
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, 0o700, dir, "a", "b")
	writeFile(t, "x", dir, "a", "b", "f")
	symlink(t, outside, dir, "a", "link")
	symlink(t, filepath.Join(outside, "f"), dir, "filelink")
	mkdir(t, 0o500, dir, "a", "b")
	mkdir(t, 0o000, dir, "a", "closed")
	if err := RemoveData(root, testID.Instance); err != nil {
		t.Fatalf("[E3] %v", err)
	}
	kept := func() {
		t.Helper()
		if text, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(text) != "kept" {
			t.Errorf("[E3] a link was followed: %q, %v", text, err)
		}
		entries, err := os.ReadDir(root)
		otherDir, _ := other.Key()
		if err != nil || len(entries) != 1 || entries[0].Name() != otherDir {
			t.Errorf("[E3] the data root holds %v, %v", entries, err)
		}
	}
	kept()
	symlink(t, outside, dir)
	if err := RemoveData(root, testID.Instance); err != nil {
		t.Errorf("[E3] a link in its place: %v", err)
	}
	kept()
	if err := RemoveData(root, testID.Instance); err != nil {
		t.Errorf("[E3] nothing there: %v", err)
	}
	if err := RemoveData(root, plugin.Instance{}); !errors.Is(err, plugin.ErrInstance) {
		t.Errorf("no instance: %v", err)
	}
	if err := RemoveData("", testID.Instance); !errors.Is(err, plugin.ErrDataDir) {
		t.Errorf("no data root: %v", err)
	}
}
