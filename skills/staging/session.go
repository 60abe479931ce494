package staging

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/filelock"
	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/nofollow"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

// session is one run of Stage or Unstage on a target.
type session struct {
	ctx     context.Context
	limits  Limits
	step    func(string)
	path    []string        // components of the target below the workspace
	chain   []*nofollow.Dir // the workspace, and each of path; the last is the target
	state   *nofollow.Dir
	lock    *os.File
	made    target
	records map[string]*record
	broken  map[string]error    // records that cannot be used
	taken   map[string][]string // entries of the target that are not recorded, by key
}

// openSession opens a target for changes, and makes it if create says so. Where
// there is nothing and create does not, it returns nil.
func (t Target) openSession(ctx context.Context, create bool) (*session, error) {
	s := t.session(ctx)
	fresh, err := s.reach(t, create)
	if err == nil && s.state != nil {
		err = s.acquire(fresh)
		if err == nil {
			err = s.load(false)
		}
	}
	if err != nil || s.state == nil {
		s.close()
		return nil, err
	}
	s.repairAll()
	return s, nil
}

func (t Target) session(ctx context.Context) *session {
	s := &session{ctx: ctx, limits: t.Limits.withDefaults(), step: t.step, made: target{Format: format}}
	if s.step == nil {
		s.step = func(string) {}
	}
	return s
}

// reach opens the directories from the workspace to the state, and makes them
// if create says so. Without one of them the state stays nil. It reports
// whether it made the state.
func (s *session) reach(t Target, create bool) (fresh bool, err error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	if t.Workspace == "" || t.Dir == "" || !fs.ValidPath(t.Dir) {
		return false, fmt.Errorf("%w: %s is no directory below the workspace", ErrTarget, printable.Quote(t.Dir))
	}
	workspace, err := nofollow.Open(t.Workspace)
	if err != nil {
		return false, fmt.Errorf("%w: the workspace: %w", ErrTarget, report.Innermost(err))
	}
	s.chain = append(s.chain, workspace)
	if t.Dir != "." {
		s.path = strings.Split(t.Dir, "/")
	}
	for _, name := range s.path {
		if flaw := filename.Flaw(name, runtime.GOOS == "windows"); flaw != "" {
			return false, fmt.Errorf("%w: %s: %s", ErrTarget, printable.Quote(name), flaw)
		}
		d, made, err := s.directory(s.target(), name, create)
		if d == nil || err != nil {
			return false, err
		}
		s.chain = append(s.chain, d)
		if made {
			s.made.Created++
			s.step("directory made")
		}
	}
	s.state, fresh, err = s.directory(s.target(), stateDir, create)
	return fresh, err
}

func (s *session) target() *nofollow.Dir { return s.chain[len(s.chain)-1] }

// directory opens a directory, and makes it if create says so. It is nil where
// there is none.
func (s *session) directory(parent *nofollow.Dir, name string, create bool) (d *nofollow.Dir, made bool, err error) {
	if create {
		d, made, err = parent.Make(name, 0o755)
	} else {
		d, err = parent.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, made, ErrBusy // somebody removes it
	case err != nil:
		return nil, made, fmt.Errorf("%w: %s: %w", ErrTarget, printable.Quote(name), report.Innermost(err))
	}
	return d, made, nil
}

// acquire locks the target and reads what is known of it.
func (s *session) acquire(fresh bool) error {
	fail := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			return ErrBusy // somebody makes or removes what is needed here
		}
		return fmt.Errorf("%w: %s: %w", ErrTarget, stateDir, report.Innermost(err))
	}
	if fresh {
		if err := writeJSON(s.state, targetFile, s.made); err != nil {
			s.abandon()
			return fail(err)
		}
		s.step("target recorded")
	}
	lock, err := s.state.OpenOrCreate(lockFile, 0o600)
	if err != nil {
		return fail(err)
	}
	s.lock = lock
	ok, err := filelock.Try(lock)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // the host has to see to it
	case err != nil:
		return fail(err)
	case !ok:
		return ErrBusy
	}
	// The one who had it before may have removed the file since it was opened.
	mine, err := lock.Stat()
	if err != nil {
		return fail(err)
	}
	if there, err := s.state.Lstat(lockFile); err != nil || !os.SameFile(mine, there) {
		return ErrBusy
	}
	var known target
	data, _, err := s.state.ReadFile(targetFile, maxRecord)
	if err == nil {
		err = decode(data, &known)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // an interrupted run made the state; what else it made is not known
		s.made.Created = 0
		if err := writeJSON(s.state, targetFile, s.made); err != nil {
			return fail(err)
		}
		return nil
	case err != nil || known.Format != format:
		return fmt.Errorf("%w: %s", ErrRecord, targetFile)
	}
	s.made.Created = known.Created
	return nil
}

