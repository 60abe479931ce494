// Package catalog is the list of tools that plugins contribute to running
// agents. The host owns one [Catalog]; each run sees the part of it that its
// surface allows.
//
// A plugin declares all its tools at once, and may replace, withdraw or suspend
// them while agents run. A declaration that breaks a rule or whose names collide
// is refused whole, and what was in force stays. After each change the catalog
// has a new [Snapshot]: immutable, sorted, with a revision that grows only when
// the content does change.
//
// Snapshots are how a catalog reaches those who serve it, in the same process
// or, as JSON, in another one. They take one only if it is newer than theirs,
// by [Snapshot.Newer], so that delayed and reordered ones bring nothing back. A
// [Refresher] pushes the newest to each [Target] that it has.
//
// Tools that come from elsewhere, such as those of MCP servers, stand in the same
// catalog under the names that they have there ([Catalog.Bridge]).
//
// The package knows no protocol and starts nothing but the goroutines of a
// Refresher, so that a backend can own the catalog where no agent connects.
//
// # Choices
//
// A plugin has at most 16 tools, a description 1 to 1,024 bytes, a schema at
// most 64 KiB. A tool that says nothing of itself counts as one that changes
// and destroys things, not repeatable, and open to the world. A tool is seen on
// the surfaces that its declaration lists, and on no other.
package catalog
