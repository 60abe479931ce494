package skills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

// Skill is one skill that conforms, or that [Lenient] mode keeps. It is made by
// [Load] or [Parse], is immutable and safe for concurrent use. The zero value is
// a skill without a name or content.
type Skill struct {
	name          string
	directory     string
	description   string
	license       string
	compatibility string
	metadata      map[string]string
	tools         string
	front         string
	rare          *rare // nil for most skills

	location string
	root     *paths.Root // nil for a parsed skill
	dir      string      // of the skill, resolved, in root
	limits   Limits
	mode     Mode
}

// rare is what few skills have.
type rare struct {
	extra    []string // keys that the specification does not define
	renamed  bool     // the skill is not offered under the name it declares
	declared string   // that name, "" where there is none
	front    []byte   // the frontmatter with some values in quotes, nil where it is read as it is
	blank    int      // lines before the opening delimiter
}

// rarely returns s.rare, made when first needed.
func (s *Skill) rarely() *rare {
	if s.rare == nil {
		s.rare = &rare{}
	}
	return s.rare
}

// Name returns the name under which the skill is offered: always valid as
// [CheckName] says, and unique among the skills of one load. It is the name
// that SKILL.md declares (AS), unless [Lenient] mode had to find another.
func (s *Skill) Name() string { return s.name }

// Declared returns the name that SKILL.md declares, or "" where it declares
// none. It differs from [Skill.Name] in [Lenient] mode only, and may then be any
// text: use finding.Escape to show it.
func (s *Skill) Declared() string {
	if s.rare != nil && s.rare.renamed {
		return s.rare.declared
	}
	return s.name
}

// Directory returns the name of the skill's directory.
func (s *Skill) Directory() string { return s.directory }

// Description returns what the skill does and when to use it, exactly as the
// YAML value reads, blanks at its ends included (AS). It has at most 1,024
// characters between them, in [Lenient] mode 8,192.
func (s *Skill) Description() string { return s.description }

// License returns the license key, or "" where there is none (AS).
func (s *Skill) License() string { return s.license }

// Compatibility returns the compatibility key, or "" where there is none (AS). It
// has at most 500 characters; in [Lenient] mode only the frontmatter bounds it.
func (s *Skill) Compatibility() string { return s.compatibility }

// Metadata returns a copy of the metadata mapping, nil where there is none (AS).
// A value that [Lenient] mode kept as YAML text is read with [Skill.Decode] as
// what it is.
func (s *Skill) Metadata() map[string]string { return maps.Clone(s.metadata) }

// AllowedTools returns the tools of the allowed-tools key, split at blanks
// outside parentheses (AS). [Skill.ToolPatterns] reads them as patterns.
func (s *Skill) AllowedTools() []string { return splitTools(s.tools) }

// ExtraKeys returns the frontmatter keys that the specification does not
// define, in document order. [Skill.Decode] reads them.
func (s *Skill) ExtraKeys() []string {
	if s.rare == nil {
		return nil
	}
	return slices.Clone(s.rare.extra)
}

// Frontmatter returns the YAML between the delimiters, unchanged.
func (s *Skill) Frontmatter() string { return s.front }

// Location returns the path of SKILL.md as the package spells it, relative to
// the root and slash-separated, such as "skills/review/SKILL.md". It is "" for
// a skill that was parsed without a directory.
func (s *Skill) Location() string { return s.location }

// ErrNoKey is returned by [Skill.Decode] for a key that is not there.
var ErrNoKey = errors.New("skills: the frontmatter has no such key")

// Decode stores the value of a frontmatter key, of the specification or not,
// in the value that into points to, as gopkg.in/yaml.v3 does. It fails with
// [ErrNoKey] or the YAML reader's error.
func (s *Skill) Decode(key string, into any) error {
	front := []byte(s.front)
	if s.rare != nil && s.rare.front != nil {
		front = s.rare.front
	}
	var doc yaml.Node
	if err := unmarshal(front, &doc); err != nil {
		return err
	}
	if len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		pairs := doc.Content[0].Content
		for i := 0; i < len(pairs); i += 2 {
			if k := follow(pairs[i]); k.Kind == yaml.ScalarNode && k.Value == key {
				return decode(pairs[i+1], into)
			}
		}
	}
	return ErrNoKey
}

func decode(n *yaml.Node, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return n.Decode(into)
}

// ErrNoFiles is returned where a skill has no directory to read from, because
// it was made by [Parse].
var ErrNoFiles = errors.New("skills: the skill was not loaded from a directory")