// abandon removes a state in which nothing could be written. Where another run
// has come upon it, it stays.
func (s *session) abandon() {
	s.state.Close()
	if s.target().Remove(stateDir) == nil {
		s.state = nil
	}
}

// close ends the session. Where nothing is staged, it removes what the session
// needed and what was made for it.
func (s *session) close() {
	switch {
	case s.lock != nil && s.records != nil && len(s.records)+len(s.broken) == 0:
		s.vanish()
	case s.state == nil:
		s.removeMade()
	}
	if s.lock != nil {
		s.lock.Close()
	}
	if s.state != nil {
		s.state.Close()
	}
	for _, d := range slices.Backward(s.chain) {
		d.Close()
	}
}

// vanish removes the state and the directories that were made, if they are
// empty but for that. What cannot be removed stays.
func (s *session) vanish() {
	entries, err := s.state.List(maxTree)
	if err != nil {
		return
	}
	for _, e := range entries {
		if name := e.Name(); name != lockFile && name != targetFile {
			if !strings.HasPrefix(name, newPrefix) || !isWork(name[len(newPrefix):]) || removeEmpty(s.state, name, "") != nil {
				return // something that nobody knows of
			}
		}
	}
	if s.state.Remove(targetFile) != nil {
		if _, err := s.state.Lstat(targetFile); !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	s.step("target record removed")
	s.state.Remove(lockFile)
	s.lock.Close()
	s.lock = nil
	s.state.Close()
	s.state = nil
	if s.target().Remove(stateDir) != nil {
		return
	}
	s.step("state removed")
	s.removeMade()
}

// removeMade removes the directories that were made for the target and are
// empty.
func (s *session) removeMade() {
	opened := len(s.chain) - 1
	for i := range min(s.made.Created, opened) {
		at := opened - 1 - i
		s.chain[at+1].Close()
		s.chain = s.chain[:at+1]
		if s.chain[at].Remove(s.path[at]) != nil {
			return
		}
	}
}

// stranger returns an entry of the target that is not recorded and that some
// file system takes for name, or "".
func (s *session) stranger(name string) (string, error) {
	if s.taken == nil {
		entries, err := s.target().List(s.limits.Entries)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrTarget, report.Innermost(err))
		}
		s.taken = map[string][]string{}
		for _, e := range entries {
			if _, ok := s.records[e.Name()]; !ok {
				key := filename.Key(e.Name())
				s.taken[key] = append(s.taken[key], e.Name())
			}
		}
	}
	if there := s.taken[filename.Key(name)]; len(there) > 0 {
		return there[0], nil
	}
	return "", nil
}

func newWork() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// replace puts the files where name stands in the target, or where nothing
// does. What others put beside the recorded files stays.
func (s *session) replace(name, pkg string, r *record, files []file) (kept []string, err error) {
	if r == nil {
		r = &record{Format: format, Name: name}
	}
	work := newWork()
	fresh, made, err := s.state.Make(newPrefix+work, 0o755)
	if err == nil && !made {
		fresh.Close()
		err = fs.ErrExist
	}
	if err != nil {
		return nil, s.disk(err)
	}
	s.step("work directory made")
	self, err := fresh.Self()
	if err == nil {
		r.Next = &change{Work: work, Package: pkg, Files: summary(files)}
		if err = s.save(r); err == nil {
			s.step("intent recorded")
			if err = fill(s.ctx, fresh, files); err == nil {
				s.step("files written")
			}
		}
	}
	fresh.Close()
	if err == nil {
		err = s.swap(r, self)
	}
	// What is left is the same as after an interruption, whatever went wrong.
	kept, undone := s.repair(r)
	if err == nil {
		err = undone
	}
	if err == nil && (r.Next != nil || !maps.Equal(r.Files, summary(files))) {
		err = paths.ErrChanged
	}
	return kept, s.disk(err)
}

// disk makes an error of the target one of this package.
func (s *session) disk(err error) error {
	if err == nil || errors.Is(err, ErrModified) || errors.Is(err, ErrExists) || errors.Is(err, s.ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrTarget, report.Innermost(err))
}

// swap moves what stands there out of the way and the new directory in.
func (s *session) swap(r *record, self fs.FileInfo) error {
	old := stateDir + "/" + oldPrefix + r.Next.Work
	if len(r.Files) > 0 {
		if _, err := s.target().Lstat(r.Name); err == nil {
			if err := s.target().Rename(r.Name, old); err != nil {
				return err
			}
			s.step("old moved away")
			// Nobody finds it here, so this look is the one that counts.
			st, err := s.lookAt(s.state, oldPrefix+r.Next.Work, r.Files)
			if err != nil {
				return err
			}
			if len(st.edited) > 0 {
				return ErrModified
			}
		}
	}
	err := s.target().Rename(stateDir+"/"+newPrefix+r.Next.Work, r.Name)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	s.step("new moved in")
	there, err := s.target().Lstat(r.Name)
	if err == nil && !os.SameFile(self, there) {
		err = paths.ErrChanged
	}
	return err
}

