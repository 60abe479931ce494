package modeltext

import (
	"strings"
)

// Tag is the name of an element that plugberth puts around text for a model.
type Tag string

// The tags. [Neutralize] lets none of them stand in text from outside.
const (
	Catalog   Tag = "available_skills" // all skills, each a Skill
	Skill     Tag = "skill"
	Content   Tag = "skill_content"   // the body of one skill, with its Resources
	Resources Tag = "skill_resources" // the list of a skill's files
	Resource  Tag = "skill_resource"  // one file of a skill
	Result    Tag = "tool_result"     // what a tool answered
)

var tags = []Tag{Catalog, Skill, Content, Resources, Resource, Result}

// Attr is an attribute of a [Fence].
type Attr struct{ Name, Value string }

// Fence returns text between an opening and a closing tag, each on lines of
// its own:
//
//	<skill_content name="review">
//	text
//	</skill_content>
//
// The text and the values of the attributes are cleaned and neutralized, and the
// values put on one line and escaped; tag and the names of attributes are the
// caller's and taken as they are. What text and values hold can neither close
// the fence nor open or close one of the tags above, tag, or one of the reserved
// names, which are those of other elements of the host's prompt. There is no
// line end after the closing tag.
func Fence(tag Tag, attrs []Attr, text string, reserved ...string) string {
	reserved = append(reserved[:len(reserved):len(reserved)], string(tag))
	text = strings.Trim(Neutralize(text, reserved...), "\n")
	var b strings.Builder
	b.Grow(len(text) + 256)
	Open(&b, tag, Neutral(attrs, reserved...)...)
	b.WriteByte('\n')
	if text != "" {
		b.WriteString(text)
		b.WriteByte('\n')
	}
	Close(&b, tag)
	return b.String()
}

// Neutral returns the attributes with their values neutralized. Escaped alone,
// they would make a tag once somebody decodes them.
func Neutral(attrs []Attr, reserved ...string) []Attr {
	out := make([]Attr, len(attrs))
	for i, a := range attrs {
		out[i] = Attr{a.Name, Neutralize(a.Value, reserved...)}
	}
	return out
}

// Open writes an opening tag.
func Open(b *strings.Builder, tag Tag, attrs ...Attr) {
	b.WriteByte('<')
	b.WriteString(string(tag))
	for _, a := range attrs {
		b.WriteByte(' ')
		b.WriteString(a.Name)
		b.WriteString(`="`)
		b.WriteString(Escape(Line(a.Value)))
		b.WriteByte('"')
	}
	b.WriteByte('>')
}

// Close writes a closing tag.
func Close(b *strings.Builder, tag Tag) {
	b.WriteString("</")
	b.WriteString(string(tag))
	b.WriteByte('>')
}

// Element writes an element on one line, with text cleaned, put on one line
// and escaped.
func Element(b *strings.Builder, tag Tag, text string, attrs ...Attr) {
	Open(b, tag, attrs...)
	b.WriteString(Escape(Line(text)))
	Close(b, tag)
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\ufffe", "\ufffd", "\uffff", "\ufffd")

// Escape makes text that is clean safe as the text of an XML element and in an
// attribute in double quotes.
func Escape(s string) string { return xmlEscaper.Replace(s) }
