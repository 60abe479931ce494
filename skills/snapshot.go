package skills

import (
	"context"
)

// Snapshot says what was in a set at one time. It is plain data: a host can keep
// it as JSON, to see after a restart what has changed since its user looked at
// the skills.
type Snapshot struct {
	Skills []Stamp `json:"skills"` // sorted by name
}

// Stamp says of one skill, by its Name, where it came from and what was in it.
type Stamp struct {
	Name   string `json:"name"`
	Origin Origin `json:"origin"`
	// Digest is that of [Skill.Digest], or "" where the skill's files could not
	// all be read within the bounds. Two such never count as equal.
	Digest string `json:"digest"`
}

// Snapshot reads the files of all skills of the set, each within the bounds, and
// returns what is in them now. To learn what a reload changes, it has to be
// taken before: the files of a set are not kept. The error is the context's.
func (s *Set) Snapshot(ctx context.Context, bounds Bounds) (Snapshot, error) {
	out := Snapshot{Skills: make([]Stamp, 0, len(s.entries))}
	for _, e := range s.entries {
		digest, err := e.Skill.Digest(ctx, bounds)
		if ctx.Err() != nil {
			return Snapshot{}, ctx.Err()
		}
		if err != nil {
			digest = ""
		}
		out.Skills = append(out.Skills, Stamp{e.Name(), e.Origin, digest})
	}
	return out, nil
}

// Change is a skill that is in two snapshots, Old and New, and not the same.
type Change struct {
	Old Stamp `json:"old"`
	New Stamp `json:"new"`
}

// Changes is what differs between two snapshots: the skills Added, Removed and
// Changed, each list sorted by name as the snapshots are.
type Changes struct {
	Added   []Stamp  `json:"added,omitempty"`
	Removed []Stamp  `json:"removed,omitempty"`
	Changed []Change `json:"changed,omitempty"`
}

// Empty reports whether nothing differs.
func (c Changes) Empty() bool { return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 }

// Compare returns what has to be done to come from old to s: which skills were
// added, which removed, and which of the same name have another content or come
// from another package, directory or file system. Another version with the same
// content is no change.
func (s Snapshot) Compare(old Snapshot) Changes {
	var out Changes
	before := make(map[string]Stamp, len(old.Skills))
	for _, stamp := range old.Skills {
		before[stamp.Name] = stamp
	}
	now := make(map[string]bool, len(s.Skills))
	for _, stamp := range s.Skills {
		now[stamp.Name] = true
		if was, ok := before[stamp.Name]; !ok {
			out.Added = append(out.Added, stamp)
		} else if !was.same(stamp) {
			out.Changed = append(out.Changed, Change{was, stamp})
		}
	}
	for _, stamp := range old.Skills {
		if !now[stamp.Name] {
			out.Removed = append(out.Removed, stamp)
		}
	}
	return out
}

// same reports whether two stamps of one name are of the same skill.
func (s Stamp) same(other Stamp) bool {
	return s.Digest == other.Digest && s.Digest != "" && s.Origin.Kind == other.Origin.Kind && s.Origin.Package == other.Origin.Package
}
