package paths_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plugberth/plugberth/paths"
)

// TestSwap replaces what a path goes through by a link to the outside, again
// and again, while others read it. They may fail, but never see what is
// outside [P1].
func TestSwap(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is open cannot be replaced on Windows")
	}
	// Each takes its turn: the function makes one of two states.
	for _, tt := range []struct {
		name  string
		swap  func(pkg string, outside bool) error
		reads []string
	}{
		{"file", func(pkg string, outside bool) error {
			if outside {
				return replaceByLink(pkg, "d/file", "../../away/file")
			}
			tmp := filepath.Join(pkg, "tmp")
			if err := os.WriteFile(tmp, []byte("inside"), 0o644); err != nil {
				return err
			}
			return os.Rename(tmp, filepath.Join(pkg, "d/file"))
		}, []string{"d/file", "link/file", "filelink"}},
		{"directory", func(pkg string, outside bool) error {
			d, dir, link := filepath.Join(pkg, "d"), filepath.Join(pkg, "dir"), filepath.Join(pkg, "out")
			if outside {
				return errors.Join(os.Rename(d, dir), os.Rename(link, d))
			}
			return errors.Join(os.Rename(d, link), os.Rename(dir, d))
		}, []string{"d/file", "link/file", "filelink"}},
		{"link", func(pkg string, outside bool) error {
			if outside {
				return replaceByLink(pkg, "l", "../away")
			}
			return replaceByLink(pkg, "l", "d")
		}, []string{"l/file", "tol/file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tempDir(t)
			plant(t, dir, "pkg/d/file=inside", "pkg/out->../away", "pkg/link->d", "pkg/filelink->link/file", "pkg/l->d", "pkg/tol->l",
				"away/file=OUTSIDE, and longer")
			pkg := filepath.Join(dir, "pkg")
			root := openRoot(t, pkg)

			var stop atomic.Bool
			var swaps, good, refused atomic.Int64
			var wg sync.WaitGroup
			wg.Go(func() {
				for outside := true; !stop.Load(); outside = !outside {
					if err := tt.swap(pkg, outside); err != nil {
						t.Error(err)
						stop.Store(true)
					}
					swaps.Add(1)
				}
			})
			note := func(op, name string, content []byte, err error) {
				switch {
				case err == nil && string(content) == "inside":
					good.Add(1)
				case err == nil:
					t.Errorf("%s(%s) = %q", op, name, content)
					stop.Store(true)
				case errors.Is(err, paths.ErrEscape), errors.Is(err, fs.ErrNotExist), errors.Is(err, paths.ErrChanged):
					refused.Add(1)
				default:
					t.Errorf("%s(%s): %v", op, name, err)
					stop.Store(true)
				}
			}
			for range 3 {
				wg.Go(func() {
					for i := 0; !stop.Load(); i++ {
						name := tt.reads[i%len(tt.reads)]
						content, err := root.AppendFile(nil, name, 100)
						note("AppendFile", name, content, err)

						f, err := root.Open(name)
						if err == nil {
							content, err = io.ReadAll(f)
							f.Close()
						}
						note("Open", name, content, err)

						if info, err := root.Stat(name); err == nil && info.Size() != int64(len("inside")) {
							t.Errorf("Stat(%s) tells of a file outside: %d", name, info.Size())
							stop.Store(true)
						}
						if loc, err := root.Resolve(name); err == nil && !filepath.IsLocal(loc.Name()) {
							t.Errorf("Resolve(%s) = %q", name, loc.Name())
							stop.Store(true)
						}
						entries, _ := root.ReadDir(filepath.Dir(name))
						for _, e := range entries {
							if info, err := e.Info(); err == nil && e.Name() == "file" && info.Mode().IsRegular() && info.Size() > 6 {
								t.Errorf("ReadDir tells of a file outside: %d", info.Size())
								stop.Store(true)
							}
						}
					}
				})
			}
			// Until enough has happened; the time only ends a run on a slow machine.
			for start := time.Now(); !stop.Load() && time.Since(start) < 20*time.Second; runtime.Gosched() {
				if time.Since(start) > time.Second && swaps.Load() > 0 && good.Load()+refused.Load() > 0 {
					break
				}
				if swaps.Load() > 2000 && good.Load() > 1000 && refused.Load() > 1000 {
					break
				}
			}
			stop.Store(true)
			wg.Wait()
			if swaps.Load() == 0 || good.Load()+refused.Load() == 0 {
				t.Errorf("%d swaps, %d reads, %d refusals: nothing was tested", swaps.Load(), good.Load(), refused.Load())
			}
			t.Logf("%d swaps, %d reads, %d refusals", swaps.Load(), good.Load(), refused.Load())
		})
	}
}

func replaceByLink(pkg, name, target string) error {
	tmp := filepath.Join(pkg, "tmplink")
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(pkg, name))
}
