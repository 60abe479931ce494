package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// What one load of a hostile package may cost.
const (
	maxGrowth = 64 << 20 // bytes resident
	maxTime   = 5 * time.Second
)

// fit repeats a pattern, with %d counted up, as often as fits into a file of 1
// MiB beside what stands around it, at most max times.
func fit(pattern string, max int) string {
	var b strings.Builder
	for i := 0; i < max && b.Len() < 1<<20-4096; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(pattern, "%d", strconv.Itoa(i)))
	}
	return b.String()
}

// nested puts inner below members with names of that length.
func nested(depth, length int, inner string) string {
	name := strings.Repeat("n", length)
	return strings.Repeat(`{"`+name+`":`, depth) + inner + strings.Repeat("}", depth)
}

func manifestWith(members string) map[string]string {
	return map[string]string{"plugin.json": fill.Replace(`{@S,"name":"a",`) + members + "}"}
}

func mcpWith(entries string) map[string]string {
	return map[string]string{"mcp.json": fill.Replace(servers(entries))}
}

// values is more than fits into a file of the size that fit fills.
const values = 1 << 20

// hostile are packages made to cost a loader as much as they can.
var hostile = map[string]func() map[string]string{
	"deep manifest": func() map[string]string { return manifestWith(`"x":` + strings.Repeat("[", 100_000)) },
	"deep mcp":      func() map[string]string { return mcpWith(`"s":` + strings.Repeat(`{"a":`, 100_000)) },
	"deep and closed": func() map[string]string {
		return mcpWith(`"s":` + strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000))
	},
	"keywords of wrong types": func() map[string]string { return manifestWith(`"keywords":[` + fit("1", values) + "]") },
	"keywords":                func() map[string]string { return manifestWith(`"keywords":[` + fit(`""`, values) + "]") },
	"flaws below a long name": func() map[string]string {
		return manifestWith(`"` + strings.Repeat("x", 800_000) + `":[` + strings.Repeat(`"\ud800",`, 19_000) + `0]`)
	},
	"duplicates below a long name": func() map[string]string {
		return manifestWith(`"` + strings.Repeat("x", 800_000) + `":{` + strings.Repeat(`"":0,`, 30_000) + `"":0}`)
	},
	"unknown members":           func() map[string]string { return manifestWith(fit(`"unknown %d":%d`, values)) },
	"long unknown members":      func() map[string]string { return manifestWith(fit(`"%d`+strings.Repeat(`\u202e`, 40)+`":0`, values)) },
	"one unknown member often":  func() map[string]string { return manifestWith(fit(`"x":0`, values)) },
	"name often":                func() map[string]string { return manifestWith(fit(`"name":"a"`, values)) },
	"author members":            func() map[string]string { return manifestWith(`"author":{` + fit(`"%d":0`, values) + "}") },
	"extensions of wrong types": func() map[string]string { return manifestWith(`"extensions":{` + fit(`"n%d":0`, values) + "}") },
	"surrogates":                func() map[string]string { return manifestWith(`"keywords":[` + fit(`"\ud800"`, values) + "]") },
	"one long string": func() map[string]string {
		return manifestWith(`"description":"` + strings.Repeat("x", 1<<20-4096) + `"`)
	},
	"one long name": func() map[string]string { return manifestWith(`"` + strings.Repeat("x", 1<<20-4096) + `":0`) },
	"long lint": func() map[string]string {
		return manifestWith(`"license":"` + strings.Repeat("a.", 1<<18) + `","version":"1.0.0-` + strings.Repeat("0.", 1<<17) + `","author":{"email":"` + strings.Repeat("(", 1<<17) + `"}`)
	},
	"numbers of any size": func() map[string]string { return manifestWith(`"keywords":[` + fit("1e999999999", values) + "]") },
	"nested names, duplicates": func() map[string]string {
		return manifestWith(`"author":` + nested(90, 9000, "{"+fit(`"":0`, 19_900)+"}"))
	},
	"nested ignored duplicates": func() map[string]string {
		return manifestWith(`"extensions":` + nested(90, 9000, "{"+fit(`"":0`, 19_900)+"}"))
	},
	"nested ignored names": func() map[string]string {
		return manifestWith(`"extensions":` + nested(90, 6000, "{"+fit(`"%d":0`, 19_900)+`,"0":0}`))
	},

	"many servers": func() map[string]string {
		return mcpWith(fit(`"s%d":{"type":"stdio","command":"c","args":["${PLUGIN_ROOT}"],"env":{"A":"b"},"cwd":"${PLUGIN_DATA}"}`, 5000))
	},
	"many bad servers": func() map[string]string { return mcpWith(fit(`"s%d":0`, values)) },
	"many unknown members": func() map[string]string {
		return mcpWith(fit(`"s%d":{"type":"stdio","command":"c",`+fit(`"x%d":0`, 15)+`}`, 1000))
	},
	"env of numbers": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"c","env":{` + fit(`"A%d":0`, values) + `}}`)
	},
	"env of bad names": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"c","env":{` + fit(`"=%d":"\u0000"`, values) + `}}`)
	},
	"args of numbers": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"c","args":[` + fit("0", values) + `]}`)
	},
	"args of placeholders": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"c","args":["` + strings.Repeat("${PLUGIN_ROOT}", 70_000) + `"]}`)
	},
	"bad headers": func() map[string]string {
		return mcpWith(`"s":{"type":"sse","url":"https://h","headers":{` + fit(`"x %d":" "`, values) + `}}`)
	},
	"long server name": func() map[string]string {
		return mcpWith(`"` + strings.Repeat("s", 900_000) + `":{"type":"stdio","command":"c","args":[` + fit("0", 19_900) + `]}`)
	},
	"long server name, members": func() map[string]string {
		return mcpWith(`"` + strings.Repeat("s", 700_000) + `":{"type":"stdio","command":"c",` + fit(`"x%d":0`, 19_900) + `}`)
	},
	"long server names": func() map[string]string {
		return mcpWith(fit(`"%d`+strings.Repeat("s", 1000)+`":{"type":"stdio","command":"c","args":[`+fit("0", 15)+`]}`, 1000))
	},
	"long name, server twice": func() map[string]string { return mcpWith(fit(`"`+strings.Repeat("s", 1000)+`":0`, 1000)) },
	"entry of nested duplicates": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"c","x":` + nested(90, 9000, "{"+fit(`"":0`, 19_900)+"}") + `}`)
	},
	"long url": func() map[string]string {
		return mcpWith(`"s":{"type":"sse","url":"http://` + strings.Repeat("1.", 400_000) + `"}`)
	},
	"long command": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"./` + strings.Repeat("a/../", 190_000) + `"}`)
	},
	"long cwd": func() map[string]string {
		return mcpWith(`"s":{"type":"stdio","command":"c","cwd":"./` + strings.Repeat("x/", 400_000) + `"}`)
	},
	"unknown top-level members": func() map[string]string {
		return map[string]string{"mcp.json": fill.Replace(`{@M,"mcpServers":{},`) + fit(`"x%d":0`, values) + "}"}
	},
	"loops": func() map[string]string {
		return map[string]string{"mcp.json": "-> a", "a": "-> b", "b": "-> a", "skills": "-> skills/x"}
	},
	"links upon links": func() map[string]string {
		return map[string]string{"mcp.json": strings.Repeat(" ", 10) + noServers, "l": "-> .", "skills": "-> " + strings.Repeat("l/", 39) + "s", "s/a/SKILL.md": ""}
	},
}

