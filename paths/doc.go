// Package paths keeps file access inside a root.
//
// A plugin package is a directory that somebody else wrote. Its entries may be
// links to /etc, FIFOs that never answer, or change while they are read. The
// specification asks that whatever a client discovers, reads or executes of it
// resolves, after all links, inside the resolved root (AP §4.1, of
// https://github.com/agentplugins/agent-plugins-spec), and allows
// links that stay inside, however they are written.
//
// A [Root] is such a directory. Its methods resolve a name component by
// component as the system does, decide on the resolved path, and then open
// what was decided on without following another link, so that a link swapped
// in between cannot lead outside. Only regular files and directories are ever
// opened, and opening never blocks. Root is an [io/fs.FS], so fs.WalkDir,
// fs.Sub and fs.Glob work on it and stay contained.
//
// os.Root alone does not do: it refuses links that are absolute or that leave
// and come back although they end inside, and it blocks on a FIFO.
//
// A Root can also be made of any fs.FS. Links are then followed where the file
// system can read them (fs.ReadLinkFS) and are absolute nowhere; elsewhere a
// link is no file. How well that is protected against changes under way is up
// to the file system: load directories as directories.
//
// Two checks go with it: [CheckRelative] judges the text of a plugin-relative
// path, and [Under] resolves a path below a directory that need not exist yet.
package paths
