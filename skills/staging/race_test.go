package staging_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plugberth/plugberth/skills/staging"
)

// arena is a workspace, with twins of the staged files in other places, in it
// and outside: whoever is led there removes or replaces them.
type arena struct {
	target   staging.Target
	versions [][]staging.Item
	outside  string
	ws       *os.Root
	before   []map[string]string
}

func newArena(t *testing.T) *arena {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links cannot be made everywhere here")
	}
	base := t.TempDir()
	a := &arena{target: staging.Target{Workspace: filepath.Join(base, "ws"), Dir: "a/s"}, outside: filepath.Join(base, "outside")}
	for _, v := range []map[string]string{
		{"references/a.md": "1", "references/sub/b.md": "1"},
		{"references/a.md": "2", "references/sub/b.md": "2", "assets/c.md": "2"},
	} {
		a.versions = append(a.versions, items(t, source(t, v, "review", "second")))
	}
	for _, name := range []string{
		"outside/s/review/SKILL.md", "outside/s/review/references/a.md", "outside/review/SKILL.md", "outside/review/references/a.md",
		"outside/references/a.md", "outside/references/sub/b.md", "outside/.plugberth/keep", "outside/keep",
		"ws/mine/SKILL.md", "ws/mine/references/a.md", "ws/mine/references/sub/b.md", "ws/mine/review/SKILL.md", "ws/mine/keep",
	} {
		text := "1"
		if path.Base(name) == "SKILL.md" {
			text = skillMD("review")
		}
		fill(t, base, map[string]string{name: text})
	}
	var err error
	a.ws, err = os.OpenRoot(a.target.Workspace)
	must(t, err)
	t.Cleanup(func() { a.ws.Close() })
	a.before = a.trees(t)
	return a
}

func (a *arena) trees(t *testing.T) []map[string]string {
	return []map[string]string{tree(t, a.outside), tree(t, filepath.Join(a.target.Workspace, "mine"))}
}

func (a *arena) check(t *testing.T) {
	t.Helper()
	for i, now := range a.trees(t) {
		same(t, a.before[i], now)
	}
}

// swap puts a link in the place of a directory and returns what undoes it. It
// works in the very directory that it means: the swapping itself must not do
// what staging must not.
func (a *arena) swap(at, to string) (undo func()) {
	dir, name := path.Split(at)
	parent, err := openChain(a.ws, strings.Trim(dir, "/"))
	if err != nil {
		return func() {}
	}
	const aside = "aside"
	if parent.Rename(name, aside) != nil {
		parent.Close()
		return func() {}
	}
	linked := parent.Symlink(to, name) == nil
	return func() {
		defer parent.Close()
		if info, err := parent.Lstat(name); linked && err == nil && info.Mode()&os.ModeSymlink != 0 {
			parent.Remove(name)
		}
		if parent.Rename(aside, name) != nil { // something stands there meanwhile
			parent.RemoveAll(aside)
		}
	}
}

// attacks are directories that are swapped, and for what. Links that stay in the
// workspace come first: a handle on the workspace alone would follow them.
func (a *arena) attacks() []func() (undo func()) {
	swap := func(at, to string) func() func() {
		return func() func() { return a.swap(at, to) }
	}
	work := func(prefix, below, to string) func() func() {
		return func() func() {
			state, err := a.ws.Open("a/s/.plugberth")
			if err != nil {
				return func() {}
			}
			defer state.Close()
			names, _ := state.Readdirnames(-1)
			for _, name := range names {
				if strings.HasPrefix(name, prefix) {
					return a.swap("a/s/.plugberth/"+name+below, to)
				}
			}
			return func() {}
		}
	}
	out := func(name string) string { return filepath.Join(a.outside, name) }
	return []func() func(){
		swap("a", "mine"),
		swap("a/s", "../mine"),
		swap("a/s/review", "../../mine"),
		swap("a/s/review/references", "../../../mine/references"),
		swap("a/s/.plugberth", "../../mine"),
		work(".new-", "/references", "../../../../mine/references"),
		work(".old-", "/references", "../../../../mine/references"),
		swap("a/s", out("s")),
		swap("a/s/review", out("review")),
		swap("a/s/review/references", out("references")),
		swap("a", out("")),
		swap("a/s/second/references/sub", "../../../../mine/references/sub"),
		swap("a/s/.plugberth", out(".plugberth")),
		work(".new-", "", "../../../mine"),
		work(".new-", "/references", out("references")),
		work(".old-", "", "../../../mine"),
		work(".old-", "/references", out("references")),
	}
}

