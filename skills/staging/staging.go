package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"

	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/nofollow"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/skills"
)

// Errors of this package, to be matched with errors.Is. That of a skill may
// also be paths.ErrEscape, paths.ErrLoop, paths.ErrNotRegular, fs.ErrNotExist
// or another error of reading it, or skills.ErrNoFiles.
var (
	// ErrTarget: the target cannot be used: the workspace is no directory, a
	// link or something else stands where a directory is needed, or the system
	// refuses.
	ErrTarget = errors.New("staging: the target cannot be used")
	// ErrBusy: another run is at work on the target.
	ErrBusy = errors.New("staging: another run is at work on the target")
	// ErrRecord: what is known of the target or a skill cannot be read.
	ErrRecord = errors.New("staging: the record of what was staged cannot be used")
	// ErrItem: an item has no skill, or a name that is no skill name, or one
	// that an item before it has.
	ErrItem = errors.New("staging: the item cannot be used")
	// ErrExists: something that was not staged stands in the skill's place.
	ErrExists = errors.New("staging: something that was not staged stands in its place")
	// ErrModified: staged files were changed, or files put beside them stand in
	// the way of new ones.
	ErrModified = errors.New("staging: what was staged has been changed since")
	// ErrName: the name of a file cannot be written, or differs from another
	// only in letter case or Unicode form.
	ErrName = errors.New("staging: the name of a file cannot be used")
	// ErrLimit: a skill is over one of the limits.
	ErrLimit = errors.New("staging: the skill is over a limit")
	// ErrSource: SKILL.md is gone, or its frontmatter is not the one that was
	// judged: load the skill again.
	ErrSource = errors.New("staging: SKILL.md has changed since it was loaded")
)

// Target is a directory of skills in a workspace, which an agent program reads.
// It is a value that may be copied, and its methods may be called concurrently,
// also by several processes; of two that change it at one time one fails with
// [ErrBusy].
type Target struct {
	// Workspace is the path of a directory that exists. Its own links are
	// followed.
	Workspace string
	// Dir is the path of the target below it, slash-separated, such as
	// ".agents/skills"; "." is the workspace itself. What is missing of it is
	// made, and no component may be a link.
	Dir string
	// Limits bound what is staged.
	Limits Limits

	step func(string) // told of each step, in tests
}

// Limits bound what is staged. Zero or less in a field means its default.
type Limits struct {
	Files   int   // of one skill, default 1,000
	Bytes   int64 // of one skill, which is held in memory while it is staged, default 16 MiB
	Depth   int   // nesting of directories, default 20
	Entries int   // entries looked at in one skill, or in the target, default 10,000
	Total   int64 // bytes of all skills of one call, default 256 MiB
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.Files, 1000)
	set(&l.Depth, 20)
	set(&l.Entries, 10_000)
	if l.Bytes <= 0 {
		l.Bytes = 16 << 20
	}
	if l.Total <= 0 {
		l.Total = 256 << 20
	}
	return l
}

// Item is a skill to be staged.
type Item struct {
	// Skill is required, and must have been loaded from a directory or file
	// system.
	Skill *skills.Skill
	// Name is the skill name that the directory gets, where it is not the
	// skill's own. SKILL.md is copied as it is; a program that wants the two
	// to be equal skips the skill then.
	Name string
	// Package names where the skill comes from; it is recorded.
	Package string
	// Scripts says that the host lets programs of this package into the
	// workspace: the scripts directory, programs elsewhere, and executable
	// bits.
	Scripts bool
}

// Items returns an item for each skill of a set, in its order and under its name.
// The function says of an origin whether the host lets its programs into the
// workspace, as [Item.Scripts] does; nil means none.
func Items(set *skills.Set, scripts func(skills.Origin) bool) []Item {
	entries := set.Entries()
	items := make([]Item, len(entries))
	for i, e := range entries {
		items[i] = Item{Skill: e.Skill, Package: e.Origin.Package, Scripts: scripts != nil && scripts(e.Origin)}
	}
	return items
}

// Outcome says what became of a skill.
type Outcome uint8

// The outcomes.
const (
	OutcomeRefused   Outcome = iota // nothing was changed, see Result.Err; but after ErrTarget the next run may find that it was
	OutcomeStaged                   // it stands there now and did not before
	OutcomeUpdated                  // it took the place of what had been staged under its name
	OutcomeUnchanged                // it stood there already, just so
	OutcomeRemoved                  // it is no longer staged
	OutcomeAbsent                   // it was not staged in the first place
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	names := [...]string{"refused", "staged", "updated", "unchanged", "removed", "absent"}
	if int(o) < len(names) {
		return names[o]
	}
	return "invalid"
}

