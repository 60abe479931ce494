package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/fixtures"
)

// programs holds the two loaders, built once.
var programs string

func TestMain(m *testing.M) {
	switch os.Getenv("CONFORMANCE_ADAPTER") {
	case "":
		os.Exit(testMain(m))
	case "hang":
		time.Sleep(time.Hour)
	case "noise":
		fmt.Println("this is no report")
		fmt.Fprintln(os.Stderr, "I was\x1b[2J confused")
	case "trouble":
		fmt.Fprintln(os.Stderr, "no paper")
		os.Exit(2)
	case "arguments":
		fmt.Fprintf(os.Stderr, "%q", os.Args[1:])
		os.Exit(3)
	}
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "conformance-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = filepath.Join(dir, "a b") + string(filepath.Separator) // a blank, to be quoted
	out, err := exec.Command("go", "build", "-o", programs, "github.com/plugberth/plugberth/examples/inspect", "./naive").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, out)
		return 1
	}
	return m.Run()
}

// built quotes the path of a program for -adapter.
func built(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return "'" + programs + name + "'"
}

// conformance runs the program as a user does.
func conformance(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// judgedAs runs -json and returns the document.
func judgedAs(t *testing.T, wantStatus int, args ...string) document {
	t.Helper()
	status, out, errs := conformance(t, append([]string{"-json"}, args...)...)
	var d document
	if err := json.Unmarshal([]byte(out), &d); err != nil || status != wantStatus || errs != "" {
		t.Fatalf("status %d, want %d; %v; stderr %q\n%s", status, wantStatus, err, errs, out)
	}
	return d
}

// TestInspectPasses: our own program passes the corpus by the contract that any
// other one is held to, judged strictly. It takes a process a case, so it is
// asked about the launch plans and every twelfth of the others; the rest are
// for the program itself, run with -adapter.
func TestInspectPasses(t *testing.T) {
	var ids []string
	for i, c := range fixtures.Cases() {
		if c.Group == "launch" || i%12 == 0 {
			ids = append(ids, c.ID)
		}
	}
	d := judgedAs(t, statusOK, "-strict", "-case", strings.Join(ids, ","), "-adapter", built("inspect")+" -json")
	if d.Failed != 0 || d.Deviations != 0 || d.Passed < len(ids)*9/10 || d.Passed+d.NotRun != len(ids) || len(d.Cases) != len(ids) {
		t.Errorf("%d passed, %d failed, %d not run of %d", d.Passed, d.Failed, d.NotRun, len(ids))
	}
	for _, c := range d.Cases {
		if c.Status == fixtures.NotRun && strings.HasPrefix(c.Reason, "the report has no launch") {
			t.Errorf("%s: %s", c.ID, c.Reason)
		}
	}
	if status, out, errs := conformance(t, "-adapter", built("inspect")+" -json", "-v", "-case", "manifest/name-64-characters,"+oneCase); status != statusOK ||
		!strings.Contains(out, "passed     manifest/name-64-characters\n") || !strings.Contains(out, "   all ") || strings.Contains(out, "FAILED") {
		t.Errorf("status %d:\n%s%s", status, out, errs)
	}
}

// TestNaiveFails: what a loader written in an afternoon lets through is seen.
func TestNaiveFails(t *testing.T) {
	passes := []string{"manifest/name-64-characters", "launch/args-expanded"}
	fails := []string{
		"json/manifest-bytes-not-utf8",
		"launch/root-path-has-a-placeholder",
		"limits/manifest-size-default",
	}
	if can, err := fixtures.Capabilities(t.TempDir()); err != nil {
		t.Fatal(err)
	} else if can[fixtures.NeedSymlink] {
		fails = append(fails, "paths/skill-link-outside")
	}
	d := judgedAs(t, statusFailed, "-case", strings.Join(slices.Concat(passes, fails), ","), "-adapter", built("naive"))
	for _, c := range d.Cases {
		want := fixtures.Passed
		if slices.Contains(fails, c.ID) {
			want = fixtures.Failed
		}
		if c.Status != want {
			t.Errorf("%s: %s, want %s", c.ID, c.Status, want)
		}
	}
	if d.Passed != len(passes) || d.Failed != len(fails) {
		t.Errorf("%d passed, %d failed", d.Passed, d.Failed)
	}
}

var update = flag.Bool("update", false, "run the naive loader on the whole corpus and write its score into docs/fixtures.md")

var scoreLine = regexp.MustCompile(`(?m)^ +([a-z]+) +([0-9]+) +([0-9]+) +0 +([0-9]+)\n`)

// TestScore: the score of the naive loader in docs/fixtures.md adds up, and is
// of a corpus about as large as this one.
func TestScore(t *testing.T) {
	if _, err := os.Stat(filepath.Join("..", "doc.go")); err != nil {
		t.Skip("the program was copied from where its documentation is")
	}
	name := filepath.Join("..", "..", "docs", "fixtures.md")
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	groups := fixtures.Groups()
	if *update {
		d := judgedAs(t, statusFailed, "-adapter", built("naive"))
		lines := map[string][]int{}
		for _, group := range append(groups, "all") {
			n := make([]int, 3)
			for _, c := range d.Cases {
				if group == "all" || strings.HasPrefix(c.ID, group+"/") {
					n[slices.Index([]fixtures.Status{fixtures.Passed, fixtures.Failed, fixtures.NotRun}, c.Status)]++
				}
			}
			lines[group] = n
		}
		src = scoreLine.ReplaceAllFunc(src, func(line []byte) []byte {
			group := string(scoreLine.FindSubmatch(line)[1])
			n := lines[group]
			return fmt.Appendf(nil, "%10s  %6d  %6d          0  %7d\n", group, n[0], n[1], n[2])
		})
		if err := os.WriteFile(name, src, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var sum [3]int
	for i, line := range scoreLine.FindAllSubmatch(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), -1) {
		var said [3]int
		for k := range said {
			if said[k], err = strconv.Atoi(string(line[2+k])); err != nil {
				t.Fatal(err)
			}
		}
		if i < len(groups) {
			if string(line[1]) != groups[i] {
				t.Errorf("line %d is about %s, want %s", i+1, line[1], groups[i])
			}
			for k := range said {
				sum[k] += said[k]
			}
			continue
		}
		total, now := sum[0]+sum[1]+sum[2], len(fixtures.Cases())
		if string(line[1]) != "all" || said != sum || total > now || total*5 < now*4 {
			t.Errorf("%s: %d, want %d of about %d: run go test ./examples/conformance -run Score -update", line[1], said, sum, now)
		}
		return
	}
	t.Error("there is no whole table")
}

const oneCase = "manifest/name-65-characters"

func TestFailureIsExplained(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFORMANCE_ADAPTER", "noise")
	status, out, errs := conformance(t, "-case", oneCase, "-adapter", "'"+self+"'")
	if status != statusFailed || errs != "" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{
		"FAILED " + oneCase + ": A plugin name of 65 characters rejects the plugin", "no report: no JSON", `it said: I was\x1b[2J confused`,
		"M3: name has 1 to 64", "section: AP §5.5", "| One more than the bound.", "rules that a failed case is about: M3 (1 of 1)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("a program's text acts on the terminal")
	}
}

// TestJSONActsOnNoTerminal: neither does what -json prints of it.
func TestJSONActsOnNoTerminal(t *testing.T) {
	var out bytes.Buffer
	got := "x\x1b[2J\u202e\u009b\U000e0041"
	if err := showJSON(&out, []fixtures.Result{{Status: fixtures.Failed, Mismatches: []fixtures.Mismatch{{Field: "name", Got: got}}}}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e\u009b\U000e0041") {
		t.Errorf("%q", &out)
	}
	var d document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Cases[0].Mismatches[0].Got != got {
		t.Errorf("%v: it means something else: %q", err, &out)
	}
}

func TestAdapterThatCannotWork(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ mode, timeout, want string }{
		{"trouble", "10s", "exit status 2; it said: no paper"},
		{"hang", "100ms", "did not answer"},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			t.Setenv("CONFORMANCE_ADAPTER", tc.mode)
			d := judgedAs(t, statusFailed, "-case", oneCase, "-timeout", tc.timeout, "-adapter", "'"+self+"'")
			if len(d.Cases) != 1 || !strings.Contains(d.Cases[0].Reason, tc.want) {
				t.Errorf("%+v, want a reason that says %q", d.Cases, tc.want)
			}
		})
	}
}

