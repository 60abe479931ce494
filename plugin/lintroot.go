package plugin

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
)

// maxRootEntries bounds how much of the plugin root is looked at for names.
const maxRootEntries = 1000

// lintRoot notes what stands in the plugin root in place of a component. The error
// is the context's.
func lintRoot(ctx context.Context, root *paths.Root, opts Options) (finding.List, error) {
	entries, _, err := root.List(ctx, ".", maxRootEntries)
	if err != nil {
		return nil, ctx.Err()
	}
	var out finding.List
	note := func(name, message string) {
		out = append(out, finding.New(finding.LintMisplaced, finding.Place{File: name}, message))
	}
	configured := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == mcpFile })
	for _, e := range entries {
		name := e.Name()
		lower := strings.ToLower(name)
		if opts.Components != MCPOnly {
			switch {
			case lower == "skill.md" && !e.IsDir():
				note(name, "a skill has a directory of its own: move this file to skills/NAME/SKILL.md")
			case lower == skillsDir && name != skillsDir && e.IsDir(),
				lower == "skill" && e.IsDir() && holdsSkill(ctx, root, name):
				note(name, "no host looks into this directory: skills stand in one named skills, spelled exactly so")
			}
		}
		if opts.Components != SkillsOnly && !e.IsDir() {
			switch {
			case lower == mcpFile && name != mcpFile:
				note(name, "no host reads this file: servers stand in mcp.json, spelled exactly so")
			case lower == ".mcp.json" && !configured:
				note(name, "only some clients read this file: servers for every host stand in mcp.json, which has a $schema, and a type for each of them")
			}
		}
	}
	return out, ctx.Err()
}

// holdsSkill reports whether a directory of the root looks like one of skills, or of
// one skill.
func holdsSkill(ctx context.Context, root *paths.Root, dir string) bool {
	entries, _, err := root.List(ctx, dir, maxRootEntries)
	if err != nil {
		return false
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			name = path.Join(name, "SKILL.md")
		} else if e.Name() != "SKILL.md" {
			continue
		}
		if isFile(root, name) {
			return true
		}
	}
	return false
}

func isFile(root *paths.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// insteadOf says what to do about a manifest that is missing, by names in the
// plugin root alone: one in other letters, or that of one client. Neither is read,
// because no other file replaces plugin.json (AP §5.1). Where a listing may cost
// more than a look-up, as in a file system of a program's own, the usual names are
// looked up.
func insteadOf(ctx context.Context, root *paths.Root) string {
	other := ""
	clients := []string{".claude-plugin", ".codex-plugin", ".cursor-plugin"}
	if root.Dir() == "" {
		if isFile(root, "Plugin.json") {
			other = "Plugin.json"
		}
	} else if entries, _, err := root.List(ctx, ".", maxRootEntries); err == nil {
		clients = nil
		for _, e := range entries {
			switch name := e.Name(); {
			case !e.IsDir() && strings.EqualFold(name, manifestFile):
				other = name
			case e.IsDir() && strings.HasPrefix(name, "."):
				clients = append(clients, name)
			}
		}
	}
	if other != "" {
		return "rename " + finding.Escape(other) + ", because letter case counts"
	}
	for _, dir := range clients {
		if name := path.Join(dir, manifestFile); isFile(root, name) {
			return "add one, because " + finding.Escape(name) + " is for one client and does not count"
		}
	}
	return "add one"
}
