package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plugberth/plugberth/fixtures"
	"github.com/plugberth/plugberth/plugin/finding"
)

// statuses are in the order of the table's columns.
var statuses = []fixtures.Status{fixtures.Passed, fixtures.Failed, fixtures.Deviates, fixtures.NotRun}

// showText prints what failed and why, then a table.
func showText(out io.Writer, results []fixtures.Result, verbose bool) error {
	var b strings.Builder
	for _, r := range results {
		switch {
		case r.Status == fixtures.Failed:
			fmt.Fprintf(&b, "FAILED %s\n", clean(r.Explain()))
		case r.Status == fixtures.Deviates:
			fmt.Fprintf(&b, "deviation  %s: %s\n", r.Case.ID, finding.Escape(r.Reason))
		case verbose && r.Status == fixtures.NotRun:
			fmt.Fprintf(&b, "not run    %s: %s\n", r.Case.ID, finding.Escape(r.Reason))
		case verbose:
			fmt.Fprintf(&b, "passed     %s\n", r.Case.ID)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, list []fixtures.Result) {
		fmt.Fprintf(table, "%s\t", name)
		for _, s := range statuses {
			fmt.Fprintf(table, "%d\t", count(list, s))
		}
		fmt.Fprintln(table)
	}
	fmt.Fprint(table, "group\t")
	for _, s := range statuses {
		fmt.Fprintf(table, "%s\t", s)
	}
	fmt.Fprintln(table)
	for _, group := range fixtures.Groups() {
		if list := ofGroup(results, group); len(list) > 0 {
			row(group, list)
		}
	}
	row("all", results)
	table.Flush()
	for _, reason := range whyNotRun(results) {
		fmt.Fprintf(&b, "\nnot run: %s", reason)
	}
	if count(results, fixtures.NotRun) > 0 {
		b.WriteByte('\n')
	}
	if broken := brokenRules(results); len(broken) > 0 {
		fmt.Fprintf(&b, "\nrules that a failed case is about: %s\n", strings.Join(broken, ", "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// whyNotRun says how many cases were left out for which reason.
func whyNotRun(results []fixtures.Result) (out []string) {
	n := map[string]int{}
	for _, r := range results {
		if r.Status == fixtures.NotRun {
			n[r.Reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d, %s", n[reason], finding.Escape(reason)))
	}
	return out
}

// clean escapes what does not print, line by line.
func clean(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = finding.Escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

func ofGroup(results []fixtures.Result, group string) (out []fixtures.Result) {
	for _, r := range results {
		if r.Case.Group == group {
			out = append(out, r)
		}
	}
	return out
}

// brokenRules are the rules whose own cases failed, with how many of how many.
func brokenRules(results []fixtures.Result) (out []string) {
	for _, rule := range fixtures.Rules() {
		all, failed := 0, 0
		for _, r := range results {
			if r.Case.Rules[0] == rule.ID {
				all++
				if r.Status == fixtures.Failed {
					failed++
				}
			}
		}
		if failed > 0 {
			out = append(out, fmt.Sprintf("%s (%d of %d)", rule.ID, failed, all))
		}
	}
	return out
}

// The JSON document, for programs.
type document struct {
	Passed     int         `json:"passed"`
	Failed     int         `json:"failed"`
	Deviations int         `json:"deviations"`
	NotRun     int         `json:"notRun"`
	Cases      []caseEntry `json:"cases"`
}

type caseEntry struct {
	ID           string              `json:"id"`
	Title        string              `json:"title"`
	Rules        []string            `json:"rules"`
	Section      string              `json:"section"`
	Choice       bool                `json:"choice"`
	Status       fixtures.Status     `json:"status"`
	Reason       string              `json:"reason,omitempty"`
	Mismatches   []fixtures.Mismatch `json:"mismatches,omitempty"`
	Milliseconds int64               `json:"milliseconds"`
}

func showJSON(out io.Writer, results []fixtures.Result) error {
	d := document{
		Passed: count(results, fixtures.Passed), Failed: count(results, fixtures.Failed),
		Deviations: count(results, fixtures.Deviates), NotRun: count(results, fixtures.NotRun),
		Cases: []caseEntry{},
	}
	for _, r := range results {
		d.Cases = append(d.Cases, caseEntry{
			r.Case.ID, r.Case.Title, r.Case.Rules, r.Case.Section, r.Case.Choice,
			r.Status, r.Reason, r.Mismatches, r.Duration.Milliseconds(),
		})
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return err
	}
	_, err := out.Write(visible(text.Bytes()))
	return err
}

// visible returns a JSON text in which characters that do not print as
// themselves stand as escapes: it means the same and cannot act on a terminal.
func visible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || r < utf8.RuneSelf || finding.Escape(string(r)) == string(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// The elements of JUnit's XML that programs agree on.
type (
	testSuites struct {
		XMLName xml.Name    `xml:"testsuites"`
		Suites  []testSuite `xml:"testsuite"`
	}
	testSuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Failure *message `xml:"failure"`
		Skipped *message `xml:"skipped"`
	}
	message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func writeJUnit(name string, results []fixtures.Result) error {
	var doc testSuites
	for _, group := range fixtures.Groups() {
		list := ofGroup(results, group)
		if len(list) == 0 {
			continue
		}
		suite := testSuite{
			Name: group, Tests: len(list), Failures: count(list, fixtures.Failed),
			Skipped: count(list, fixtures.NotRun) + count(list, fixtures.Deviates),
		}
		total := 0.0
		for _, r := range list {
			total += r.Duration.Seconds()
			tc := testCase{
				Class: group + "." + r.Case.Rules[0], Name: strings.TrimPrefix(r.Case.ID, group+"/"),
				Time: fmt.Sprintf("%.3f", r.Duration.Seconds()),
			}
			switch r.Status {
			case fixtures.Failed:
				tc.Failure = &message{r.Case.Title, clean(r.Explain())}
			case fixtures.NotRun:
				tc.Skipped = &message{Message: r.Reason}
			case fixtures.Deviates:
				tc.Skipped = &message{Message: "known deviation: " + r.Reason}
			}
			suite.Cases = append(suite.Cases, tc)
		}
		suite.Time = fmt.Sprintf("%.3f", total)
		doc.Suites = append(doc.Suites, suite)
	}
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(xml.Header+string(out)+"\n"), 0o644)
}
