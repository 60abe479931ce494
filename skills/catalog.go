package skills

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/plugberth/plugberth/internal/modeltext"
)

// CatalogOptions choose how a catalog is rendered. The zero value shows
// locations and holds the default bound.
type CatalogOptions struct {
	// MaxBytes bounds the text. Zero or less means 64 KiB; less than 256 is an
	// error.
	MaxBytes int
	// NoLocations leaves locations out, for a host that activates skills by a
	// tool of its own.
	NoLocations bool
}

const (
	defaultCatalog = 64 << 10
	minCatalog     = 256
)

// Catalog is the list of skills for a system prompt or the description of a
// tool, rendered by [CatalogXML] or [CatalogJSON].
//
// The skills stand in the order in which they were given, which is that of
// their precedence: of two with one name the later is left out. Descriptions
// stand on one line, cut after 1,024 characters. Where the whole is larger than
// the bound, skills are cut from the end: the first ones stay whole as long as
// there is room for a stub of each later one, which is one line with its name
// alone. Where there is no room for all the stubs either, none is whole, the
// first stubs stay, and the number of those omitted ends the list. The bound
// is kept in any case.
type Catalog struct {
	Text      string   // nothing for no skills
	Tokens    int      // approximate, see [ApproxTokens]
	Shortened []string // names of skills shown whole with a description that was cut
	Stubs     []string // names of skills shown by name alone
	Omitted   []string // names of skills not shown for want of room
	Shadowed  []Offer  // left out because an offer before them has their name
}

// CatalogXML renders a catalog in the form that the Agent Skills documentation
// suggests:
//
//	<available_skills>
//	<skill>
//	<name>review</name>
//	<description>Reviews a change.</description>
//	<location>skills/review/SKILL.md</location>
//	<package>reports</package>
//	</skill>
//	<skill><name>stub</name></skill>
//	<omitted>3</omitted>
//	</available_skills>
//
// Location and package are left out where they are empty, omitted where nothing
// is. Control, bidi, zero-width, tag and other hidden characters are removed
// from all text, and the rest is escaped: the result is well-formed XML whose
// structure no text in it can change. It fails with [ErrOffer], and with
// [ErrOptions] for a bound that is too small to hold anything.
func CatalogXML(offers []Offer, opts CatalogOptions) (Catalog, error) {
	return renderCatalog(offers, opts, xmlCatalog{})
}

// CatalogJSON renders a catalog as one JSON object: "skills", an array of
// objects with name, description, location and package, of which a stub has the
// name alone, and "omitted", the number of those left out for want of room,
// where there are any. What holds for text in [CatalogXML] holds here; besides,
// <, > and & stand as escapes, so that the object can stand between tags.
func CatalogJSON(offers []Offer, opts CatalogOptions) (Catalog, error) {
	return renderCatalog(offers, opts, jsonCatalog{})
}

// catalogEntry is one skill of a catalog, its text on one line and clean.
type catalogEntry struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Location    string `json:"location,omitempty"`
	Package     string `json:"package,omitempty"`
}

// catalogForm is how a catalog is written.
type catalogForm interface {
	open() string
	entry(catalogEntry) string // with what separates it from the next
	end(omitted int) string    // 0 for none
	// last takes off what separates an entry from the next.
	last(entry string) string
}