// TestSwappedAtEachStep puts a link in the place of a directory at each step of
// staging, of an update and of unstaging. Whatever that does to the target,
// nothing outside of it changes.
func TestSwappedAtEachStep(t *testing.T) { // [P1]
	ctx := context.Background()
	a := newArena(t)
	for i, attack := range a.attacks()[:10] {
		for n := 1; ; n++ {
			steps, undo := 0, func() {}
			disturbed := staging.WithStep(a.target, func(string) {
				if steps++; steps == n {
					undo = attack()
				}
			})
			for _, version := range a.versions {
				disturbed.Stage(ctx, version[0]) // review
				a.check(t)
			}
			disturbed.UnstageAll(ctx)
			undo()
			if a.check(t); t.Failed() {
				t.Fatalf("attack %d at step %d", i, n)
			}
			must(t, a.ws.RemoveAll("a"))
			if steps < n {
				break
			}
		}
	}
}

// TestRaces swaps the same directories, for a moment each, by goroutines of
// their own while skills are staged and removed.
func TestRaces(t *testing.T) { // [P1]
	a := newArena(t)
	attacks := a.attacks()
	// At most one thing is swapped for each step of the run that it disturbs, so
	// that most runs get somewhere.
	turns := make(chan int, 1)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range turns {
				undo := attacks[i]()
				for range 20 {
					runtime.Gosched()
				}
				undo()
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	disturbed := staging.WithStep(a.target, func(string) {
		if rng.IntN(3) > 0 {
			return
		}
		select {
		case turns <- rng.IntN(len(attacks)):
			for range rng.IntN(20) {
				runtime.Gosched()
			}
		default:
		}
	})
	ends := time.Now().Add(1500 * time.Millisecond)
	done, refused, stuck := 0, 0, 0
	for i := 0; i < 20 || time.Now().Before(ends); i++ {
		results, err := disturbed.Stage(context.Background(), a.versions[i%2]...)
		if i%3 == 2 {
			results, err = disturbed.UnstageAll(context.Background())
		}
		stuck++
		if err == nil {
			stuck = 0
		} else if stuck == 5 { // a swap was not undone
			a.ws.RemoveAll("a")
		}
		if err != nil {
			refused++
			if !errors.Is(err, staging.ErrTarget) && !errors.Is(err, staging.ErrBusy) && !errors.Is(err, staging.ErrRecord) {
				t.Errorf("unexpected: %v", err)
			}
		}
		for _, r := range results {
			if r.Err != nil {
				refused++
			} else {
				done++
			}
		}
	}
	close(turns)
	wg.Wait()
	t.Logf("%d done, %d refused", done, refused)
	if done == 0 {
		t.Error("nothing was ever staged")
	}
	a.check(t)
}

// openChain opens a directory below root through no link.
func openChain(root *os.Root, name string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	for c := range strings.SplitSeq(name, "/") {
		if err != nil || c == "" {
			return at, err
		}
		before, lstatErr := at.Lstat(c)
		if lstatErr != nil {
			at.Close()
			return nil, lstatErr
		}
		next, openErr := at.OpenRoot(c)
		at.Close()
		if openErr != nil {
			return nil, openErr
		}
		now, statErr := next.Stat(".")
		if statErr != nil || !os.SameFile(before, now) {
			next.Close()
			return nil, errors.New("it is a link")
		}
		at = next
	}
	return at, err
}
