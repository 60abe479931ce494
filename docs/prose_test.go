package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/fixtures"
	"github.com/plugberth/plugberth/plugin/finding"
)

var (
	bracketedRule = regexp.MustCompile(`\[([A-Z][0-9]{1,2})\]`)
	ruleAlone     = regexp.MustCompile(`^\[?([A-Z][0-9]{1,2})\]?$`)
	unfinished    = regexp.MustCompile(`\b(?:TODO|FIXME|TBD)\b`)
	ownAction     = regexp.MustCompile(`\buses:\s*plugberth/plugberth(/\S*)?@`)
	linkedFinding = regexp.MustCompile("\\[`([a-z-]+)`\\]\\((?:docs/)?findings\\.md\\)")
)

// everything returns all lines of a page, those of blocks included.
func (p *page) everything() []proseLine {
	out := append([]proseLine(nil), p.prose...)
	for _, b := range p.blocks {
		for i, line := range b.lines {
			out = append(out, proseLine{b.line + i, line})
		}
	}
	return out
}

// TestProse: the pages name rules, findings and actions that are there, and have
// nothing left to do.
func TestProse(t *testing.T) {
	rules := map[string]bool{}
	for _, r := range fixtures.Rules() {
		rules[r.ID] = true
	}
	named := 0
	for _, p := range markdownFiles(t) {
		for _, line := range p.everything() {
			for _, m := range bracketedRule.FindAllStringSubmatch(line.text, -1) {
				if named++; !rules[m[1]] {
					t.Errorf("%s:%d: there is no rule %s", p.path, line.number, m[1])
				}
			}
			for _, m := range linkedFinding.FindAllStringSubmatch(line.text, -1) {
				if _, ok := finding.Lookup(finding.Code(m[1])); !ok {
					t.Errorf("%s:%d: there is no finding %s", p.path, line.number, m[1])
				}
			}
			for _, m := range ownAction.FindAllStringSubmatch(line.text, -1) {
				if dir := strings.Trim(m[1], "/"); !exists(dir+"/action.yml") && !exists(dir+"/action.yaml") {
					t.Errorf("%s:%d: there is no action in %q", p.path, line.number, dir)
				}
			}
			if m := unfinished.FindString(line.text); m != "" {
				t.Errorf("%s:%d: %s", p.path, line.number, m)
			}
		}
		for _, span := range p.spans() {
			if m := ruleAlone.FindStringSubmatch(span.text); m != nil {
				if named++; !rules[m[1]] {
					t.Errorf("%s:%d: there is no rule %s", p.path, span.number, m[1])
				}
			}
		}
	}
	if named == 0 {
		t.Fatal("no rule was looked at")
	}
}