func renderCatalog(offers []Offer, opts CatalogOptions, form catalogForm) (Catalog, error) {
	limit := opts.MaxBytes
	switch {
	case limit <= 0:
		limit = defaultCatalog
	case limit < minCatalog:
		return Catalog{}, fmt.Errorf("%w: a catalog of %d bytes holds nothing: allow %d", ErrOptions, limit, minCatalog)
	}
	var c Catalog
	var names, full, stubs []string
	seen := make(map[string]bool, len(offers))
	cut := map[string]bool{}
	size := len(form.open()) + len(form.end(0))
	fullSize, stubSize := size, size
	for _, given := range offers {
		o, err := given.checked()
		if err != nil {
			return Catalog{}, err
		}
		if seen[o.Name] {
			c.Shadowed = append(c.Shadowed, given)
			continue
		}
		seen[o.Name] = true
		e := catalogEntry{Name: o.Name, Package: modeltext.Line(o.Package)}
		e.Description, cut[o.Name] = shorten(modeltext.Line(o.Skill.description), MaxDescription)
		if !opts.NoLocations {
			e.Location = modeltext.Line(o.Location)
		}
		names = append(names, o.Name)
		full = append(full, form.entry(e))
		stubs = append(stubs, form.entry(catalogEntry{Name: o.Name}))
		fullSize += len(full[len(full)-1])
		stubSize += len(stubs[len(stubs)-1])
	}
	if len(names) == 0 {
		return c, nil
	}

	whole, shown := len(names), len(names)
	if fullSize > limit {
		whole = 0
		for size = stubSize; whole < shown && size+len(full[whole])-len(stubs[whole]) <= limit; whole++ {
			size += len(full[whole]) - len(stubs[whole])
		}
		for shown > 0 && size > limit {
			shown--
			size += len(form.end(len(names)-shown)) - len(form.end(max(len(names)-shown-1, 0))) - len(stubs[shown])
		}
	}
	c.Stubs, c.Omitted = names[whole:shown:shown], names[shown:]
	for _, name := range names[:whole] {
		if cut[name] {
			c.Shortened = append(c.Shortened, name)
		}
	}
	var b strings.Builder
	b.Grow(min(fullSize, limit))
	b.WriteString(form.open())
	for i := range shown {
		text := stubs[i]
		if i < whole {
			text = full[i]
		}
		if i == shown-1 {
			text = form.last(text)
		}
		b.WriteString(text)
	}
	b.WriteString(form.end(len(c.Omitted)))
	c.Text = b.String()
	c.Tokens = ApproxTokens(c.Text)
	return c, nil
}

// shorten cuts a text to max characters, the last of which then is an ellipsis.
func shorten(s string, max int) (string, bool) {
	if len(s) <= max {
		return s, false
	}
	n, at := 0, len(s)
	for i := range s {
		if n == max-1 {
			at = i
		}
		if n == max {
			return strings.TrimRight(s[:at], " ") + "…", true
		}
		n++
	}
	return s, false
}

type xmlCatalog struct{}

func (xmlCatalog) open() string { return "<" + string(modeltext.Catalog) + ">\n" }

func (xmlCatalog) entry(e catalogEntry) string {
	var b strings.Builder
	modeltext.Open(&b, modeltext.Skill)
	line := func(tag modeltext.Tag, text string) {
		if text != "" {
			b.WriteByte('\n')
			modeltext.Element(&b, tag, text)
		}
	}
	if e == (catalogEntry{Name: e.Name}) {
		modeltext.Element(&b, "name", e.Name)
	} else {
		line("name", e.Name)
		line("description", e.Description)
		line("location", e.Location)
		line("package", e.Package)
		b.WriteByte('\n')
	}
	modeltext.Close(&b, modeltext.Skill)
	b.WriteByte('\n')
	return b.String()
}

func (xmlCatalog) last(entry string) string { return entry }

func (xmlCatalog) end(omitted int) string {
	var b strings.Builder
	if omitted > 0 {
		modeltext.Element(&b, "omitted", strconv.Itoa(omitted))
		b.WriteByte('\n')
	}
	modeltext.Close(&b, modeltext.Catalog)
	return b.String()
}

type jsonCatalog struct{}

func (jsonCatalog) open() string { return "{\"skills\":[\n" }

func (jsonCatalog) entry(e catalogEntry) string {
	text, _ := json.Marshal(e) // four strings: it cannot fail
	return string(text) + ",\n"
}

func (jsonCatalog) last(entry string) string { return strings.TrimSuffix(entry, ",\n") + "\n" }

func (jsonCatalog) end(omitted int) string {
	if omitted > 0 {
		return "],\"omitted\":" + strconv.Itoa(omitted) + "}"
	}
	return "]}"
}
