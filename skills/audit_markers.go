package skills

import (
	"bytes"
	"strings"

	"github.com/plugberth/plugberth/plugin/finding"
)

// Markers are what chat templates and prompts set off roles, tools and skills
// with. Words inside a sentence are not: what a text asks for is not to be found
// with patterns.

const (
	templateToken = "a special token of a chat template"
	systemTag     = "a tag of a system message"
	toolTag       = "a tag of a tool call"
	skillTag      = "a tag of a list of skills"
	speakerTurn   = "a turn of a conversation"
)

// tagNames are tags that models know, in lower case; a namespace may stand
// before them.
var tagNames = map[string]string{
	"start_of_turn": templateToken, "end_of_turn": templateToken,

	"system": systemTag, "system-prompt": systemTag, "system_prompt": systemTag, "system-message": systemTag, "system_message": systemTag,
	"system-reminder": systemTag, "system_reminder": systemTag, "system-instruction": systemTag, "system_instruction": systemTag,
	"system-instructions": systemTag, "system_instructions": systemTag,

	"function_call": toolTag, "function_calls": toolTag, "function_result": toolTag, "function_results": toolTag, "invoke": toolTag,
	"tool_call": toolTag, "tool_calls": toolTag, "tool_result": toolTag, "tool_results": toolTag, "tool_response": toolTag,

	"available_skills": skillTag, "skill_content": skillTag, "skill_resource": skillTag, "skill_resources": skillTag,
}

// bracketNames are the same in brackets, in upper case only.
var bracketNames = map[string]bool{"INST": true, "SYSTEM_PROMPT": true, "AVAILABLE_TOOLS": true, "TOOL_CALLS": true, "TOOL_RESULTS": true}

// speakers begin a turn in the prompts of completion models, on a line behind a
// blank one.
var speakers = []string{"Human: ", "Assistant: "}

// markerName is how long what stands in a marker may be.
const markerName = 40

// checkMarkers notes markers, and reports whether there are any.
func checkMarkers(s sheet, text []byte) bool {
	found := 0
	note := func(off int, what string) bool {
		if found++; found > auditFaults {
			s.Cut = true
			return false
		}
		s.add(finding.SkillInjectionMarker, off, "this is %s: a model may take what follows for the words of somebody else", what)
		return true
	}
	for i := 0; i < len(text); i++ {
		n := bytes.IndexAny(text[i:], "<[")
		if n < 0 {
			break
		}
		i += n
		if what := marker(text[i:min(len(text), i+4*markerName)]); what != "" && !note(i, what) {
			return true
		}
	}
	for _, speaker := range speakers {
		for at := 0; ; {
			n := bytes.Index(text[at:], []byte(speaker))
			if n < 0 {
				break
			}
			at += n
			if beginsTurn(text[:at]) && !note(at, speakerTurn) {
				return true
			}
			at += len(speaker)
		}
	}
	return found > 0
}

// marker says what a text that begins with < or [ begins with, or "".
func marker(text []byte) string {
	rest := string(text[1:])
	if text[0] == '[' {
		name, _, ok := strings.Cut(strings.TrimPrefix(rest, "/"), "]")
		if ok && bracketNames[name] {
			return "an instruction of a chat template"
		}
		return ""
	}
	for _, bar := range []string{"|", "｜"} { // the second one is wide
		if name, ok := strings.CutPrefix(rest, bar); ok {
			if name, _, ok = strings.Cut(name, bar+">"); ok && name != "" && len(name) <= markerName && !strings.ContainsAny(name, "<> \t\r\n|") {
				return templateToken
			}
			return ""
		}
	}
	if strings.HasPrefix(rest, "<SYS>>") || strings.HasPrefix(rest, "</SYS>>") {
		return "a system part of a chat template"
	}
	rest = strings.TrimPrefix(rest, "/")
	end := 0
	for end < len(rest) && (isNameByte(rest[end]) || rest[end] == ':') {
		end++
	}
	name := rest[:end]
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	what := tagNames[strings.ToLower(name)]
	if what == "" {
		return ""
	}
	// Attributes may follow, and the tag ends in its line.
	attributes, _, ok := strings.Cut(rest[end:], ">")
	if !ok || attributes != "" && attributes[0] != ' ' && attributes[0] != '/' || strings.ContainsAny(attributes, "<\r\n") {
		return ""
	}
	return what
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// beginsTurn reports whether a line begins behind before, and a blank line or
// nothing stands in front of that.
func beginsTurn(before []byte) bool {
	if len(before) == 0 {
		return true
	}
	rest, ok := bytes.CutSuffix(before, []byte("\n"))
	if !ok {
		return false
	}
	line := rest[bytes.LastIndexByte(rest, '\n')+1:]
	return len(bytes.TrimRight(line, " \t\r")) == 0
}
