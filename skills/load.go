package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Mode says what becomes of a skill that does not conform in a way that some
// hosts forgive.
type Mode uint8

const (
	// Strict skips every skill that does not conform, as AP §7.1 asks.
	Strict Mode = iota
	// Lenient keeps skills with these faults and no others, each with a warning
	// in place of the error that strict mode has:
	//
	//   - a name that differs from the directory, is longer than 64 characters,
	//     or is not spelled as a skill name is; a missing or empty name
	//   - a description of 1,025 to 8,192 characters, kept whole
	//   - a compatibility of more than 500 characters, kept whole
	//   - allowed-tools as a list of texts, joined with blanks
	//   - metadata values that are lists or mappings, kept as YAML text
	//   - an unquoted colon in a plain value that begins and ends in the line of
	//     its key, which is one word; the value is read as text, in up to 32
	//     places, fewer where the frontmatter is larger than 16 KiB
	//   - blank lines before the frontmatter
	//
	// What strict mode keeps, lenient mode keeps with the same values.
	//
	// A skill with a fault of its name is offered under another, by these rules:
	//
	//  1. The slug of a name is the name with A-Z in lower case and each run of
	//     other characters than a-z and 0-9 as one hyphen, none first or last.
	//     What is not ASCII is lost, and so is what goes over 64 characters.
	//  2. The slug is that of the declared name; that of the directory where
	//     there is no name or nothing is left of it; "skill" where nothing is
	//     left of that.
	//  3. A slug that equals the directory is the name. No other skill gets the
	//     name of a directory, not even where the skill in it was skipped.
	//  4. So is a slug from which nothing was lost, if no other skill of the load
	//     has the same and it is no directory's name.
	//  5. Otherwise the name is the first 55 characters of the slug, hyphens at
	//     its end left out, a hyphen, and the first 8 hexadecimal digits of the
	//     SHA-256 of the directory, a NUL and the declared name. Should that be
	//     taken, a NUL and 1 are added to what is hashed, then 2 in place of 1,
	//     and so on, for one skill after the other in the order of directories.
	//
	// So the name depends on what else there is only where two want the same,
	// never on the order in which files are found.
	Lenient
)

// Options choose how skills are loaded. The zero value is strict with the
// default limits.
type Options struct {
	Mode   Mode
	Lint   bool // add findings about what is no skill but likely meant as one
	Limits Limits
}

// Limits bound what loading reads. Zero or less in a field means its default.
type Limits struct {
	File        int64 // bytes of one SKILL.md, default 1 MiB
	Frontmatter int   // bytes of one frontmatter, default 64 KiB
	Depth       int   // nesting of YAML, and of directories when resources are listed, default 100
	Skills      int   // directories with a SKILL.md, default 10,000
	Entries     int   // entries read of one directory of skills, or below one skill, default 100,000
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	if l.File <= 0 {
		l.File = 1 << 20
	}
	set(&l.Frontmatter, 64<<10)
	set(&l.Depth, 100)
	set(&l.Skills, 10_000)
	set(&l.Entries, 100_000)
	return l
}

// ErrOptions is wrapped by the error for options that cannot be used.
var ErrOptions = errors.New("skills: unusable options")

// check refuses an unknown mode.
func (o Options) check() error {
	if o.Mode > Lenient {
		return fmt.Errorf("%w: mode %d is unknown", ErrOptions, o.Mode)
	}
	return nil
}

// State says what became of a directory of skills.
type State uint8

// The states.
const (
	StateAbsent  State = iota // there is no such directory, which is no error (AP §6.2), or it was not asked for
	StateLoaded               // it was read; some of its skills may have been skipped
	StateInvalid              // it is no directory inside the root, or cannot be read (AP §6.2)
)

// String returns "absent", "loaded" or "invalid".
func (s State) String() string {
	switch s {
	case StateAbsent:
		return "absent"
	case StateLoaded:
		return "loaded"
	}
	return "invalid"
}

// MarshalText returns the text of String, so that JSON shows the word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Listing is what [Load] found. It is the caller's to keep.
type Listing struct {
	State    State
	Skills   []*Skill     // those that were kept, sorted by directory name
	Skipped  []string     // directory names of the others, sorted; each has an error among the findings
	Findings finding.List // in the order of the directories
}

