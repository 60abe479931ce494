// Package staging copies skills into a workspace, for an agent program that
// reads them from there by itself, and takes them out again.
//
// A [Target] is the directory that such a program looks into, below a
// workspace. [Target.Stage] copies skills into it, each into a directory of its
// name:
//
//	target := staging.Target{Workspace: workspace, Dir: ".agents/skills"}
//	results, err := target.Stage(ctx, staging.Item{Skill: review, Package: "reports"})
//
// [Items] makes the items of a [skills.Set], with what the host allows each
// package. [Target.Unstage] removes skills and [Target.UnstageAll] all of them,
// which leaves the target as it was before; [Target.Status] says what is staged and whether somebody has changed
// it.
//
// # What is copied
//
// The rule, in its order:
//
//   - .git, .hg, .svn, .jj and .bzr are never copied, wherever they are: programs
//     act on what stands in them.
//   - SKILL.md, references and assets are always copied.
//   - scripts is copied only where [Item.Scripts] says so.
//   - Other entries whose name begins with a period are not copied.
//   - Other files are copied, unless they are programs and Item.Scripts does not
//     say so: files that begin with #! or as a native program does, that have
//     an extension by which a system runs them, such as .sh, .bat or .exe, or
//     that are executable and have no extension.
//
// No file gets an executable bit without Item.Scripts, and with it those that
// have one in the package, SKILL.md excepted. Windows has no such bit, so what
// is staged from a directory there has none. The rule keeps programs out of the
// workspace; it does not keep an agent from running what it reads.
//
// Links are copied as what they lead to, inside the root that the skill was
// loaded from. A skill with a file that leads elsewhere or nowhere, is neither a
// regular file nor a directory, differs from another only in letter case or
// Unicode form, or has a name that the system cannot hold or that shows less
// than it has, is refused as a whole, and so is one that is over the [Limits].
// Directories without files are not made. Files get the mode 0644 or 0755 and
// directories 0755, less the umask.
//
// # What is touched
//
// The workspace may belong to somebody who wants the host to write elsewhere. No
// link in it is followed: each directory below it is opened by itself and has to
// be the one that stands there, and nothing is written, moved or removed but
// through such handles. A link in the place of a directory of the target's path
// or of a skill is refused, also one that was put there meanwhile.
//
// What was written is recorded in the directory .plugberth of the target, by
// file with a SHA-256 hash. Only a file that is recorded and still has its hash
// is ever replaced or removed. One that was edited, and everything that others
// put there, stays and is reported. The record is a file of the workspace too:
// whoever forges it can have files removed in the target that have the hash they
// name, and nothing else.
//
// A skill is written below .plugberth first and then moved into its place, so
// that a reader sees the old one, for an instant none, and then the new one,
// but never a part; when it is removed, SKILL.md goes first. A run that is
// killed leaves nothing half: the next one, of Stage or Unstage, undoes or
// completes what it finds recorded. Nothing is forced to the disk, so that after
// a failure of the machine itself a file may be incomplete; it counts as edited
// then, and a record is refused with [ErrRecord].
package staging