// MarshalText returns the text of String, so that JSON shows the word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Result is what became of one skill. Name is that of its directory in the
// target.
type Result struct {
	Name    string
	Outcome Outcome
	Err     error // why it was refused
	// Files and Bytes count what is staged of it now.
	Files int
	Bytes int64
	// LeftOut are the files and directories of the skill that were not staged,
	// by rule.
	LeftOut []LeftOut
	// Kept are paths below the target, slash-separated and raw, of what was
	// put or changed there by others and was not touched: what a skill was
	// refused for with ErrModified, and what is left of one that was removed.
	Kept []string
}

// Stage copies skills into the target, each into a directory of its name, and
// returns a result for each item in their order. The error is for a target that
// cannot be used as a whole, and for a context that ends; results are then those
// of the skills that were done.
//
// A skill is staged as a whole or not at all: it is written into a directory of
// its own first, which then takes its place. One that was staged before is
// replaced if anything differs; files that others put beside it stay, and where
// staged files were changed it is refused with [ErrModified] and stays as it
// is. What stands in the target and was not staged is never touched.
func (t Target) Stage(ctx context.Context, items ...Item) ([]Result, error) {
	s, err := t.openSession(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	results := make([]Result, 0, len(items))
	seen := map[string]bool{}
	total := int64(0)
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		if item.Name == "" && item.Skill != nil {
			item.Name = item.Skill.Name()
		}
		r := Result{Name: item.Name}
		err := checkItem(item)
		if err == nil && seen[item.Name] {
			err = fmt.Errorf("%w: an item before it has its name", ErrItem)
		}
		if err == nil {
			seen[item.Name] = true
			err = s.stage(item, &r, s.limits.Total-total)
			total += r.Bytes
		}
		if err != nil {
			r.Outcome, r.Err = OutcomeRefused, err
			if ctx.Err() != nil {
				return results, ctx.Err()
			}
		}
		results = append(results, r)
	}
	return results, nil
}

func checkItem(item Item) error {
	if item.Skill == nil {
		return fmt.Errorf("%w: it has no skill", ErrItem)
	}
	if err := skills.CheckName(item.Name); err != nil {
		return fmt.Errorf("%w: %w", ErrItem, err)
	}
	if flaw := filename.Flaw(item.Name, runtime.GOOS == "windows"); flaw != "" {
		return fmt.Errorf("%w: %s", ErrItem, flaw)
	}
	return nil
}

// stage stages one skill.
func (s *session) stage(item Item, r *Result, room int64) error {
	if err := s.broken[item.Name]; err != nil {
		return err
	}
	limits := s.limits
	if room < limits.Bytes {
		limits.Bytes = room
	}
	source, err := readSkill(s.ctx, item, limits)
	if err != nil {
		return err
	}
	r.LeftOut = source.left
	s.step("skill read")
	known := s.records[item.Name]
	outcome := OutcomeStaged
	if known != nil {
		st, err := s.lookAt(s.target(), item.Name, known.Files)
		switch {
		case errors.Is(err, nofollow.ErrLink):
			r.Kept = []string{item.Name}
			return ErrModified
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return s.disk(err)
		default:
			outcome = OutcomeUpdated
			if r.Kept = st.conflicts(item.Name, source.files); len(r.Kept) > 0 {
				return ErrModified
			}
			if maps.Equal(known.Files, summary(source.files)) && !st.missing && !st.modes {
				outcome = OutcomeUnchanged
			}
		}
	} else if there, err := s.stranger(item.Name); err != nil {
		return err
	} else if there != "" {
		r.Kept = []string{there}
		return ErrExists
	}
	switch {
	case outcome != OutcomeUnchanged:
		r.Kept, err = s.replace(item.Name, item.Package, known, source.files)
	case known.Package != item.Package:
		known.Package = item.Package
		err = s.disk(s.save(known))
	}
	if err != nil {
		return err
	}
	r.Outcome, r.Files, r.Bytes = outcome, len(source.files), source.bytes
	return nil
}

