package main

import (
	"errors"
	"strings"
)

// words splits a command line as a shell does, without expanding anything:
// blanks separate words; single quotes keep all between them; double quotes
// keep all but a backslash before a quote, backslash, dollar or backtick; a
// backslash elsewhere keeps the next character. No operator, variable, pattern
// or comment means anything.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	started := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n', '\r':
			if started {
				out = append(out, word.String())
				word.Reset()
				started = false
			}
			continue
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case '"':
			for i++; ; i++ {
				if i >= len(line) {
					return nil, errors.New("a double quote is not closed")
				}
				if line[i] == '"' {
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
		case '\\':
			if i+1 == len(line) {
				return nil, errors.New("a backslash ends the line")
			}
			i++
			word.WriteByte(line[i])
		default:
			word.WriteByte(c)
		}
		started = true
	}
	if started {
		out = append(out, word.String())
	}
	if len(out) == 0 {
		return nil, errors.New("it is empty")
	}
	return out, nil
}
