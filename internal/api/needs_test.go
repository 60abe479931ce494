package api

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// A need is a line of a file of the directory needs.
type need struct {
	pattern string
	at      string // file and line
}

var needLine = regexp.MustCompile(`^(\S+)(?: {2,}|\t+)(\S.*)$`)

// readNeeds reads all files of a directory.
func readNeeds(fsys fs.FS) ([]need, error) {
	names, err := fs.Glob(fsys, "*.txt")
	if err != nil {
		return nil, err
	}
	var out []need
	for _, name := range names {
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(src), "\n") {
			line = strings.TrimRight(line, " \r")
			if line == "" || line[0] == '#' {
				continue
			}
			at := fmt.Sprintf("%s:%d", path.Base(name), i+1)
			m := needLine.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("%s: no pattern, two blanks and a sentence", at)
			}
			out = append(out, need{pattern: m[1], at: at})
		}
	}
	return out, nil
}

func (n need) matches(key string) bool {
	if prefix, ok := strings.CutSuffix(n.pattern, "*"); ok {
		return strings.HasPrefix(key, prefix)
	}
	return key == n.pattern
}

// judgeNeeds returns what is wrong: identifiers that are not used and serve no
// need, and needs that say nothing.
func (m *module) judgeNeeds(all []identifier, u usage, needs []need) []string {
	var out []string
	serves := make([]int, len(needs)) // identifiers that would be uncovered without the need
	exists := make([]int, len(needs))
	obvious := m.obvious(all)
	for _, id := range all {
		matched := false
		for i, n := range needs {
			if !n.matches(id.key) {
				continue
			}
			matched = true
			exists[i]++
			if !u.named[id.obj] && !obvious[id.obj] {
				serves[i]++
			}
		}
		if !matched && !u.has(id.obj) && !obvious[id.obj] {
			out = append(out, fmt.Sprintf("%s: %s is used by no example and serves no need that is stated", id.pos, id.key))
		}
	}
	for i, n := range needs {
		switch {
		case exists[i] == 0:
			out = append(out, fmt.Sprintf("%s: %s is not in the API", n.at, n.pattern))
		case serves[i] == 0:
			out = append(out, fmt.Sprintf("%s: %s needs no need: an example uses it, or it goes without saying", n.at, n.pattern))
		}
	}
	return out
}
