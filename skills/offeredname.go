package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin/finding"
)

// offerNames gives the skills of one load whose names cannot stand the names
// they are offered under, as [Lenient] says, and completes the findings about
// them. The skills are in the order of their directories.
func offerNames(list []*Skill, skipped []string, findings finding.List) {
	var renamed []*Skill
	for _, s := range list {
		if s.rare != nil && s.rare.renamed {
			s.rare.declared = s.name
			renamed = append(renamed, s)
		}
	}
	if len(renamed) == 0 {
		return
	}
	taken := make(map[string]bool, len(list)+len(skipped))
	for _, s := range list {
		taken[s.directory] = true
	}
	for _, directory := range skipped {
		taken[directory] = true
	}
	chooseNames(renamed, taken)

	offered := make(map[string]string, len(renamed)) // by directory
	for _, s := range renamed {
		offered[s.directory] = s.name
	}
	for i, f := range findings {
		switch f.Code {
		case finding.SkillNameMissingLenient, finding.SkillNameInvalidLenient, finding.SkillNameMismatchLenient:
			if name := offered[f.Subject]; name != "" {
				findings[i].Message = strings.TrimSuffix(f.Message, strictSkips) + "; it is offered as " + printable.Quote(name) + strictSkips
			}
		}
	}
}

// chooseNames names the skills; taken are the directories of the load, which
// keep their names, and then all names.
func chooseNames(list []*Skill, taken map[string]bool) {
	type choice struct {
		*Skill
		slug string
		lost bool
	}
	var open []choice
	wanted := map[string]int{}
	for _, s := range list {
		slug, lost := slugOf(s.rare.declared, s.directory)
		if slug == s.directory {
			s.name = slug
			continue
		}
		if !lost {
			wanted[slug]++
		}
		open = append(open, choice{s, slug, lost})
	}
	// A slug that can stand does so before any name with a hash is made.
	hashed := open[:0]
	for _, c := range open {
		if c.lost || wanted[c.slug] > 1 || taken[c.slug] {
			hashed = append(hashed, c)
			continue
		}
		c.name = c.slug
		taken[c.slug] = true
	}
	for _, c := range hashed {
		for n := 0; ; n++ {
			if c.name = hashedName(c.slug, c.directory, c.rare.declared, n); !taken[c.name] {
				break
			}
		}
		taken[c.name] = true
	}
}

// slugOf returns the slug of a declared name or else of the directory, and
// whether something of it was lost.
func slugOf(declared, directory string) (string, bool) {
	slug, lost := slugify(declared)
	if slug == "" {
		slug, lost = slugify(directory)
	}
	if slug == "" {
		return "skill", true
	}
	return slug, lost
}

func slugify(name string) (slug string, lost bool) {
	var b strings.Builder
	gap := false
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			lost = lost || c >= 0x80
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteByte(c)
	}
	slug = b.String()
	return cutSlug(slug, maxName), lost || len(slug) > maxName
}

// cutSlug returns the first n characters, without a hyphen at their end.
func cutSlug(slug string, n int) string {
	return strings.TrimSuffix(slug[:min(n, len(slug))], "-")
}

// hashedName is the n-th name for a slug that cannot stand alone.
func hashedName(slug, directory, declared string, n int) string {
	const digits = 8
	text := directory + "\x00" + declared
	if n > 0 {
		text += "\x00" + strconv.Itoa(n)
	}
	sum := sha256.Sum256([]byte(text))
	return cutSlug(slug, maxName-1-digits) + "-" + hex.EncodeToString(sum[:digits/2])
}