// ErrChanged is returned by [Skill.Body] and what reads it where SKILL.md no
// longer has frontmatter: load the skill again.
var ErrChanged = errors.New("skills: SKILL.md has changed since it was loaded")

// Body reads SKILL.md again and returns what follows the closing delimiter,
// unchanged, also where it is not UTF-8 (AS). It fails with [ErrNoFiles],
// [ErrChanged], paths.ErrTooLarge where the file has grown over the limit, and as
// [paths.Root.Open] does, with fs.ErrNotExist for instance. The error shows the
// skill's place escaped.
func (s *Skill) Body() (string, error) {
	if s.root == nil {
		return "", ErrNoFiles
	}
	file, err := s.root.AppendFile(nil, s.dir+"/"+fileName, s.limits.File)
	if err != nil {
		return "", fmt.Errorf("skills: %s: %w", printable.Quote(s.location), report.Innermost(err))
	}
	doc, f := split(file, s.mode)
	if f != nil {
		return "", fmt.Errorf("%w: %s: %s", ErrChanged, printable.Quote(s.location), printable.Escape(f.message))
	}
	return string(doc.body), nil
}

// FS returns the skill's directory as a file system. It opens regular files
// and directories only; links are followed and contained in the root that the
// skill was loaded from (AP §4.1), and fail with paths.ErrEscape otherwise.
func (s *Skill) FS() (fs.FS, error) {
	if s.root == nil {
		return nil, ErrNoFiles
	}
	return fs.Sub(s.root, s.dir)
}

// Resource is a file beside SKILL.md.
type Resource struct {
	Path string // relative to the skill's directory, slash-separated; opens with [Skill.FS]
	Size int64  // in bytes
}

// Resources lists the regular files of the skill's directory and below,
// SKILL.md left out, in the order in which fs.WalkDir would meet them, at most
// max of them; a max of 0 or less means 1,000. More reports that there are others: beyond
// max or the limits, that cannot be opened, in a directory that cannot be read, or with a name that is not UTF-8, which [Skill.FS] cannot open. Links to files and directories
// inside the root count as what they lead to; those that lead outside, nowhere
// or back into themselves are left out. It fails with [ErrNoFiles], where the
// skill's directory cannot be read, and with the context's error.
func (s *Skill) Resources(ctx context.Context, max int) (list []Resource, more bool, err error) {
	if s.root == nil {
		return nil, false, ErrNoFiles
	}
	if max <= 0 {
		max = 1000
	}
	release, err := s.root.Hold()
	if err != nil {
		return nil, false, err
	}
	defer release()
	l := lister{ctx: ctx, root: s.root, max: max, entries: s.limits.Entries}
	err = l.walk(s.dir, "", s.limits.Depth)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, false, err
	}
	return l.list, l.more, nil
}

// lister collects the files below a directory.
type lister struct {
	ctx     context.Context
	root    *paths.Root
	max     int
	entries int      // that may still be read
	open    []string // resolved directories on the way, to notice a link back
	list    []Resource
	more    bool // something was left out
	full    bool // nothing more is to be added
}

// walk lists the directory dir, resolved, whose files appear below prefix.
func (l *lister) walk(dir, prefix string, depth int) error {
	if depth <= 0 || l.entries <= 0 {
		l.more = true
		l.full = l.entries <= 0
		return nil
	}
	if slices.Contains(l.open, dir) {
		return nil
	}
	l.open = append(l.open, dir)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	entries, more, err := l.root.List(l.ctx, dir, l.entries)
	if err != nil {
		return err
	}
	l.more = l.more || more
	l.entries -= len(entries)
	for _, e := range entries {
		if l.full || l.ctx.Err() != nil {
			break
		}
		name := prefix + e.Name()
		loc, err := l.root.Resolve(dir + "/" + e.Name())
		switch {
		case err != nil || name == fileName:
		case loc.IsDir():
			if err := l.walk(loc.Name(), name+"/", depth-1); err != nil && !errors.Is(err, fs.ErrNotExist) {
				l.more = true
			}
		case loc.IsRegular() && len(l.list) == l.max:
			l.more, l.full = true, true
		case loc.IsRegular():
			info, err := l.root.Stat(loc.Name())
			if err == nil {
				l.list = append(l.list, Resource{Path: name, Size: info.Size()})
			} else if !errors.Is(err, fs.ErrNotExist) {
				l.more = true
			}
		}
	}
	return nil
}