// conflicts returns what keeps the files from taking the place of what stands
// there: what was edited, and what others put where a file or directory is to
// be.
func (st *state) conflicts(skill string, files []file) []string {
	var kept []string
	for _, name := range st.edited {
		kept = append(kept, path.Join(skill, name))
	}
	taken := map[string]bool{}
	for _, f := range files {
		for p := filename.Key(f.path); p != "."; p = path.Dir(p) {
			taken[p] = true
		}
	}
	isFile := map[string]bool{}
	for _, f := range files {
		isFile[filename.Key(f.path)] = true
	}
	for _, name := range st.foreign {
		key := filename.Key(name)
		clash := taken[key]
		for p := path.Dir(key); p != "." && !clash; p = path.Dir(p) {
			clash = isFile[p]
		}
		if clash {
			kept = append(kept, path.Join(skill, name))
		}
	}
	return kept
}

// Unstage removes the staged skills of these names and returns a result for each
// in their order; without a name it removes nothing. Files that are as they were
// staged are removed, with the directories that are empty then; what was put or
// changed there by others stays and is reported as kept, and belongs to them from
// then on. After the last skill the target is as it was before the first, and the
// directories of its path that were made for it are gone if nothing else is in
// them. The error is as for [Target.Stage].
func (t Target) Unstage(ctx context.Context, names ...string) ([]Result, error) {
	return t.unstage(ctx, func(*session) []string { return names })
}

// UnstageAll is [Target.Unstage] for all skills that are staged, in the order of
// their names.
func (t Target) UnstageAll(ctx context.Context) ([]Result, error) {
	return t.unstage(ctx, func(s *session) []string {
		if s == nil {
			return nil
		}
		return s.known()
	})
}

// unstage removes the skills that are chosen once the target is held; the session
// is nil where there is nothing of it.
func (t Target) unstage(ctx context.Context, choose func(*session) []string) ([]Result, error) {
	s, err := t.openSession(ctx, false)
	if err != nil {
		return nil, err
	}
	names := choose(s)
	results := make([]Result, 0, len(names))
	if s == nil {
		for _, name := range names {
			results = append(results, Result{Name: name, Outcome: OutcomeAbsent})
		}
		return results, nil
	}
	defer s.close()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		r := Result{Name: name}
		switch err := s.unstage(name, &r); {
		case ctx.Err() != nil:
			return results, ctx.Err()
		case err != nil:
			r.Outcome, r.Err = OutcomeRefused, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (s *session) unstage(name string, r *Result) error {
	if err := s.broken[name]; err != nil {
		return err
	}
	known := s.records[name]
	if known == nil {
		r.Outcome = OutcomeAbsent
		return nil
	}
	s.step("record found")
	d, err := s.target().Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, nofollow.ErrLink):
		r.Kept = []string{name}
	case err != nil:
		return s.disk(err)
	default:
		kept, err := clean(s.ctx, d, known.Files, false, s.step)
		d.Close()
		for _, k := range kept {
			r.Kept = append(r.Kept, path.Join(name, k))
		}
		if err == nil {
			err = removeEmpty(s.target(), name, "")
		}
		if err != nil {
			return s.disk(err)
		}
	}
	s.step("files removed")
	known.Files = nil
	if err := s.save(known); err != nil {
		return s.disk(err)
	}
	s.taken = nil
	r.Outcome = OutcomeRemoved
	return nil
}

// Status is what is known of one staged skill. Name is that of its directory in
// the target.
type Status struct {
	Name    string
	Package string   // as the item said
	Err     error    // why nothing more is known
	Files   []string // paths below the skill's directory that were written, sorted
	Changed []string // those of them where something else stands now
	Missing bool     // some of them are gone
	Foreign []string // what others put beside them
}

// Status returns what is staged in the target, sorted by name. It changes
// nothing and does not wait for a run that is under way. It fails with
// [ErrTarget] and [ErrRecord].
func (t Target) Status(ctx context.Context) ([]Status, error) {
	s := t.session(ctx)
	defer s.close()
	if _, err := s.reach(t, false); err != nil || s.state == nil {
		return nil, err
	}
	if err := s.load(true); err != nil {
		return nil, err
	}
	var list []Status
	for _, name := range s.known() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st := Status{Name: name, Err: s.broken[name]}
		if r := s.records[name]; r != nil {
			st.Package, st.Files = r.Package, slices.Sorted(maps.Keys(r.Files))
			if r.Next != nil {
				st.Err = ErrBusy
			}
			now, err := s.lookAt(s.target(), name, r.Files)
			switch {
			case err == nil:
				st.Changed, st.Missing, st.Foreign = now.edited, now.missing, now.foreign
			case errors.Is(err, fs.ErrNotExist):
				st.Missing = true
			default:
				st.Err = fmt.Errorf("%w: %w", ErrTarget, report.Innermost(err))
			}
		}
		list = append(list, st)
	}
	return list, nil
}