func (s *session) lookAt(parent *nofollow.Dir, name string, files map[string]written) (*state, error) {
	d, err := parent.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return look(s.ctx, d, files)
}

// repairAll brings every skill whose change was interrupted into the state
// before or after it.
func (s *session) repairAll() {
	for _, name := range slices.Sorted(maps.Keys(s.records)) {
		if r := s.records[name]; r.Next != nil {
			if _, err := s.repair(r); err != nil {
				delete(s.records, name)
				s.broken[name] = fmt.Errorf("%w: %w", ErrRecord, report.Innermost(err))
			}
		}
	}
	entries, err := s.state.List(s.limits.Entries)
	if err != nil {
		return
	}
	for _, e := range entries {
		// One that no record knows of is empty, or not ours.
		if work, ok := strings.CutPrefix(e.Name(), newPrefix); ok && isWork(work) {
			removeEmpty(s.state, e.Name(), "")
		}
	}
}

// repair ends a change. While the work directory is there, the new files do not
// stand in their place, and the change is undone; otherwise it is completed. It
// may be interrupted and called again, and it does not end with the context.
func (s *session) repair(r *record) (kept []string, err error) {
	if r.Next == nil {
		return nil, nil
	}
	ctx := context.WithoutCancel(s.ctx)
	fresh, old := newPrefix+r.Next.Work, oldPrefix+r.Next.Work
	there := func(d *nofollow.Dir, name string) bool { _, err := d.Lstat(name); return err == nil }
	if !there(s.state, fresh) {
		if there(s.state, old) {
			if kept, err = s.settle(ctx, r, old, true); err != nil {
				return kept, err
			}
		}
		s.step("old settled")
		r.Files, r.Package, r.Next = r.Next.Files, r.Next.Package, nil
		return kept, s.save(r)
	}
	if there(s.state, old) {
		if !there(s.target(), r.Name) {
			err = s.target().Rename(stateDir+"/"+old, r.Name)
		} else { // somebody took its place
			kept, err = s.settle(ctx, r, old, false)
			r.Files = nil
		}
		if err != nil {
			return kept, err
		}
		s.step("old moved back")
	}
	d, err := s.state.Open(fresh)
	if err != nil {
		return kept, err
	}
	_, err = clean(ctx, d, r.Next.Files, true, s.step)
	d.Close()
	if err == nil {
		err = removeEmpty(s.state, fresh, "")
	}
	if err != nil {
		return kept, err
	}
	s.step("work directory removed")
	r.Next = nil
	return kept, s.save(r)
}

// settle empties a directory that was replaced: what was written goes, what
// others put there moves to the same place in the new one if move says so. What
// cannot move stays.
func (s *session) settle(ctx context.Context, r *record, old string, move bool) (kept []string, err error) {
	d, err := s.state.Open(old)
	if err != nil {
		return nil, err
	}
	var others []string
	w := newWalker(ctx, r.Files)
	w.visit = func(d *nofollow.Dir, name, path string, k kind) error {
		if k == same {
			return d.Remove(name)
		}
		others = append(others, path)
		return nil
	}
	err = w.walk(d, "", 0)
	d.Close()
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		if !move || s.carry(old, r.Name, name) != nil {
			kept = append(kept, path.Join(stateDir, old, name))
		}
	}
	if d, err = s.state.Open(old); err != nil {
		return kept, err
	}
	w = newWalker(ctx, r.Files)
	w.visit = func(*nofollow.Dir, string, string, kind) error { return nil }
	w.leave = removeEmpty
	err = w.walk(d, "", 0)
	d.Close()
	if err == nil {
		err = removeEmpty(s.state, old, "")
	}
	return kept, err
}

// carry moves one entry of a replaced directory to the new one.
func (s *session) carry(old, skill, name string) error {
	at, err := s.target().Open(skill)
	if err != nil {
		return err
	}
	defer func() { at.Close() }()
	if dir := path.Dir(name); dir != "." {
		for c := range strings.SplitSeq(dir, "/") {
			next, _, err := at.Make(c, 0o755)
			if err != nil {
				return err
			}
			at.Close()
			at = next
		}
	}
	return s.target().Rename(path.Join(stateDir, old, name), path.Join(skill, name))
}
