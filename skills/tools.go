package skills

import "strings"

// splitTools splits an allowed-tools value at blanks that do not stand inside
// parentheses: "Bash(git add:*) Read" is two tools (AS).
func splitTools(s string) []string { return splitAt(s, " \t\n\r") }

// splitAt splits s at those characters, outside parentheses.
func splitAt(s, separators string) []string {
	var tools []string
	start, depth := -1, 0
	for i := range len(s) {
		switch c := s[i]; {
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			if start >= 0 {
				tools = append(tools, s[start:i])
				start = -1
			}
			continue
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		tools = append(tools, s[start:])
	}
	return tools
}
