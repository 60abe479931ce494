package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// args are the arguments of a call, and subtask and question those of two tools whose
// order is for people to read.
type args map[string]any

type subtask struct {
	Title  string `json:"title"`
	Prompt string `json:"prompt"`
}

type question struct {
	Text     string   `json:"question"`
	Choices  []string `json:"choices"`
	FreeText bool     `json:"allow_free_text"`
}

// desk begins the names of the demo's tools.
const desk = "mcp__release-desk__changes__"

// script is what the agent does, in place of a model that decides.
func (a *agent) script(ctx context.Context) error {
	if a.tools[desk+"merged_changes"] != nil {
		return a.writeNotes(ctx)
	}
	return a.lookAround(ctx)
}

// writeNotes does the demo's task: it writes the notes of a release.
func (a *agent) writeNotes(ctx context.Context) error {
	c := &calls{agent: a, ctx: ctx}
	if !a.resumed {
		c.do("load_skill", args{"name": "release-notes"})
		c.do("read_skill_resource", args{"skill": "release-notes", "path": "references/style.md"})
	}
	var merged release
	c.into(&merged, desk+"merged_changes", args{})
	if !a.resumed {
		c.do("record_progress", args{"text": "read the changes and the style", "percent": 40})
		c.do("spawn_subtask", subtask{"Check the upgrade guide", "Does it say that access tokens end after one hour since " + merged.Version + "?"})
	}
	answer := c.do("ask_user", question{"Change 418 breaks old clients. Where is it to stand?", []string{"first", "last"}, false})
	c.do(desk+"save_notes", args{"version": merged.Version, "text": written(merged, answer == "first")})
	c.do("report_summary", args{"summary": fmt.Sprintf("The notes of %s are saved, with %d changes; 418 stands %s.", merged.Version, len(merged.Changes), answer)})
	return c.err
}

// written are the notes of a release.
func written(merged release, breakingFirst bool) string {
	slices.SortStableFunc(merged.Changes, func(a, b change) int {
		switch {
		case a.Breaking == b.Breaking:
			return 0
		case a.Breaking == breakingFirst:
			return -1
		}
		return 1
	})
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", merged.Version)
	for _, c := range merged.Changes {
		fmt.Fprintf(&b, "- %s (%d)\n", c.Title, c.Number)
	}
	return b.String()
}

// maxCalled is how many of a package's tools lookAround calls.
const maxCalled = 3

// lookAround tries what there is, of packages that it knows nothing of. It calls a
// tool only if that says of itself that it changes nothing, and needs no arguments.
func (a *agent) lookAround(ctx context.Context) error {
	c := &calls{agent: a, ctx: ctx}
	var did []string
	if skill := firstSkill(a.tools["load_skill"]); skill != "" && !a.resumed {
		text := c.do("load_skill", args{"name": skill})
		if file := resource.FindStringSubmatch(text); file != nil {
			c.do("read_skill_resource", args{"skill": skill, "path": file[1]})
		}
		did = append(did, "loaded the skill "+skill)
	}
	called, leftOut := 0, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(a.tools)) {
		if !strings.HasPrefix(name, "mcp__") || a.resumed {
			continue
		}
		switch reason := unsuitable(a.tools[name]); {
		case reason != "":
			leftOut[reason]++
		case called == maxCalled:
			leftOut["would be one more of the kind"]++
		default:
			called++
			c.do(name, args{})
		}
	}
	did = append(did, fmt.Sprintf("called %s", count(called, "tool")))
	for _, reason := range slices.Sorted(maps.Keys(leftOut)) {
		c.say("leaves out %s, as each %s", count(leftOut[reason], "tool"), reason)
	}
	if !a.resumed {
		c.do("record_progress", args{"text": strings.Join(did, ", "), "percent": 50})
		c.do("spawn_subtask", subtask{"Try the other tools", "Try the tools that need arguments or change things."})
	}
	answer := c.do("ask_user", question{"Is there anything else to look at?", []string{"No.", "Yes, but later."}, true})
	c.do("report_summary", args{"summary": fmt.Sprintf("Had a look around; the user said: %s", answer)})
	return c.err
}

// firstSkill is the first of the names that load_skill takes.
func firstSkill(load *mcp.Tool) string {
	var schema struct {
		Properties struct{ Name struct{ Enum []string } }
	}
	if load == nil || remarshal(load.InputSchema, &schema) != nil || len(schema.Properties.Name.Enum) == 0 {
		return ""
	}
	return schema.Properties.Name.Enum[0]
}

var resource = regexp.MustCompile(`(?m)^<file bytes="[0-9]+">(.+)</file>$`)

// unsuitable says why a tool is not one to try, or nothing.
func unsuitable(tool *mcp.Tool) string {
	var schema struct{ Required []string }
	switch {
	case tool.Annotations == nil || !tool.Annotations.ReadOnlyHint:
		return "may change something"
	case remarshal(tool.InputSchema, &schema) != nil || len(schema.Required) > 0:
		return "needs arguments"
	}
	return ""
}

// calls makes calls one after the other. After an error it makes no more.
type calls struct {
	agent *agent
	ctx   context.Context
	err   error
}

func (c *calls) do(tool string, arguments any) string { return c.into(nil, tool, arguments) }

// into stores the structured content of the result as well.
func (c *calls) into(result any, tool string, arguments any) string {
	if c.err != nil {
		return ""
	}
	text, structured, err := c.agent.call(c.ctx, tool, arguments)
	if err == nil && result != nil {
		err = remarshal(structured, result)
	}
	c.err = err
	return text
}

func (c *calls) say(format string, arguments ...any) {
	if c.err == nil {
		c.err = c.agent.say(format, arguments...)
	}
}

// remarshal stores decoded JSON in a Go value.
func remarshal(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