// TestArguments: the directory stands last, and -data before it where launch
// plans are wanted, and only there.
func TestArguments(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFORMANCE_ADAPTER", "arguments")
	for _, tc := range []struct {
		id   string
		want []string
	}{
		{oneCase, []string{`["x y" "`, `root"]`}},
		{"launch/root-path-has-a-placeholder", []string{`["x y" "-data" "`, `data-${PLUGIN_ROOT}" "`, `pkg-${PLUGIN_DATA}"]`}},
	} {
		d := judgedAs(t, statusFailed, "-case", tc.id, "-adapter", "'"+self+"' 'x y'")
		for _, want := range tc.want {
			if !strings.Contains(d.Cases[0].Reason, want) {
				t.Errorf("%s: %q lacks %q", tc.id, d.Cases[0].Reason, want)
			}
		}
	}
}

func TestDeviations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deviations.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("# known\n\njson/manifest-bytes-not-utf8   encoding/json replaces such bytes\n")
	d := judgedAs(t, statusOK, "-deviations", file, "-case", "json/manifest-bytes-not-utf8,"+oneCase, "-adapter", built("naive"))
	if d.Deviations != 1 || d.Passed != 1 || !slices.ContainsFunc(d.Cases, func(c caseEntry) bool {
		return c.Status == fixtures.Deviates && c.Reason == "encoding/json replaces such bytes"
	}) {
		t.Errorf("%+v", d)
	}
	d = judgedAs(t, statusFailed, "-deviations", file, "-case", "json/manifest-bytes-not-utf8,"+oneCase, "-strict", "-adapter", built("inspect")+" -json")
	if d.Failed != 1 || !slices.ContainsFunc(d.Cases, func(c caseEntry) bool {
		return strings.Contains(c.Reason, "no longer happens")
	}) {
		t.Errorf("a deviation that does not happen: %+v", d)
	}
	for _, text := range []string{"json/none because\n", "json/manifest-bytes-not-utf8\n"} {
		write(text)
		if status, _, errs := conformance(t, "-deviations", file, "-adapter", built("naive")); status != statusTrouble || !strings.Contains(errs, "deviat") {
			t.Errorf("%q: status %d, stderr %q", text, status, errs)
		}
	}
}

