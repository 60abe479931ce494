package skills

import (
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
