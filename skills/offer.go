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
	"errors"
	"fmt"
	"strings"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/printable"
)

// Offer is a skill as a host shows it to a model: in a catalog ([CatalogXML],
// [CatalogJSON]), on activation ([Offer.Activate]) and file by file
// ([Offer.ReadResource]).
type Offer struct {
	// Skill is required.
	Skill *Skill
	// Name is the skill name under which it is offered, where that is not
	// the skill's own.
	Name string
	// Package names where the skill comes from, such as a plugin. It is shown
	// to the model unless it is empty.
	Package string
	// Location is the path of SKILL.md as the model can open it, such as an
	// absolute path, where that is not [Skill.Location].
	Location string
}

// Offers returns the skills of one package, in their order, each under its own
// name. The package's name may be empty.
func Offers(pkg string, list ...*Skill) []Offer {
	out := make([]Offer, len(list))
	for i, s := range list {
		out[i] = Offer{Skill: s, Package: pkg}
	}
	return out
}

// ErrOffer is returned for an [Offer] that has no skill, or whose name is no
// skill name.
var ErrOffer = errors.New("skills: the offer cannot be used")

// checked returns the offer with name and location filled in.
func (o Offer) checked() (Offer, error) {
	if o.Skill == nil {
		return o, fmt.Errorf("%w: it has no skill", ErrOffer)
	}
	if o.Name == "" {
		o.Name = o.Skill.name
	}
	if err := CheckName(o.Name); err != nil {
		return o, fmt.Errorf("%w: %s: %w", ErrOffer, printable.Quote(o.Name), err)
	}
	if o.Location == "" {
		o.Location = o.Skill.location
	}
	return o, nil
}

// base returns the directory of the location, which may be of any system.
func (o Offer) base() string {
	dir, ok := strings.CutSuffix(o.Location, fileName)
	if !ok || dir == "" {
		return ""
	}
	if trimmed := strings.TrimRight(dir, `/\`); trimmed != "" {
		return trimmed
	}
	return dir
}

// attrs returns the attributes that say which skill an element is about.
func (o Offer) attrs(first string) []modeltext.Attr {
	attrs := []modeltext.Attr{{Name: first, Value: o.Name}}
	if o.Package != "" {
		attrs = append(attrs, modeltext.Attr{Name: "package", Value: o.Package})
	}
	return attrs
}

// ApproxTokens estimates how many tokens a text costs a language model. It is
// an estimate by character class and no tokenizer: a word of English costs
// about one token, an ASCII letter 14/60, a digit 24/60, other ASCII characters
// 36/60, a blank 3/60, a line end 30/60; a Latin letter beyond ASCII 40/60, a
// Greek, Cyrillic, Armenian, Georgian, Hebrew or Arabic one 24/60; Han, kana and
// Hangul 1, letters and marks of other scripts 40/60, and everything else
// 75/60. For English prose, Markdown, JSON and code it was found within a fifth
// of vocabularies in common use; for other scripts those differ by up to a
// factor of three among themselves.
func ApproxTokens(text string) int { return modeltext.Tokens(text) }