func TestJUnit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "junit.xml")
	status, _, errs := conformance(t, "-junit", file, "-case", "json/manifest-bytes-not-utf8,mcp/sse-unsupported,"+oneCase, "-adapter", built("naive"))
	if status != statusFailed || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc testSuites
	if err := xml.Unmarshal(src, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Suites) != 3 {
		t.Fatalf("%d suites:\n%s", len(doc.Suites), src)
	}
	for i, want := range []string{"manifest 1 0 0 manifest.M3/name-65-characters", "json 1 1 0 json.J4/manifest-bytes-not-utf8", "mcp 1 0 1 mcp.C9/sse-unsupported"} {
		s := doc.Suites[i]
		if got := fmt.Sprintf("%s %d %d %d %s/%s", s.Name, s.Tests, s.Failures, s.Skipped, s.Cases[0].Class, s.Cases[0].Name); got != want {
			t.Errorf("suite %q, want %q", got, want)
		}
	}
	if f := doc.Suites[1].Cases[0].Failure; f == nil || !strings.Contains(f.Text, "U+FFFD") || f.Message == "" {
		t.Errorf("failure %+v", f)
	}
}

func TestExtract(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	status, out, errs := conformance(t, "-extract", dir, "-group", "paths,launch,limits")
	if status != statusOK || errs != "" || !strings.Contains(out, " cases are in ") {
		t.Fatalf("status %d:\n%s%s", status, out, errs)
	}
	written := 0
	for _, c := range fixtures.Cases() {
		if !slices.Contains([]string{"paths", "launch", "limits"}, c.Group) || strings.Contains(out, "left out "+c.ID+":") {
			continue
		}
		written++
		base := filepath.Join(dir, filepath.FromSlash(c.ID))
		src, err := os.ReadFile(filepath.Join(base, "case.json"))
		if err != nil {
			t.Fatal(err)
		}
		var meta about
		if err := json.Unmarshal(src, &meta); err != nil || meta.ID != c.ID || meta.Title != c.Title || meta.Launches != c.Launches() {
			t.Errorf("%s: %s, %v", c.ID, src, err)
		}
		if info, err := os.Stat(filepath.Join(base, meta.Root)); err != nil || !info.IsDir() {
			t.Errorf("%s: no plugin root: %v", c.ID, err)
		}
		expected, err := os.ReadFile(filepath.Join(base, "expected.json"))
		if err != nil || !bytes.Equal(expected, c.Expected()) || !json.Valid(expected) {
			t.Errorf("%s: expected.json: %v\n%s", c.ID, err, expected)
		}
	}
	if written == 0 {
		t.Error("nothing was written")
	}
	if status, _, errs := conformance(t, "-extract", dir); status != statusTrouble || !strings.Contains(errs, "not empty") {
		t.Errorf("into a directory that is not empty: status %d, stderr %q", status, errs)
	}
	one := filepath.Join(t.TempDir(), "one")
	if status, out, _ := conformance(t, "-extract", one, "-rule", "M3", "-group", "manifest", "-case", oneCase); status != statusOK || !strings.HasPrefix(out, "1 cases") {
		t.Errorf("one case: status %d: %s", status, out)
	}
}

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "usage:"},
		{"both", []string{"-adapter", "x", "-extract", "y"}, "give either"},
		{"words left over", []string{"-adapter", "inspect", "-json", "more"}, `"more" is left over`},
		{"a flag that is not there", []string{"-fast"}, "-fast"},
		{"a program that is not there", []string{"-adapter", "/no/such/program"}, "cannot be run"},
		{"an empty program", []string{"-adapter", " "}, "cannot be split"},
		{"an open quote", []string{"-adapter", "'x"}, "single quote"},
		{"a rule that is not there", []string{"-adapter", "x", "-rule", "Z1"}, `no rule "Z1"`},
		{"a group that is not there", []string{"-adapter", "x", "-group", "z"}, `no group "z"`},
		{"a case that is not there", []string{"-adapter", "x", "-case", "z"}, `no case "z"`},
		{"a selection of nothing", []string{"-adapter", "x", "-rule", "M3", "-group", "launch", "-case", oneCase}, "chooses no case"},
		{"no time", []string{"-adapter", "x", "-timeout", "0s"}, "greater than 0"},
		{"deviations that cannot be read", []string{"-adapter", "x", "-deviations", "/no/such/file"}, "/no/such/file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errs := conformance(t, tc.args...)
			if status != statusTrouble || out != "" || !strings.Contains(errs, tc.want) {
				t.Errorf("status %d, stdout %q, stderr %q; want one that says %q", status, out, errs, tc.want)
			}
		})
	}
	if status, _, errs := conformance(t, "-help"); status != statusOK || !strings.Contains(errs, "usage:") {
		t.Errorf("-help: status %d, stderr %q", status, errs)
	}
	file := filepath.Join(t.TempDir(), "no", "junit.xml")
	if status, _, _ := conformance(t, "-case", oneCase, "-junit", file, "-adapter", built("naive")); status != statusTrouble {
		t.Errorf("a file that cannot be written: status %d", status)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if status := run(ctx, []string{"-adapter", built("naive")}, &out, &errs); status != statusTrouble || out.String() != "" {
		t.Errorf("status %d, stdout %q, stderr %q", status, out.String(), errs.String())
	}
}