// hostileChild names the package that this process is to load and report on.
const hostileChild = "PLUGBERTH_TEST_HOSTILE"

// cost is what a child reports.
type cost struct {
	Milliseconds, Growth int64 // Growth in bytes, -1 where it cannot be told
	Findings, Text       int   // Text is the size of the findings as JSON
	Err                  string
}

// TestHostile: whatever the package holds, loading ends soon and the process
// stays small. Each is loaded by a process of its own. [L5] [Q1] [J5]
func TestHostile(t *testing.T) {
	if dir := os.Getenv(hostileChild); dir != "" {
		reportCost(t, dir)
		return
	}
	for name, files := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, costOf(t, write(t, files())))
		})
	}
	for _, name := range []string{"plugin.json", "mcp.json", "skills/a/SKILL.md"} {
		t.Run("sparse "+name, func(t *testing.T) {
			dir := write(t, map[string]string{path.Dir(name) + "/x": ""})
			file, err := os.OpenFile(filepath.Join(dir, filepath.FromSlash(name)), os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := file.Truncate(1 << 30); err != nil {
				t.Skip(err)
			}
			c := costOf(t, dir)
			check(t, c)
			if c.Findings != 1 {
				t.Errorf("%d findings", c.Findings)
			}
		})
	}
}

func costOf(t *testing.T, dir string) cost {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostile$", "-test.v")
	cmd.Env = append(os.Environ(), hostileChild+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "cost:")
	text, _, _ = strings.Cut(text, "\n")
	var c cost
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	return c
}

