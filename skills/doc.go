// Package skills reads Agent Skills: directories with a SKILL.md file, whose
// YAML frontmatter says what the skill does and whose Markdown body tells an
// agent how.
//
// [Load] reads a directory of skills below a [paths.Root], such as a plugin's
// skills directory, and judges each as the Agent Skills specification says
// (AS, https://github.com/agentskills/agentskills; AP is the Agent Plugins
// Specification): one that does not conform is skipped with a finding, the others stay.
// [Parse] judges the content of one SKILL.md.
//
// Public collections hold many skills with small faults. A host that would
// rather keep them chooses [Lenient] mode, load by load: it keeps those with the
// faults on its list, each with a warning, and offers every skill under a valid
// name that no other of the load has.
//
// Skills load progressively. A [Skill] holds what a catalog shows, its name,
// description and location, and the rest of the frontmatter, but not its body:
// [Skill.Body] reads that on activation, [Skill.Resources] lists the files
// beside it, and [Skill.FS] opens them, contained in the root.
//
// # Skills of a host
//
// A [Set] holds the skills that a host offers, from plugins, directories such as
// .agents/skills and file systems of its own, each with its [Origin]. No plugin
// takes the place of a skill of another kind of source, and what is shadowed is
// reported. A [Snapshot] of a set, kept as plain data, tells after a reload what
// was added, removed and changed, by [Skill.Digest].
//
// A [Toolbox] compares allowed-tools with the tools that the host has, by
// patterns as agents write them ([ToolPattern]). [Skill.Audit] looks for what a
// person may want to see before a skill is trusted: credentials, text that does
// not show, markers of chat templates, executable content, large files. It is
// for the host's policy and says nothing about conformance.
//
// A host shows skills to a model as an [Offer] each: [CatalogXML] and
// [CatalogJSON] render what stands in a system prompt, [Offer.Activate] hands
// over one skill, and [Offer.ReadResource] one of its files. What a skill's
// author wrote cannot close or imitate the elements of these renderings, nor
// hide text in them. Package skills/staging copies skills into a workspace for
// an agent program that reads them itself.
//
// # Writing skills
//
// A [Draft] is a skill to be written. [Draft.Encode] makes its SKILL.md so that
// reading gives the same values, whatever they hold, in plain YAML where that can
// be; [Skill.Draft] takes a loaded skill apart again, and package plugin makes
// packages of drafts. [NearestName] helps where a name is refused.
//
// # Choices
//
// The frontmatter is split by hand rather than with a library, because the
// delimiters of a SKILL.md are exact: the first line is ---, in column one,
// and so is the first later line that ends it; a --- inside a value or an
// indented one is text. Values come from the YAML node tree, so that an
// unquoted 1.10, 2024-01-01 or true is kept as its literal text, with a
// warning. Names are ASCII. The length of a description counts code points,
// after trimming. Beyond the text of the specification, duplicate and merge
// keys, custom tags, document markers and aliases that expand far are refused,
// and the frontmatter is limited to 64 KiB.
package skills