// Load reads the skills in the directory dir of root: every immediate child
// that is a directory, or a link to one inside the root, with an entry named
// exactly SKILL.md that resolves to a regular file inside the root (AP §7.1).
// Faults of a skill, an I/O error included, cost that skill and are findings.
// The dir is slash-separated and "." for the root itself. It fails with
// [ErrOptions], with fs.ErrInvalid for a dir that is no path below the root, with
// the system's error where the root itself cannot be opened any more, and with the
// context's.
func Load(ctx context.Context, root *paths.Root, dir string, opts Options) (*Listing, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	if dir = path.Clean(dir); !fs.ValidPath(dir) {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrInvalid}
	}
	opts.Limits = opts.Limits.withDefaults()
	release, err := root.Hold()
	if err != nil {
		return nil, err
	}
	defer release()
	l := loader{ctx: ctx, root: root, dir: dir, opts: opts, out: &Listing{}}
	if err := l.load(); err != nil {
		return nil, err
	}
	if opts.Mode == Lenient {
		offerNames(l.out.Skills, l.out.Skipped, l.out.Findings)
	}
	return l.out, nil
}

// loader is one run of Load.
type loader struct {
	ctx   context.Context
	root  *paths.Root
	dir   string // as the package spells it
	opts  Options
	out   *Listing
	found int
	buf   []byte
	looks int // entries that lint has looked at
}

// What findings may take together: a skill's are cut after the first hundred,
// and once there are many, after the first few.
const (
	skillFindings = 100
	manyFindings  = 10_000
	fewFindings   = 3
)

func (l *loader) invalid(code finding.Code, format string, args ...any) {
	l.out.State = StateInvalid
	l.component(code, format, args...)
}

func (l *loader) component(code finding.Code, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	l.out.Findings = append(l.out.Findings, finding.New(code, finding.Place{File: l.dir}, printable.Escape(message)))
}

func (l *loader) load() error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	loc, err := l.root.Resolve(l.dir)
	switch {
	case errors.Is(err, paths.ErrLoop):
		l.invalid(finding.SkillsNotDirectory, "%s is a loop of links: make it a directory", l.dir)
		return nil
	case errors.Is(err, paths.ErrEscape):
		l.invalid(finding.SkillsEscapes, "%s leads outside the plugin root: replace the link by the directory itself", l.dir)
		return nil
	case err != nil:
		l.invalid(finding.SkillsUnreadable, "%s cannot be looked at: %s", l.dir, report.Cause(err))
		return nil
	case !loc.Exists():
		if _, err := l.root.Stat(l.dir); errors.Is(err, paths.ErrDangling) {
			l.invalid(finding.SkillsNotDirectory, "%s is a link that leads nowhere: make it a directory", l.dir)
		}
		return nil
	}
	exact, err := l.root.Exact(l.ctx, l.dir)
	switch {
	case err != nil:
		l.invalid(finding.SkillsUnreadable, "%s cannot be looked at: %s", l.dir, report.Cause(err))
		return nil
	case !exact:
		return nil
	case !loc.IsDir():
		l.invalid(finding.SkillsNotDirectory, "%s is no directory: make it one", l.dir)
		return nil
	}
	entries, more, err := l.root.List(l.ctx, loc.Name(), l.opts.Limits.Entries)
	if ctxErr := l.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if err != nil {
		l.invalid(finding.SkillsUnreadable, "%s cannot be read: %s", l.dir, report.Cause(err))
		return nil
	}
	l.out.State = StateLoaded
	if more {
		l.component(finding.SkillsTooMany, "%s has more than %d entries: only the first of them are read", l.dir, l.opts.Limits.Entries)
	}
	for _, e := range entries {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if l.child(loc.Name(), e) {
			l.component(finding.SkillsTooMany, "%s has more than %d skills: only the first of them are loaded", l.dir, l.opts.Limits.Skills)
			break
		}
	}
	return nil
}

// candidate is one entry of the directory that may be a skill.
type candidate struct {
	*loader
	name  string
	sheet report.Sheet
}