func check(t *testing.T, c cost) {
	t.Helper()
	t.Logf("%d ms, %.1f MiB resident, %d findings, %d KiB as JSON %.60s", c.Milliseconds, float64(c.Growth)/(1<<20), c.Findings, c.Text>>10, c.Err)
	if raceEnabled {
		return // the race detector costs more than the load
	}
	if c.Growth > maxGrowth {
		t.Errorf("the process grew by %d MiB", c.Growth>>20)
	}
	if took := time.Duration(c.Milliseconds) * time.Millisecond; took > maxTime {
		t.Errorf("took %v", took)
	}
	if c.Text > 32<<20 {
		t.Errorf("the findings are %d MiB as JSON", c.Text>>20)
	}
}

func reportCost(t *testing.T, dir string) {
	warm := write(t, map[string]string{"mcp.json": fill.Replace(servers(sibling, `"bad":1`)), "skills/a/SKILL.md": okSkill})
	mustLoad(t, warm)
	runtime.GC()
	debug.FreeOSMemory()
	before := resident(true)
	start := time.Now()
	p, err := plugin.Load(context.Background(), dir, plugin.Options{Lint: true})
	c := cost{Milliseconds: time.Since(start).Milliseconds(), Growth: -1}
	if after := resident(false); after > 0 {
		c.Growth = after - before
	}
	var list finding.List
	var rejected *plugin.RejectedError
	switch {
	case err == nil:
		list = p.Findings()
	case errors.As(err, &rejected):
		list = rejected.Findings
		c.Err = "rejected"
	default:
		c.Err = err.Error()
	}
	c.Findings = len(list)
	text, err := json.Marshal(list)
	if err != nil {
		t.Error(err)
	}
	c.Text = len(text)
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("cost:%s\n", out)
}

// resident returns the size of this process, or its greatest size since the
// last call with reset, or 0 where the system does not tell.
func resident(reset bool) int64 {
	key := "VmHWM:"
	if reset {
		key = "VmRSS:"
		os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), key)
	n, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// TestFindingsAreBounded: names that every pointer repeats do not make findings
// larger than the file by orders; what is left out is said, and every server
// that was skipped keeps its error. [L5] [S9]
func TestFindingsAreBounded(t *testing.T) {
	long := strings.Repeat("s", 300_000)
	p := mustLoadFS(t, memory(mcpWith(`"`+long+`":{"type":"stdio","command":"./gone","args":[`+fit("0", 5000)+`]},"b":{"type":"sse","url":"x","headers":0},"c":0,"d":{"type":"stdio","command":"./gone","args":0},`+sibling)), plugin.Options{})
	if got := strings.Join(p.SkippedServers(), " "); got != long+" b c d" || p.Server("good") == nil {
		t.Errorf("skipped = %.40q…", got)
	}
	errorsOf := map[string]int{}
	size := 0
	for _, f := range p.Findings() {
		size += len(f.Subject) + len(f.Pointer)
		if f.Severity == finding.SeverityError {
			errorsOf[f.Subject]++
		}
	}
	last := p.Findings()[len(p.Findings())-1]
	if size > 8<<20 || last.Code != finding.FindingsOmitted || last.Line != 0 || last.Severity != finding.SeverityInfo {
		t.Errorf("%d bytes, last finding %.200v", size, last)
	}
	for _, name := range []string{long, "b", "c", "d"} {
		if errorsOf[name] == 0 {
			t.Errorf("no error for %.40q", name)
		}
	}

	// A manifest that is at fault stays rejected, however much stands before.
	files := manifestWith(`"x":` + nested(1, 5<<20, "[]") + `,"y":` + nested(1, 6<<20, `{"a":0,"a":0}`) + `,"keywords":[0,0]`)
	r, err := plugin.LoadFS(context.Background(), memory(files), plugin.Options{Limits: plugin.Limits{Manifest: 16 << 20}})
	list := outcome(t, r, err)
	if n := len(list.AtLeast(finding.SeverityError)); n != 1 || list[len(list)-1].Code != finding.FindingsOmitted {
		t.Errorf("%d errors, error %.100v, last %.100v", n, err, list[len(list)-1])
	}
}

// TestOrdinaryFindingsAreNotCut: as many faults as a document can have, each
// with its finding. [L5]
func TestOrdinaryFindingsAreNotCut(t *testing.T) {
	const faults = 4_900
	p := mustLoadFS(t, memory(manifestWith(fit(`"unknown member %d":0`, faults))), plugin.Options{})
	if n := len(p.Findings()); n != faults {
		t.Errorf("%d findings, want %d", n, faults)
	}
}

// endsAfter is a context that has ended after its error was asked for n times.
type endsAfter struct {
	context.Context
	n int
}

