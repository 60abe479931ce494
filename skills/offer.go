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
	renamed := map[string]string{} // by directory
	for _, s := range list {
		if s.rare != nil && s.rare.renamed {
			s.rare.declared = s.name
			renamed[s.directory] = ""
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
	type slugged struct {
		*Skill
		slug string
		lost bool
	}
	var open []slugged
	wanted := map[string]int{}
	for _, s := range list {
		if _, ok := renamed[s.directory]; !ok {
			continue
		}
		slug, lost := slugOf(s.rare.declared, s.directory)
		if slug == s.directory {
			s.name = slug
			continue
		}
		if !lost {
			wanted[slug]++
		}
		open = append(open, slugged{s, slug, lost})
	}
	free := func(s slugged) bool { return !s.lost && wanted[s.slug] == 1 && !taken[s.slug] }
	claimed := map[string]bool{}
	for _, s := range open {
		if free(s) {
			claimed[s.slug] = true
		}
	}
	for _, s := range open {
		if free(s) {
			s.name = s.slug
			continue
		}
		for n := 0; ; n++ {
			s.name = hashedName(s.slug, s.directory, s.rare.declared, n)
			if !taken[s.name] && !claimed[s.name] {
				break
			}
		}
		claimed[s.name] = true
	}
	for _, s := range list {
		if _, ok := renamed[s.directory]; ok {
			renamed[s.directory] = s.name
		}
	}
	for i, f := range findings {
		switch f.Code {
		case finding.SkillNameMissingLenient, finding.SkillNameInvalidLenient, finding.SkillNameMismatchLenient:
			if name := renamed[f.Subject]; name != "" {
				findings[i].Message += "; it is offered as " + printable.Quote(name)
			}
			findings[i].Message += strictSkips
		}
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
	return cutSlug(slug, MaxName), lost || len(slug) > MaxName
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
	return cutSlug(slug, MaxName-1-digits) + "-" + hex.EncodeToString(sum[:digits/2])
}
