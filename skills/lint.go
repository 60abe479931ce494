package skills

import (
	"path"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin/finding"
)

// nearMisses are names, in lower case, of files that are likely meant as SKILL.md.
var nearMisses = []string{"skill.md", "skills.md", "skill.markdown", "skill.mdx", "skill.txt", "skill.md.txt", "skill"}

// lintFile notes a file beside the directories of skills that is likely meant as a
// skill: SKILL.md itself, and a text whose name could be that of one.
func (c *candidate) lintFile() {
	stem, isText := strings.CutSuffix(c.name, ".md")
	switch {
	case strings.EqualFold(c.name, fileName):
		c.note(finding.LintMisplaced, "a skill has a directory of its own: move this file to %s", path.Join(c.dir, "NAME", fileName))
	case isText && stem != "readme" && CheckName(stem) == nil:
		c.note(finding.LintMisplaced, "a file is no skill: move it to %s if it is to be one", path.Join(c.dir, stem, fileName))
	}
}

// lintDirectory notes what the directory at, which has no SKILL.md, holds instead.
func (c *candidate) lintDirectory(at string) {
	if c.looks >= c.opts.Limits.Entries {
		return // looking costs more than what it says is worth
	}
	entries, _, err := c.root.List(c.ctx, at, c.opts.Limits.Entries-c.looks)
	if err != nil {
		return
	}
	c.looks += len(entries)
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(nearMisses, strings.ToLower(e.Name())) {
			c.sheet.File += "/" + e.Name()
			c.note(finding.LintMisplaced, "%s makes no skill of the directory: rename it to %s", printable.Quote(e.Name()), fileName)
			return
		}
	}
	for _, e := range entries {
		if !e.IsDir() || c.looks >= c.opts.Limits.Entries {
			continue
		}
		c.looks++
		file := path.Join(at, e.Name(), fileName)
		if info, err := c.root.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if exact, err := c.root.Exact(c.ctx, file); err == nil && exact {
			c.sheet.File += "/" + e.Name() + "/" + fileName
			c.note(finding.LintMisplaced, "a skill stands directly in %s: move the directory of this one up", c.dir)
			return
		}
	}
	c.note(finding.LintNoSkill, "the directory has no file named %s, so it is no skill: add one, or move it out of %s", fileName, c.dir)
}
