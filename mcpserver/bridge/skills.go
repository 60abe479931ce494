package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/safelog"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// The names of the tools of [Skills].
const (
	ToolLoadSkill         = "load_skill"
	ToolReadSkillResource = "read_skill_resource"
)

// SkillsOptions are the settings of a [Skills].
type SkillsOptions struct {
	// Surfaces are where the tools are seen.
	Surfaces []string
	// Activation and Resource choose how skills and their files are rendered.
	Activation skills.ActivationOptions
	Resource   skills.ResourceOptions
	// Logger gets a record of each skill that cannot be offered as it is. nil is
	// silent.
	Logger *slog.Logger
}

// Skills offers the skills of a set to agents as two tools: load_skill, which
// lists the skills and hands over one ([skills.Offer.Activate]), and
// read_skill_resource, which hands over one file of a skill
// ([skills.Offer.ReadResource]). The names of the skills are an enumeration in
// both schemas. It is the invoker of these tools, and safe for concurrent use. Make
// one with [NewSkills]: the zero Skills has no catalog.
type Skills struct {
	catalog *catalog.Catalog
	opts    SkillsOptions

	setting sync.Mutex // one set is taken over at a time

	mu       sync.RWMutex
	offers   map[string]skills.Offer
	problems []Problem
}

// NewSkills returns a bridge without skills, which offers nothing yet.
func NewSkills(c *catalog.Catalog, opts SkillsOptions) *Skills {
	opts.Logger = safelog.New(opts.Logger)
	opts.Surfaces = slices.Clone(opts.Surfaces)
	return &Skills{catalog: c, opts: opts}
}

// Room of the two tools within the bounds of a catalog.
const (
	catalogRoom = catalog.MaxBridgedDescription - 1<<10
	schemaRoom  = catalog.MaxSchema - 1<<10
)

// Set offers the skills of a set in place of those before, as a host does first
// and after each reload. Without skills, nil included, nothing is offered. Skills
// whose names find no room in a schema are left out, from the end, and those whose
// descriptions find none in the list are shown by name; [Skills.Problems] tells.
//
// It fails, and offers what it offered, where the catalog refuses the tools: for a
// surface that is none, or because another tool has one of the names. It fails
// where there is no catalog.
func (s *Skills) Set(set *skills.Set) error {
	if s.catalog == nil {
		return errNoCatalog
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	var list []skills.Offer
	if set != nil {
		list = set.Offers()
	}
	var problems []Problem
	report := func(name, reason string) { problems = append(problems, Problem{Name: name, Reason: reason}) }
	offers := map[string]skills.Offer{}
	var names []string
	size := 0
	for i, o := range list {
		name := o.Skill.Name()
		if size += len(name) + len(`"",`); size > schemaRoom {
			for _, o := range list[i:] {
				report(o.Skill.Name(), "its name finds no room in the schema")
			}
			list = list[:i]
			break
		}
		offers[name] = o
		names = append(names, name)
	}
	var tools []catalog.Tool
	if len(names) > 0 {
		shown, err := skills.CatalogXML(list, skills.CatalogOptions{MaxBytes: catalogRoom, NoLocations: true})
		if err != nil {
			return err
		}
		for _, name := range shown.Shortened {
			report(name, "its description is cut in the list")
		}
		for _, name := range shown.Stubs {
			report(name, "its description finds no room in the list")
		}
		for _, name := range shown.Omitted {
			report(name, "it finds no room in the list, and can be loaded by name")
		}
		tools = skillTools(names, shown.Text, s.opts.Surfaces)
	}
	// The offers change with the catalog, and not before: what is refused leaves
	// both as they are.
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catalog.Bridge(SourceSkills, "", tools...); err != nil {
		return err
	}
	for _, p := range problems {
		if !slices.Contains(s.problems, p) {
			s.opts.Logger.Warn("a skill cannot be offered as it is", "skill", p.Name, "reason", p.Reason)
		}
	}
	s.offers, s.problems = offers, problems
	return nil
}

func skillTools(names []string, list string, surfaces []string) []catalog.Tool {
	object := func(properties map[string]any, required ...string) json.RawMessage {
		text, _ := json.Marshal(map[string]any{ // strings alone: it cannot fail
			"type": "object", "properties": properties, "required": required, "additionalProperties": false,
		})
		return text
	}
	skill := map[string]any{"type": "string", "enum": names}
	reads := catalog.Annotations{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true}
	return []catalog.Tool{{
		Name: ToolLoadSkill,
		Description: "Loads a skill: instructions for a kind of task, written by the skill's author, and the list of its files. " +
			"Load a skill when its description fits what you are to do, before you begin. The skills are:\n" + list,
		InputSchema: object(map[string]any{"name": skill}, "name"),
		Surfaces:    surfaces, Annotations: reads,
	}, {
		Name: ToolReadSkillResource,
		Description: "Reads one file of a skill, such as one that its instructions name. " +
			"The path is relative to the skill's directory, as in references/rules.md.",
		InputSchema: object(map[string]any{
			"skill": skill,
			"path":  map[string]any{"type": "string", "minLength": 1, "maxLength": 4096},
		}, "skill", "path"),
		Surfaces: surfaces, Annotations: reads,
	}}
}

// Problems returns the skills that are not offered, or not with all of their
// description.
func (s *Skills) Problems() []Problem {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.problems)
}

// Close takes the tools out of the catalog.
func (s *Skills) Close() { _ = s.Set(nil) } // none cannot fail

// Invoke implements [mcpserver.Invoker].
func (s *Skills) Invoke(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
	var args struct{ Name, Skill, Path string }
	if err := json.Unmarshal(inv.Arguments, &args); err != nil {
		return mcpserver.Result{}, err
	}
	load := inv.Tool.Name == ToolLoadSkill
	if load {
		args.Skill = args.Name
	}
	s.mu.RLock()
	offer, ok := s.offers[args.Skill]
	s.mu.RUnlock()
	if !ok {
		return refusal("There is no such skill, or not any more. List the tools again.", nil)
	}
	if load {
		a, err := offer.Activate(ctx, s.opts.Activation)
		if err != nil {
			if ctx.Err() != nil {
				return mcpserver.Result{}, err
			}
			return refusal("The skill cannot be read now. Go on without it.", err)
		}
		return mcpserver.Result{Text: a.Text}, nil
	}
	r, err := offer.ReadResource(args.Path, s.opts.Resource)
	if err != nil {
		return refusal(fmt.Sprintf("The file %s cannot be read: %s.", printable.Quote(args.Path), readReason(err)), err)
	}
	return mcpserver.Result{Text: r.Text}, nil
}

func refusal(text string, err error) (mcpserver.Result, error) {
	return mcpserver.Result{}, &channel.Refusal{Text: text, Err: err}
}

// readReason says why a file is not handed over, in words for the agent.
func readReason(err error) string {
	for _, r := range []struct {
		err  error
		text string
	}{
		{fs.ErrNotExist, "the skill has no such file"},
		{skills.ErrNoFiles, "the skill has no files"},
		{skills.ErrBinary, "it is not text"},
		{paths.ErrEscape, "it is outside the skill's directory"},
		{paths.ErrNotRegular, "it is not a file"},
		{paths.ErrTooLarge, "it is too large"},
		{fs.ErrInvalid, "that is no path of a file in the skill's directory"},
	} {
		if errors.Is(err, r.err) {
			return r.text
		}
	}
	return "reading failed"
}
