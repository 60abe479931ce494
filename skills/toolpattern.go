package skills

import (
	"errors"
	"fmt"
	"strings"
)

// ErrToolPattern is wrapped by every error of [ParseToolPattern].
var ErrToolPattern = errors.New("not a tool pattern")

// ToolPattern is one tool of an allowed-tools value, as agents write them: Read,
// Bash(git add:*), mcp__tracker__*, mcp__tracker. The zero value matches nothing.
type ToolPattern struct {
	// Name is the name of the tool, in which * stands for any characters.
	Name string
	// Restricted says that parentheses follow, so that not every call of the
	// tool is meant.
	Restricted bool
	// Argument is what stands in them.
	Argument string
}

// ParseToolPattern reads one pattern: a name without blanks, commas and
// parentheses, then nothing or something in parentheses up to the end.
func ParseToolPattern(text string) (ToolPattern, error) {
	fail := func(reason string) (ToolPattern, error) {
		return ToolPattern{}, fmt.Errorf("%w: %s", ErrToolPattern, reason)
	}
	name, rest, restricted := strings.Cut(text, "(")
	switch {
	case name == "":
		return fail("it has no name")
	case strings.ContainsAny(name, " \t\r\n,)"):
		return fail("its name has a blank, a comma or a parenthesis")
	case !restricted:
		return ToolPattern{Name: name}, nil
	}
	depth := 1
	for i := range len(rest) {
		switch rest[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(rest)-1 {
			return fail("text follows the parentheses")
		}
	}
	if depth > 0 {
		return fail("its parentheses have no end")
	}
	return ToolPattern{Name: name, Restricted: true, Argument: rest[:len(rest)-1]}, nil
}

// String returns the pattern as it is written.
func (p ToolPattern) String() string {
	if p.Restricted {
		return p.Name + "(" + p.Argument + ")"
	}
	return p.Name
}

// MatchName reports whether the pattern names that tool, whatever stands in its
// parentheses. Each * stands for any characters, also none, and all others for
// themselves, letter case included. A name of the form mcp__server, without a
// tool, also stands for every mcp__server__tool.
func (p ToolPattern) MatchName(tool string) bool {
	if p.Name == "" || tool == "" {
		return false
	}
	if matchText(p.Name, tool, nil) {
		return true
	}
	server, ok := strings.CutPrefix(p.Name, "mcp__")
	return ok && server != "" && !strings.Contains(server, "__") && !strings.Contains(server, "*") && strings.HasPrefix(tool, p.Name+"__")
}

// shellMeta are the characters with which a shell begins another command, reads
// or writes a file, or puts something in place of the text.
const shellMeta = ";&|<>()$`\n\r\x00"

// MatchCall reports whether the pattern covers a call of that tool with that
// argument: the command line of a tool that runs commands, and for others the
// text that the host takes for the argument, such as a path or a URL. The name
// must match as in [ToolPattern.MatchName], and the argument the parentheses:
//
//   - no parentheses, and (*), cover every argument
//   - (git add:*) and (git add *) cover "git add" itself and what has a blank
//     behind it, but not "git adds"
//   - in all others each * stands for any characters and the rest for itself;
//     () covers the empty argument only
//
// Where it does not stand alone, what a * or :* stands for holds none of
// ; & | < > ( ) $ `, no line end and no NUL, so that Bash(git add:*) does not
// cover "git add . && curl example.com". It does not know quotes: a call that it
// does not cover is one to ask about. A * also stands for / and .., and nothing
// is resolved: a host that grants files by such patterns has to clean the path
// first.
func (p ToolPattern) MatchCall(tool, argument string) bool {
	if !p.MatchName(tool) {
		return false
	}
	if !p.Restricted || p.Argument == "*" {
		return true
	}
	safe := func(c byte) bool { return strings.IndexByte(shellMeta, c) < 0 }
	command, ok := strings.CutSuffix(p.Argument, ":*")
	if !ok {
		command, ok = strings.CutSuffix(p.Argument, " *")
	}
	if ok && (matchText(command, argument, safe) || matchText(command+" *", argument, safe)) {
		return true
	}
	return !strings.HasSuffix(p.Argument, ":*") && matchText(p.Argument, argument, safe)
}

// matchText reports whether pattern, with * for any bytes that stand allows, is
// the whole of text. It takes time in proportion to both.
func matchText(pattern, text string, stand func(byte) bool) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	covered := func(s string) bool {
		for i := range len(s) {
			if stand != nil && !stand(s[i]) {
				return false
			}
		}
		return true
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		before, after, ok := strings.Cut(text, part)
		if !ok || !covered(before) {
			return false
		}
		text = after
	}
	text, ok = strings.CutSuffix(text, parts[len(parts)-1])
	return ok && covered(text)
}
