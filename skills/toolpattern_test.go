package skills_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/skills"
)

// [S5]
func TestParseToolPattern(t *testing.T) {
	type pattern = skills.ToolPattern
	for text, want := range map[string]pattern{
		"Read":                {Name: "Read"},
		"*":                   {Name: "*"},
		"mcp__a__*":           {Name: "mcp__a__*"},
		"playwright/click":    {Name: "playwright/click"},
		"Bash()":              {Name: "Bash", Restricted: true},
		"Bash(*)":             {Name: "Bash", Restricted: true, Argument: "*"},
		"Bash(git add:*)":     {Name: "Bash", Restricted: true, Argument: "git add:*"},
		"Bash(a (b) c)":       {Name: "Bash", Restricted: true, Argument: "a (b) c"},
		"Edit(/src/**/*.ts)":  {Name: "Edit", Restricted: true, Argument: "/src/**/*.ts"},
		"Größe(ä ö)":          {Name: "Größe", Restricted: true, Argument: "ä ö"},
		"Agent(a:b, c:d)":     {Name: "Agent", Restricted: true, Argument: "a:b, c:d"},
		"Bash(git log\n-p:*)": {Name: "Bash", Restricted: true, Argument: "git log\n-p:*"},
	} {
		got, err := skills.ParseToolPattern(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "()", "(a)", "Read,", "a b", "a\tb", "a)", "a)b(c)", "Bash(git", "Bash(git))", "Bash(git)x", "Bash(a)(b)", "Bash(a(b)", "a,b"} {
		if got, err := skills.ParseToolPattern(text); !errors.Is(err, skills.ErrToolPattern) || got != (pattern{}) {
			t.Errorf("%q: %+v, %v, want ErrToolPattern", text, got, err)
		}
	}
}

// [S5]
func TestMatchName(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"Read", []string{"Read"}, []string{"read", "READ", "Reader", "Read ", "", "mcp__Read"}},
		{"Bash(git add:*)", []string{"Bash"}, []string{"Bash(git add:*)", "bash"}},
		{"*", []string{"Read", "mcp__a__b", "a/b"}, []string{""}},
		{"Web*", []string{"Web", "WebFetch", "WebSearch"}, []string{"web", "aWeb"}},
		{"*_file", []string{"read_file", "_file", "_file_file"}, []string{"read_files", "file"}},
		{"a*b*c", []string{"abc", "axbxc", "abcbc"}, []string{"ab", "acb", "abcd", "xabc"}},
		{"a**c", []string{"ac", "abc"}, []string{"a", "c"}},
		{"aa*aa", []string{"aaaa", "aabaa"}, []string{"aa", "aaa"}},
		{"mcp__tracker", []string{"mcp__tracker", "mcp__tracker__create", "mcp__tracker__a__b"}, []string{"mcp__track", "mcp__trackers__a", "mcp__tracker_a", "tracker__a", "mcp__"}},
		{"mcp__tracker__*", []string{"mcp__tracker__create", "mcp__tracker__"}, []string{"mcp__tracker", "mcp__tracker2__create"}},
		{"mcp__tracker__create", []string{"mcp__tracker__create"}, []string{"mcp__tracker__create__x", "mcp__tracker__created"}},
		{"mcp__", []string{"mcp__"}, []string{"mcp____a", "mcp__a__b"}},
		{"mcp__*", []string{"mcp__a__b", "mcp__a"}, []string{"mcp_a", "Read"}},
		{"mcp__a*", []string{"mcp__a", "mcp__ab__c"}, []string{"mcp__b"}},
		{"playwright/*", []string{"playwright/click"}, []string{"playwright", "playwrite/click"}},
		{"ReadA", []string{"ReadA"}, []string{"Read\u0391"}}, // GREEK CAPITAL LETTER ALPHA
		{"a.c?[b]", []string{"a.c?[b]"}, []string{"abc?[b]", "a.cx[b]", "a.c?b"}},
	} {
		p, err := skills.ParseToolPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tt.yes {
			if !p.MatchName(tool) {
				t.Errorf("%s does not match %q", tt.pattern, tool)
			}
		}
		for _, tool := range tt.no {
			if p.MatchName(tool) {
				t.Errorf("%s matches %q", tt.pattern, tool)
			}
		}
	}
	if (skills.ToolPattern{}).MatchName("") || (skills.ToolPattern{}).MatchCall("", "") {
		t.Error("the zero pattern matches something")
	}
}

