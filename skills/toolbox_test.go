package skills_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/skills"
)

func withTools(t *testing.T, tools string) *skills.Skill {
	t.Helper()
	s, list, err := skills.Parse("x", []byte(md(plain+"license: MIT\nallowed-tools: "+tools)), skills.Options{Mode: skills.Lenient})
	if err != nil || s == nil {
		t.Fatal(list, err)
	}
	return s
}

// [S5]
func TestToolboxUse(t *testing.T) {
	own := skills.Toolbox{
		Tools:   []string{"run_command", "read_file", "edit", "mcp__tracker__list", "Grep"},
		Aliases: map[string][]string{"Bash": {"run_command"}, "Read": {"read_file", "Grep"}, "Write": {"gone"}},
	}
	fold := own
	fold.IgnoreCase = true
	for _, tt := range []struct {
		box            skills.Toolbox
		tools          string
		granted        []string
		refused        string
		coversRmCommit [2]bool // run_command with "git add; rm x" and with "git commit"
	}{
		{own, "Bash(git commit:*) Read", []string{"run_command", "read_file", "Grep"}, "", [2]bool{false, true}},
		{own, "Bash, Write, Edit, mcp__tracker", []string{"run_command", "mcp__tracker__list"}, "Write Edit", [2]bool{true, true}},
		{fold, "bash, WRITE, Edit, GREP", []string{"run_command", "edit", "Grep"}, "WRITE", [2]bool{true, true}},
		{own, "'*'", own.Tools, "", [2]bool{true, true}},
		{own, "read_* run*(git *)", []string{"run_command", "read_file"}, "", [2]bool{false, true}},
		{own, "Task(a b) WebFetch", nil, "Task(a b) WebFetch", [2]bool{}},
		{own, "''", nil, "", [2]bool{}},
		{skills.Toolbox{}, "'* Bash'", nil, "* Bash", [2]bool{}},
		{skills.Toolbox{Aliases: own.Aliases}, "'* Bash'", nil, "* Bash", [2]bool{}},
	} {
		s := withTools(t, tt.tools)
		use := tt.box.Use(s)
		var refused []string
		for _, p := range use.Refused {
			refused = append(refused, p.String())
		}
		if !slices.Equal(use.Tools, tt.granted) || strings.Join(refused, " ") != tt.refused || use.Unread != nil {
			t.Errorf("%s: %q, refused %q, unread %q", tt.tools, use.Tools, refused, use.Unread)
		}
		for i, command := range []string{"git add; rm x", "git commit"} {
			if got := tt.box.Covers(s, "run_command", command); got != tt.coversRmCommit[i] {
				t.Errorf("%s: covers %q: %v", tt.tools, command, got)
			}
		}
		if tt.box.Covers(s, "Bash", "git commit") || tt.box.Covers(s, "gone", "") {
			t.Errorf("%s: covers what is no tool of the box", tt.tools)
		}
	}
}

// [S5] A skill all of whose tools are refused is reported, at its allowed-tools.
func TestToolboxRefused(t *testing.T) {
	root := open(t, dir(t, map[string]string{
		"skills/all/SKILL.md":   "---\nname: all\ndescription: d\nallowed-tools: Bash(git:*) Task\n---\n",
		"skills/none/SKILL.md":  skillMD("none"),
		"skills/some/SKILL.md":  "---\nname: some\ndescription: d\nallowed-tools: Bash Read\n---\n",
		"skills/list/SKILL.md":  "\r\n\n---\nname: list\ndescription: a: b\nallowed-tools:\n  - Bash\n---\n",
		"skills/many/SKILL.md":  "---\nname: many\ndescription: é\u2028 x\nallowed-tools: A B C D E F G\n---\n",
		"skills/odd/SKILL.md":   "---\nname: odd\ndescription: d\nallowed-tools: \"Bash(\\e[2J x\"\n---\n",
		"skills/evil/SKILL.md":  "---\nname: evil\ndescription: d\nallowed-tools: \"\\e[2J\\u202e\"\n---\n",
		"skills/empty/SKILL.md": "---\nname: empty\ndescription: d\nallowed-tools: ' '\n---\n",
	}))
	l := load(t, root, skills.Options{Mode: skills.Lenient})
	got := skills.Toolbox{Tools: []string{"Read"}}.Refused(l.Skills)
	var places []string
	for _, f := range got {
		places = append(places, loadAt(f))
		if strings.ContainsAny(f.Message, "\x1b\u202e") || strings.Contains(f.Message, "git") {
			t.Errorf("message %q", f.Message)
		}
	}
	want := []string{
		"skills/all/SKILL.md 4:16 warning skill skill-tools-refused /allowed-tools all",
		"skills/evil/SKILL.md 4:16 warning skill skill-tools-refused /allowed-tools evil",
		"skills/list/SKILL.md 7:3 warning skill skill-tools-refused /allowed-tools list",
		"skills/many/SKILL.md 4:16 warning skill skill-tools-refused /allowed-tools many",
		"skills/odd/SKILL.md 4:16 warning skill skill-tools-refused /allowed-tools odd",
	}
	if !slices.Equal(places, want) {
		t.Errorf("findings\n\t%s\nwant\n\t%s", strings.Join(places, "\n\t"), strings.Join(want, "\n\t"))
	}
	if m := got[3].Message; !strings.Contains(m, `"A", "B", "C", "D", "E", …`) || strings.Contains(m, `"F"`) {
		t.Errorf("message %q", m)
	}
	if list := (skills.Toolbox{Tools: []string{"Read"}}).Refused(nil); list != nil {
		t.Errorf("%v", list)
	}
}
