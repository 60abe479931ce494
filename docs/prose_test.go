package docs

import (
	"regexp"
	"strconv"
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

var groupRow = regexp.MustCompile(`^ *([a-z]+) +(\d+) +(\d+) +(\d+) +(\d+)$`)

// TestNaiveTable: what docs/fixtures.md shows of a loader adds up to the cases
// that there are. That it passes so many is what a run said.
func TestNaiveTable(t *testing.T) {
	counts := map[string]int{}
	for _, c := range fixtures.Cases() {
		group, _, _ := strings.Cut(c.ID, "/")
		counts[group]++
		counts["all"]++
	}
	for _, p := range markdownFiles(t) {
		if p.path != "docs/fixtures.md" {
			continue
		}
		for _, line := range p.everything() {
			m := groupRow.FindStringSubmatch(line.text)
			if m == nil {
				continue
			}
			sum := 0
			for _, text := range m[2:] {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if sum != counts[m[1]] {
				t.Errorf("%s:%d: the row is about %d cases, and there are %d", p.path, line.number, sum, counts[m[1]])
			}
			delete(counts, m[1])
		}
	}
	for group := range counts {
		t.Errorf("the table has no row for %s", group)
	}
}

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