// child looks at one entry of the directory. It reports whether the entry is a
// skill beyond the limit.
func (l *loader) child(dir string, e fs.DirEntry) (full bool) {
	c := candidate{loader: l, name: e.Name()}
	c.sheet.File, c.sheet.Subject, c.sheet.Limit = path.Join(l.dir, c.name), c.name, skillFindings
	if len(l.out.Findings) > manyFindings {
		c.sheet.Limit = fewFindings
	}
	if at, ok := c.directory(path.Join(dir, c.name), e); ok {
		full = c.load(at)
	} else if l.opts.Lint && e.Type().IsRegular() {
		c.lintFile()
	}
	l.out.Findings = append(l.out.Findings, c.sheet.Findings()...)
	return full
}

// note takes down what keeps the entry from being a skill, or from being used.
func (c *candidate) note(code finding.Code, format string, args ...any) {
	c.sheet.Add(code, c.name, "", report.Whole, format, args...)
}

// skip is note for a skill.
func (c *candidate) skip(code finding.Code, format string, args ...any) {
	c.note(code, format, args...)
	c.out.Skipped = append(c.out.Skipped, c.name)
}

// directory returns the resolved name of the entry if it is a directory, or a
// link to one inside the root.
func (c *candidate) directory(at string, e fs.DirEntry) (string, bool) {
	if e.IsDir() {
		return at, true
	}
	if e.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", false
	}
	loc, err := c.root.Resolve(at)
	switch {
	case errors.Is(err, paths.ErrLoop) || err == nil && !loc.Exists():
		c.note(finding.SkillDanglingLink, "%s is a link that leads nowhere: remove it", printable.Quote(c.name))
	case errors.Is(err, paths.ErrEscape):
		c.skip(finding.SkillEscapes, "%s leads outside the plugin root: replace the link by the directory itself", printable.Quote(c.name))
	case err != nil:
		c.skip(finding.SkillUnreadable, "%s cannot be looked at: %s", printable.Quote(c.name), report.Cause(err))
	}
	return loc.Name(), err == nil && loc.IsDir()
}

// load reads and judges the SKILL.md in the directory at, if there is one.
func (c *candidate) load(at string) (full bool) {
	file := at + "/" + fileName
	content, err := c.root.AppendFile(c.buf[:0], file, c.opts.Limits.File)
	c.buf = content
	absent := errors.Is(err, fs.ErrNotExist) && !errors.Is(err, paths.ErrDangling)
	if !absent {
		exact, exactErr := c.root.Exact(c.ctx, file)
		absent = exactErr == nil && !exact
	}
	if absent {
		if c.opts.Lint {
			c.lintDirectory(at)
		}
		return false
	}
	c.sheet.File += "/" + fileName
	switch {
	case errors.Is(err, paths.ErrDangling), errors.Is(err, paths.ErrLoop):
		c.note(finding.SkillFileNotRegular, "SKILL.md is a link that leads nowhere, so %s is no skill", printable.Quote(c.name))
		return false
	case errors.Is(err, paths.ErrNotRegular):
		c.note(finding.SkillFileNotRegular, "SKILL.md is no regular file, so %s is no skill", printable.Quote(c.name))
		return false
	case c.found >= c.opts.Limits.Skills:
		return true
	}
	c.found++
	switch {
	case err == nil:
		c.judge(at, content)
	case errors.Is(err, paths.ErrEscape):
		c.skip(finding.SkillEscapes, "SKILL.md leads outside the plugin root: replace the link by the file itself")
	case errors.Is(err, paths.ErrTooLarge):
		c.skip(finding.SkillTooLarge, tooLarge, c.opts.Limits.File)
	default:
		c.skip(finding.SkillUnreadable, "SKILL.md cannot be read: %s", report.Cause(err))
	}
	return false
}

func (c *candidate) judge(at string, content []byte) {
	c.sheet.Source = content
	s := judge(c.name, content, c.opts, &c.sheet)
	if s == nil {
		c.out.Skipped = append(c.out.Skipped, c.name)
		return
	}
	s.root, s.dir, s.location = c.root, at, c.sheet.File
	c.out.Skills = append(c.out.Skills, s)
}
