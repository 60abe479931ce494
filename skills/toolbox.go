package skills

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/textpos"
	"github.com/plugberth/plugberth/plugin/finding"
)

// ToolPatterns returns what the allowed-tools key lists, as patterns. Tools may
// be separated by commas too, outside parentheses, because many agents write
// them so. Text that is no pattern is left out and returned apart.
func (s *Skill) ToolPatterns() (patterns []ToolPattern, unread []string) {
	for _, tool := range splitAt(s.tools, " \t\r\n,") {
		if p, err := ParseToolPattern(tool); err == nil {
			patterns = append(patterns, p)
		} else {
			unread = append(unread, tool)
		}
	}
	return patterns, unread
}

// Toolbox is the tools that a host lets skills use. It is data: what a skill
// asks for is granted or refused by the host that acts on the result. The zero
// value refuses everything. Methods may be called from several goroutines.
type Toolbox struct {
	// Tools are the names of the host's tools.
	Tools []string
	// Aliases says which of the host's tools are meant by a name that skills
	// use, such as "Bash": {"run_command"}. Names that are not among Tools are
	// of no effect.
	Aliases map[string][]string
	// IgnoreCase compares names, but not arguments, without regard to the case
	// of the letters a to z.
	IgnoreCase bool
}

// ToolUse says what becomes of the tools that one skill asks for.
type ToolUse struct {
	Tools   []string      // those of the host that the skill may use, in the order of Toolbox.Tools
	Refused []ToolPattern // patterns that name none of them
	Unread  []string      // parts of allowed-tools that are no patterns
}

// Use returns which tools of the box a skill asks for. A pattern with
// parentheses counts like one without: whether a call is covered,
// [Toolbox.Covers] says.
func (b Toolbox) Use(s *Skill) ToolUse {
	patterns, unread := s.ToolPatterns()
	use := ToolUse{Unread: unread}
	named := make([]bool, len(b.Tools))
	for _, p := range patterns {
		matched := false
		for i, tool := range b.Tools {
			if b.names(p, tool) {
				named[i], matched = true, true
			}
		}
		if !matched {
			use.Refused = append(use.Refused, p)
		}
	}
	for i, tool := range b.Tools {
		if named[i] {
			use.Tools = append(use.Tools, tool)
		}
	}
	return use
}

// Covers reports whether allowed-tools of the skill covers a call of a tool of
// the box with that argument, as [ToolPattern.MatchCall] says.
func (b Toolbox) Covers(s *Skill, tool, argument string) bool {
	if !slices.Contains(b.Tools, tool) {
		return false
	}
	patterns, _ := s.ToolPatterns()
	return slices.ContainsFunc(patterns, func(p ToolPattern) bool {
		for _, name := range b.known(tool) {
			if b.fold(p).MatchCall(b.lower(name), argument) {
				return true
			}
		}
		return false
	})
}

// Refused reports the skills that ask for tools and get none: a warning each,
// of the host's policy, at the allowed-tools key.
func (b Toolbox) Refused(list []*Skill) finding.List {
	const shown = 5
	var out finding.List
	for _, s := range list {
		use := b.Use(s)
		if len(use.Tools) > 0 || len(use.Refused)+len(use.Unread) == 0 {
			continue
		}
		var names []string
		for _, p := range use.Refused {
			names = append(names, printable.Quote(p.Name))
		}
		message := "none of the tools that this skill asks for is allowed here"
		if more := len(names) - shown; more > 0 {
			names = append(names[:shown], "…")
		}
		if len(names) > 0 {
			message += ": " + strings.Join(names, ", ")
		}
		at := finding.Place{Subject: s.directory, File: s.location, Pointer: "/allowed-tools"}
		at.Line, at.Column = s.position("allowed-tools")
		out = append(out, finding.New(finding.SkillToolsRefused, at, message))
	}
	return out
}

// names reports whether a pattern names a tool of the box.
func (b Toolbox) names(p ToolPattern, tool string) bool {
	p = b.fold(p)
	return slices.ContainsFunc(b.known(tool), func(name string) bool { return p.MatchName(b.lower(name)) })
}

// known returns the names that a tool of the box is known by.
func (b Toolbox) known(tool string) []string {
	names := []string{tool}
	for alias, tools := range b.Aliases {
		if slices.Contains(tools, tool) {
			names = append(names, alias)
		}
	}
	return names
}

func (b Toolbox) fold(p ToolPattern) ToolPattern {
	p.Name = b.lower(p.Name)
	return p
}

func (b Toolbox) lower(name string) string {
	if !b.IgnoreCase {
		return name
	}
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, name)
}

// position returns the line and column in SKILL.md of a key's value, or zeros.
func (s *Skill) position(key string) (line, column int) {
	off, ok := s.valueOffset(key)
	if !ok {
		return 0, 0
	}
	line, column = textpos.New([]byte(s.front)).Position(off)
	line++ // the opening delimiter
	if s.rare != nil {
		line += s.rare.blank
	}
	return line, column
}

// valueOffset returns where in the frontmatter the value of a key begins.
func (s *Skill) valueOffset(key string) (off int, ok bool) {
	front := []byte(s.front)
	t := &tree{doc: document{front: front}}
	if s.rare != nil && s.rare.front != nil {
		front = s.rare.front
	}
	var doc yaml.Node
	if unmarshal(front, &doc) != nil || len(doc.Content) != 1 {
		return 0, false
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if k := follow(pairs[i]); k.Kind == yaml.ScalarNode && k.Value == key {
			return t.offset(pairs[i+1]), true
		}
	}
	return 0, false
}