func (c *endsAfter) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestContextEndsMCP: looking at the paths of many servers ends with the
// context, between any two of them. [L4]
func TestContextEndsMCP(t *testing.T) {
	dir := write(t, mcpWith(fit(`"s%d":{"type":"stdio","command":"./x"}`, 900)))
	for _, n := range []int{0, 3, 10, 500} {
		p, err := plugin.Load(&endsAfter{context.Background(), n}, dir, plugin.Options{})
		if p != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d: %v, %v", n, p, err)
		}
	}
	if _, err := plugin.Load(&endsAfter{context.Background(), 2000}, dir, plugin.Options{}); err != nil {
		t.Error(err)
	}
}

// TestFaultsBehindManyWarnings: however much stands before that only warns, a
// fault that decides is found, at its place, and each load says the same.
// [M1] [M4] [M6] [L7]
func TestFaultsBehindManyWarnings(t *testing.T) {
	const many = 7000
	before := map[string]string{
		"unknown numbers":  fit(`"unknown %d":0`, many),
		"unknown texts":    fit(`"unknown %d":""`, many),
		"unknown objects":  fit(`"unknown %d":{}`, many),
		"extensions":       `"extensions":{` + fit(`"n%d":0`, many) + `}`,
		"text extensions":  `"extensions":{` + fit(`"n%d":""`, many) + `}`,
		"unknown and both": fit(`"unknown %d":[0]`, many) + `,"extensions":{` + fit(`"n%d":""`, many) + `}`,
	}
	for _, fault := range []struct{ member, pointer, at string }{
		{`"author":{"name":7}`, "/author/name", "7}"},
		{`"author":{"age":"x"}`, "/author/age", `"age"`},
		{`"keywords":["ok",7]`, "/keywords/1", "7]"},
		{`"version":7`, "/version", "7"},
		{`"license":[]`, "/license", "[]"},
		{`"author":"x"`, "/author", `"x"`},
	} {
		for name, members := range before {
			text := fill.Replace(`{@S,"name":"a",`) + members + "," + fault.member + "}"
			var last finding.List
			for range 2 {
				p, err := plugin.LoadFS(context.Background(), memory(map[string]string{"plugin.json": text}), plugin.Options{})
				var rejected *plugin.RejectedError
				if !errors.As(err, &rejected) {
					t.Fatalf("%s, then %s: loaded: %v", name, fault.member, p)
				}
				errs := rejected.Findings.AtLeast(finding.SeverityError)
				column := strings.LastIndex(text, fault.at) + 1
				if len(errs) != 1 || errs[0].Pointer != fault.pointer || errs[0].Line != 1 || errs[0].Column != column {
					t.Errorf("%s, then %s: %v, want column %d", name, fault.member, errs, column)
				}
				if last != nil && !slices.Equal(last, rejected.Findings) {
					t.Errorf("%s, then %s: two loads differ", name, fault.member)
				}
				last = rejected.Findings
			}
		}
	}
}

// TestFaultsBehindManyBadServers: each entry is judged for itself, however many
// faults the ones before it had. [C2] [C4] [L3]
func TestFaultsBehindManyBadServers(t *testing.T) {
	var entries, want []string
	for i := range 12 {
		name := "bad" + strconv.Itoa(i)
		entries = append(entries, `"`+name+`":{"type":"stdio","command":"c","env":{`+fit(`"A%d":0`, 900)+`}}`)
		want = append(want, name)
	}
	for name, members := range map[string]string{
		"number in env": `"type":"stdio","command":"c","args":["a"],"env":{"A":"a","B":1}`,
		"null in args":  `"type":"stdio","command":"c","env":{"A":"a"},"args":["a",null]`,
		"unknown":       `"type":"stdio","command":"c","env":{},"args":[],"x":{"y":[1]}`,
		"header":        `"type":"sse","url":"https://h","headers":{"A":"a","B":[]}`,
		"text for args": `"type":"stdio","command":"c","env":{},"args":"a"`,
	} {
		all := append(slices.Clone(entries), `"last":{`+members+`}`, `"fine":{"type":"stdio","command":"c","args":["a"],"env":{"A":"a"},"cwd":"./"}`)
		p := mustLoadFS(t, memory(map[string]string{"mcp.json": fill.Replace(servers(all...))}), plugin.Options{})
		if got := p.SkippedServers(); !slices.Equal(got, append(slices.Clone(want), "last")) {
			t.Errorf("%s: skipped %q", name, got)
		}
		if s := p.Server("fine"); s == nil || len(p.Servers()) != 1 {
			t.Errorf("%s: the valid entry is gone", name)
		}
		if !slices.ContainsFunc(p.Findings(), func(f finding.Finding) bool {
			return f.Subject == "last" && f.Severity == finding.SeverityError && f.Pointer != "/mcpServers/last"
		}) {
			t.Errorf("%s: no error tells of the last entry's fault", name)
		}
	}
}