// [S5]
func TestMatchCall(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"Bash", []string{"", "ls", "a; b"}, nil},
		{"Bash(*)", []string{"", "ls", "a; b"}, nil},
		{"Bash()", []string{""}, []string{" ", "ls"}},
		{"Bash(ls)", []string{"ls"}, []string{"ls -l", "ls ", " ls", "LS", ""}},
		{"Bash(git add:*)", []string{"git add", "git add .", "git add -A x", "git add  "}, []string{
			"git adds", "git", "git  add", "git add:x", "git add. ", " git add", "Git add x",
			"git add .; rm -rf /", "git add . && curl x", "git add .|sh", "git add $(id)", "git add `id`", "git add $HOME", "git add > x", "git add < x",
			"git add .\nrm x", "git add .\rrm x", "git add \x00", "git add (x)"}},
		{"Bash(git add *)", []string{"git add", "git add .", "git add -A x"}, []string{"git adds", "git add ;x"}},
		{"Bash(git add*)", []string{"git add", "git adds", "git add x"}, []string{"git", "git add &"}},
		{"Bash(npm run *:*)", []string{"npm run x", "npm run x y", "npm run "}, []string{"npm run", "npm run x;y"}},
		{"Bash(git * main)", []string{"git push main", "git push -f main", "git  main"}, []string{"git main", "git push main x", "git a;b main"}},
		{"Bash(a && b)", []string{"a && b"}, []string{"a", "a && b c"}},
		{"Bash(a && b *)", []string{"a && b", "a && b c"}, []string{"a && b c && d"}},
		{"Bash(:*)", []string{"", " x"}, []string{"x"}},
		{"Bash(*:*)", []string{"", "x", "x y"}, []string{"x;y"}},
		{"Read(/src/**)", []string{"/src/a", "/src/a/b", "/src/../etc/x"}, []string{"/srcs/a", "/etc/x"}},
		{"WebFetch(domain:example.com)", []string{"domain:example.com"}, []string{"domain:example.com.evil", "example.com"}},
	} {
		p, err := skills.ParseToolPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, argument := range tt.yes {
			if !p.MatchCall(p.Name, argument) {
				t.Errorf("%s does not cover %q", tt.pattern, argument)
			}
		}
		for _, argument := range tt.no {
			if p.MatchCall(p.Name, argument) {
				t.Errorf("%s covers %q", tt.pattern, argument)
			}
		}
		if p.MatchCall("Other", "ls") || p.MatchCall("", "") {
			t.Errorf("%s covers another tool", tt.pattern)
		}
	}
}

// [S5] [L5] No pattern takes long.
func TestMatchCallIsQuick(t *testing.T) {
	const n = 16 * hostileSize
	start := time.Now()
	for _, argument := range []string{strings.Repeat("a", n), strings.Repeat("ab", n/2)} {
		for _, pattern := range []string{strings.Repeat("*a", n/4), "*" + strings.Repeat("a", n/2) + "b*", strings.Repeat("*ab", n/4) + "c", strings.Repeat("a*", n/2) + ":*"} {
			p := skills.ToolPattern{Name: "Bash", Restricted: true, Argument: pattern}
			p.MatchCall("Bash", argument)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// [S5] What many agents write: commas, and parts that are no patterns.
func TestToolPatterns(t *testing.T) {
	for value, want := range map[string]struct {
		patterns string
		unread   []string
	}{
		"Bash(git add:*) Read":       {"Bash(git add:*)|Read", nil},
		"Bash, Read,Write ,Grep":     {"Bash|Read|Write|Grep", nil},
		"Agent(a, b), Bash(x  y)":    {"Agent(a, b)|Bash(x  y)", nil},
		"Bash(git Read":              {"", []string{"Bash(git Read"}},
		"Read a) (b) Bash(x)y ,, W ": {"Read|W", []string{"a)", "(b)", "Bash(x)y"}},
		"":                           {"", nil},
	} {
		s, list, _ := skills.Parse("x", []byte(md(plain+"allowed-tools: '"+value+"'")), skills.Options{})
		if s == nil {
			t.Fatal(list)
		}
		patterns, unread := s.ToolPatterns()
		var got []string
		for _, p := range patterns {
			got = append(got, p.String())
		}
		if strings.Join(got, "|") != want.patterns || !reflect.DeepEqual(unread, want.unread) {
			t.Errorf("%q: %q, %q", value, got, unread)
		}
	}
}

// [S5] [Q1]
func FuzzToolPattern(f *testing.F) {
	for _, text := range []string{"Read", "Bash(git add:*)", "mcp__a__*", "a*b(c*d (e))", "Bash(*)", "(", "a,b"} {
		f.Add(text, "git add x")
	}
	f.Fuzz(func(t *testing.T, text, argument string) {
		p, err := skills.ParseToolPattern(text)
		if err != nil {
			if !errors.Is(err, skills.ErrToolPattern) {
				t.Error(err)
			}
			return
		}
		if p.String() != text {
			t.Errorf("%q became %q", text, p.String())
		}
		if !p.MatchName(p.Name) {
			t.Errorf("%q does not match its own name", text)
		}
		// What is not a call of that very pattern is never covered with a shell's characters.
		covered := p.MatchCall(p.Name, argument)
		if literal := strings.Trim(p.Argument, "*"); covered && p.Restricted && p.Argument != "*" && !strings.ContainsAny(literal, ";&|<>()$`\n\r\x00") && strings.ContainsAny(argument, ";&|<>()$`\n\r\x00") {
			t.Errorf("%q covers %q", text, argument)
		}
	})
}
