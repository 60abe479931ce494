package skills

import (
	"regexp"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// textNode returns text as a YAML node in the form that a person would choose:
// plain where every reader takes it for text, as a block where it has lines, in
// quotes otherwise.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case isPlainText(text):
	case isBlock(text):
		n.Style = yaml.LiteralStyle
	case strings.Contains(text, `"`) && !strings.Contains(text, "'") && !strings.ContainsFunc(text, hidden) || strings.Contains(text, `\`) && !strings.ContainsFunc(text, hidden):
		n.Style = yaml.SingleQuotedStyle
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// hidden reports whether a character does not show itself, or not alone, so
// that it is written as an escape. Joiners stay, which emoji and some scripts
// are written with.
func hidden(r rune) bool {
	return !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d' || r == unicode.ReplacementChar
}

// otherTypes are plain texts that readers of YAML 1.1 take for booleans, and
// for times or numbers in base 60.
var otherTypes = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|[-+]?[0-9][0-9_.:,-]*)$`)

// isPlainText reports whether text can stand without quotes.
func isPlainText(text string) bool {
	if text == "" || strings.ContainsFunc(text, hidden) || strings.TrimSpace(text) != text {
		return false
	}
	if strings.IndexByte("-?:,[]{}#&*!|>'\"%@`~=<.", text[0]) >= 0 {
		return false
	}
	if strings.Contains(text, ": ") || strings.HasSuffix(text, ":") || strings.Contains(text, " #") {
		return false
	}
	return !otherTypes.MatchString(text) && (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag() == "!!str"
}

// isBlock reports whether text can stand as a literal block that shows what it
// holds: lines without blanks at their ends, and no more than one line end last.
func isBlock(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	if !strings.Contains(text, "\n") || body == "" || body[0] == ' ' || body[0] == '\n' || strings.HasSuffix(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.ContainsFunc(line, hidden) || strings.HasSuffix(line, " ") {
			return false
		}
	}
	return true
}
