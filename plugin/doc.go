// Package plugin loads Agent Plugins packages and judges them as the Agent
// Plugins Specification 1.0.0 says, which the documentation cites as AP and a
// section: https://github.com/agentplugins/agent-plugins-spec.
//
// A package is a directory with a plugin.json, and next to it a skills
// directory, an mcp.json, or both. [Load] reads one from a directory, [LoadFS]
// from any file system, with the same engine:
//
//	p, err := plugin.Load(ctx, dir, plugin.Options{})
//
// The error says why the plugin was rejected, or that there is nothing to
// read. Everything else that is wrong is a finding on the loaded plugin, and
// confined to its boundary: a bad skill costs that skill, a bad server entry
// that entry, a broken mcp.json the servers but no skill (AP §11.3).
//
// Loading starts no process, opens no network and writes nothing. It follows
// links only inside the plugin root, opens only regular files and directories, and
// bounds what it reads ([Limits]); whatever the package holds, it ends soon.
//
// A [Server] is configuration that was judged. [Plugin.LaunchPlan] turns a
// stdio server into plain data: program, arguments, environment and working
// directory, all resolved and expanded, with a digest to approve it by.
// Nothing in this package acts on a plan.
//
// [Plugin.ClientConfig] makes the configuration by which an agent program
// connects to the servers itself, and a [ClientConfigFile] is where the host puts
// it, beside what others wrote there, and takes it out again. Beside that only
// [Package.WriteDir] and [Archive.Unpack] write files.
//
// # Writing packages
//
// A [Draft] is a package to be built: a manifest, skills, servers and files from
// any file system. [Draft.Build] makes a [Package] of it in memory and judges
// that with the engine that loads, at its strictest, so only what conforms can be
// written. [Plugin.Draft] takes a loaded plugin apart again. A package is written
// to a directory, at once and whole, to a zip or tar.gz archive whose bytes are
// always the same, or used as a file system:
//
//	draft := &plugin.Draft{Manifest: plugin.Manifest{Name: "reports"}, Skills: list}
//	pkg, err := draft.Build(ctx, plugin.BuildOptions{})
//	…
//	err = pkg.WriteDir(ctx, dir, plugin.WriteOptions{})
//
// [OpenArchive], [ReadZip] and [ReadTarGz] read archives without unpacking them,
// within [Bounds], and refuse what archives are abused for; [Archive.Unpack]
// writes one to a directory. [Plugin.Hash] is one content hash for all forms of a
// package, and [Compare] says what changed between two versions.
//
// # Choices
//
// Where the specification leaves room, plugberth decides so: a member that
// stands twice is refused at its owner; a leading byte order mark is ignored;
// a bare command with blanks is a shell line and invalid, and so is a command
// that resolves to something that is no file; a NUL character anywhere in a
// stdio entry makes it invalid, as does an environment name that is empty or
// has "="; a port is 1 to 65535, and a URL has no zone identifier and a host
// that net/url accepts; files, counts and nesting are bounded ([Limits]), a
// command or cwd to 4,096 bytes and 512 components, those of its links
// included, and the findings of one document to 5,000 and 4 MiB of names,
// beyond which one says that there are more. An extension namespace that stands
// twice in the manifest is not readable.
package plugin
