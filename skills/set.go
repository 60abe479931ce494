package skills

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Kind says what kind of source skills come from. The zero value is the one that
// is trusted least.
type Kind uint8

// The kinds.
const (
	KindPackage   Kind = iota // a plugin package: never comes before the other kinds
	KindDirectory             // a directory of the user or the project, such as .agents/skills
	KindEmbedded              // a file system that the host brings along
)

var kindNames = [...]string{"package", "directory", "embedded"}

// String returns "package", "directory" or "embedded".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// MarshalText returns the same as String, or an error for an unknown kind.
func (k Kind) MarshalText() ([]byte, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	return []byte(k.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("skills: %q is no kind of source", text)
}

func (k Kind) check() error {
	if int(k) < len(kindNames) {
		return nil
	}
	return fmt.Errorf("skills: kind %d of a source is unknown", k)
}

// Origin says where skills come from.
type Origin struct {
	Kind    Kind   `json:"kind"`
	Package string `json:"package"`           // the name of the plugin, or what the host calls the directory or file system
	Version string `json:"version,omitempty"` // that the package declares, "" where it declares none
}

// String returns the origin in words, such as `the package "tools" 1.2.0`, safe
// to show.
func (o Origin) String() string {
	text := "the " + o.Kind.String() + " " + printable.Quote(o.Package)
	if o.Version != "" {
		text += " " + printable.Escape(o.Version)
	}
	return text
}

// Source is Skills of one Origin, such as those of a [Listing].
type Source struct {
	Origin Origin
	Skills []*Skill
}

// Entry is a skill of a set, with its origin.
type Entry struct {
	Skill  *Skill
	Origin Origin
}

// Name returns the skill's name.
func (e Entry) Name() string { return e.Skill.Name() }

// Offer returns the entry as a catalog or an activation shows it, with the
// package of its origin.
func (e Entry) Offer() Offer { return Offer{Skill: e.Skill, Package: e.Origin.Package} }

// Shadow is a skill that is not offered because another has its name.
type Shadow struct {
	Entry
	By Entry // the one that is offered
}

// SetOptions choose what is in a [Set]. The zero value takes all skills.
type SetOptions struct {
	// Filter says of each skill whether the host offers it; nil means all. What
	// it leaves out shadows nothing. It is called for one skill after the other.
	Filter func(Entry) bool
}

// Set is the skills that a host offers, from several sources: at most one of
// each name. It is made by [NewSet], is immutable and safe for concurrent use;
// to reload, make another from sources that were loaded again, and compare the
// snapshots of both. The zero value is empty.
type Set struct {
	entries  []Entry // by name
	shadowed []Shadow
	findings finding.List
}

// NewSet makes a set of the skills of some sources. Of skills with one name the
// first counts and the others are shadowed: sources come in the order given,
// but packages after all others, so that a package never takes the place of a
// skill of the host, its user or project. The error is for a source of unknown
// kind.
func NewSet(opts SetOptions, sources ...Source) (*Set, error) {
	var candidates []Entry
	for _, packages := range []bool{false, true} {
		for _, source := range sources {
			if err := source.Origin.Kind.check(); err != nil {
				return nil, err
			}
			if (source.Origin.Kind == KindPackage) != packages {
				continue
			}
			for _, s := range source.Skills {
				if e := (Entry{s, source.Origin}); s != nil && (opts.Filter == nil || opts.Filter(e)) {
					candidates = append(candidates, e)
				}
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b Entry) int { return cmp.Compare(a.Name(), b.Name()) })
	set := &Set{}
	for _, e := range candidates {
		if n := len(set.entries); n > 0 && set.entries[n-1].Name() == e.Name() {
			set.shadow(Shadow{e, set.entries[n-1]})
			continue
		}
		set.entries = append(set.entries, e)
	}
	return set, nil
}

func (s *Set) shadow(one Shadow) {
	s.shadowed = append(s.shadowed, one)
	s.findings = append(s.findings, finding.New(finding.SkillShadowed,
		finding.Place{Subject: one.Skill.directory, File: one.Skill.location},
		fmt.Sprintf("%s of %s is not offered: %s has one of that name and comes first", printable.Quote(one.Name()), one.Origin, one.By.Origin)))
}

// Entries returns the skills with their origins, sorted by name.
func (s *Set) Entries() []Entry { return slices.Clone(s.entries) }

// Offers returns the entries as a catalog or an activation shows them, each with
// the package of its origin.
func (s *Set) Offers() []Offer {
	out := make([]Offer, len(s.entries))
	for i, e := range s.entries {
		out[i] = e.Offer()
	}
	return out
}

// Lookup returns the skill of that name.
func (s *Set) Lookup(name string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(s.entries, name, func(e Entry, name string) int { return cmp.Compare(e.Name(), name) })
	if !ok {
		return Entry{}, false
	}
	return s.entries[i], true
}

// Shadowed returns the skills that are not offered because another has their
// name, sorted by name and then in the order in which they would have counted.
func (s *Set) Shadowed() []Shadow { return slices.Clone(s.shadowed) }

// Findings returns a warning for each shadowed skill, in the order of
// [Set.Shadowed]. Its file is relative to the root of the skill's source.
func (s *Set) Findings() finding.List { return slices.Clone(s.findings) }
