package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// clean makes text from a package safe for a terminal and within a line of a CI
// log.
func clean(s string) string {
	return logCommand.ReplaceAllString(finding.Escape(s), `#\x23$1[`)
}

// logCommand is how a command to a CI system begins that may stand anywhere in a
// line, such as ##[error] and ##vso[task.complete].
var logCommand = regexp.MustCompile(`##([a-z]*)\[`)

// inert makes a line one that a CI system takes for no command: neither as above
// nor as ::error::, which counts after blanks.
func inert(line string) string {
	line = logCommand.ReplaceAllString(line, `#\x23$1[`)
	if rest := strings.TrimLeftFunc(line, unicode.IsSpace); strings.HasPrefix(rest, "::") {
		return line[:len(line)-len(rest)] + `\x3a` + rest[1:]
	}
	return line
}

// text prints results for people.
type text struct {
	out    io.Writer
	err    error // the first of writing
	color  bool
	paths  int
	shown  int
	loaded int
	failed int // could not be read
	total  tally
}

// tally counts what a summary tells.
type tally struct {
	skills, servers, skipped int
	found                    map[finding.Severity]int
}

func newText(out io.Writer, paths int) *text {
	return &text{
		out: out, paths: paths, total: tally{found: map[finding.Severity]int{}},
		color: isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// The styles, as the parameters of a terminal's SGR sequence.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	yellow = "33"
	cyan   = "36"
)

func (t *text) style(s, style string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

func (t *text) line(format string, args ...any) {
	if _, err := io.WriteString(t.out, inert(fmt.Sprintf(format, args...))+"\n"); t.err == nil {
		t.err = err
	}
}

func (t *text) result(r *result) error {
	if t.shown > 0 {
		t.line("")
	}
	t.shown++
	sum := tally{found: map[finding.Severity]int{}}
	for _, f := range r.findings {
		sum.found[f.Severity]++
	}
	name := clean(r.path)
	if p := r.plugin; p == nil {
		t.line("%s  %s", t.style(clean(r.path), bold), t.style("rejected", red))
	} else {
		t.loaded++
		name = p.Name()
		t.heading(r)
		t.skills(p)
		t.servers(p, r.plans)
		sum.skills, sum.servers = len(p.Skills()), len(p.Servers())
		sum.skipped = len(p.SkippedSkills()) + len(p.SkippedServers())
	}
	t.findings(r.findings)
	t.line("")
	state := "rejected"
	if r.plugin != nil {
		state = fmt.Sprintf("%s, %s, %d skipped", count(sum.skills, "skill"), count(sum.servers, "server"), sum.skipped)
	}
	t.line("%s: %s; %s", t.style(name, bold), state, t.severities(sum))
	t.total.skills += sum.skills
	t.total.servers += sum.servers
	t.total.skipped += sum.skipped
	for s, n := range sum.found {
		t.total.found[s] += n
	}
	return t.err
}

func (t *text) unreadable(string, error) { t.failed++ }

func (t *text) end(int) error {
	if t.paths < 2 {
		return t.err
	}
	if t.shown > 0 {
		t.line("")
	}
	became := fmt.Sprintf("%d loaded", t.loaded)
	if n := t.shown - t.loaded; n > 0 {
		became += fmt.Sprintf(", %d rejected", n)
	}
	if t.failed > 0 {
		became += fmt.Sprintf(", %d unreadable", t.failed)
	}
	t.line("%s: %s; %s, %s, %d skipped; %s", t.style(count(t.paths, "path"), bold), became,
		count(t.total.skills, "skill"), count(t.total.servers, "server"), t.total.skipped, t.severities(t.total))
	return t.err
}

func (t *text) heading(r *result) {
	m := r.plugin.Manifest()
	title := t.style(m.Name, bold)
	if m.Version != "" {
		title += " " + clean(m.Version)
	}
	t.line("%s  %s", title, t.style(fmt.Sprintf("Agent Plugins %s, %s", m.SpecVersion, clean(r.path)), dim))
	if m.Description != "" {
		t.line("%s", clean(oneLine(m.Description)))
	}
}

func (t *text) skills(p *plugin.Plugin) {
	state := p.SkillsState()
	if state == skills.StateAbsent {
		return
	}
	t.line("\n  skills")
	if state == skills.StateInvalid {
		t.line("    %s", t.style("not read: the component is invalid", red))
	}
	var rows [][2]string
	for _, s := range p.Skills() {
		rows = append(rows, [2]string{s.Name(), oneLine(s.Description())})
	}
	t.table(rows, p.SkippedSkills())
}

func (t *text) servers(p *plugin.Plugin, plans map[string]*plugin.LaunchPlan) {
	state := p.MCPState()
	if state == plugin.MCPAbsent {
		return
	}
	t.line("\n  servers")
	if state == plugin.MCPDisabled {
		t.line("    %s", t.style("none: MCP is disabled for this plugin", red))
	}
	var rows [][2]string
	for _, s := range p.Servers() {
		rows = append(rows, [2]string{s.Name(), string(s.Type()) + "  " + target(s)})
	}
	t.table(rows, p.SkippedServers())
	for _, s := range p.Servers() {
		if plan := plans[s.Name()]; plan != nil {
			t.plan(s.Name(), plan)
		}
	}
}

// target says where a server is, without what may be secret: arguments, values
// of variables and headers, and the query of a URL.
func target(s *plugin.Server) string {
	if c, ok := s.Stdio(); ok {
		out := c.Command
		if n := len(c.Args); n > 0 {
			out += fmt.Sprintf(" (%s)", count(n, "argument"))
		}
		return out
	}
	c, _ := s.Remote()
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// plan prints a launch plan whole: it was asked for.
func (t *text) plan(name string, plan *plugin.LaunchPlan) {
	t.line("\n    launch plan of %s", t.style(clean(name), bold))
	row := func(key, value string) { t.line("      %-8s %s", key, clean(value)) }
	row("program", plan.Program)
	for _, a := range plan.Args {
		row("arg", a)
	}
	for _, key := range slices.Sorted(maps.Keys(plan.Env)) {
		row("env", key+"="+plan.Env[key])
	}
	row("cwd", plan.Dir)
	row("digest", plan.Digest())
}

// table prints rows with a name each, then the names that were skipped.
func (t *text) table(rows [][2]string, skipped []string) {
	const most, column = 76, 28
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(clean(r[0])))
	}
	width = min(width, column)
	for _, r := range rows {
		name := clean(r[0])
		pad := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(name)))
		t.line("    %s%s  %s", t.style(name, cyan), pad, cut(clean(r[1]), most))
	}
	for _, name := range skipped {
		t.line("    %s  %s", clean(name), t.style("skipped", red))
	}
}

// findings prints what was found, a file at a time.
func (t *text) findings(list finding.List) {
	file := ""
	for i, f := range list {
		if i == 0 || f.File != file {
			file = f.File
			t.line("\n  %s", clean(cmp.Or(file, ".")))
		}
		at := "-"
		if f.Line > 0 {
			at = fmt.Sprintf("%d:%d", f.Line, f.Column)
		}
		severity := fmt.Sprintf("%-7s", f.Severity)
		switch f.Severity {
		case finding.SeverityError:
			severity = t.style(severity, red)
		case finding.SeverityWarning:
			severity = t.style(severity, yellow)
		default:
			severity = t.style(severity, dim)
		}
		t.line("    %-7s %s  %s  %s", at, severity, f.Message, t.style(fmt.Sprintf("%s (%s)", f.Code, f.Section), dim))
	}
}

func (t *text) severities(sum tally) string {
	e, w, i := sum.found[finding.SeverityError], sum.found[finding.SeverityWarning], sum.found[finding.SeverityInfo]
	if e+w+i == 0 {
		return "no findings"
	}
	errs := count(e, "error")
	if e > 0 {
		errs = t.style(errs, red)
	}
	return fmt.Sprintf("%s, %s, %d info", errs, count(w, "warning"), i)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
