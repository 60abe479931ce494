// Package examples is a shelf of starters: programs to run, to read, and to copy
// into a module of your own. Each uses the public packages alone.
//
// To see what the library is for:
//
//   - host is the whole way in one run: a package is installed, its server is
//     started, and an agent works with its tools and asks its user.
//   - multitenant is a host that serves several tenants, who see nothing of each
//     other.
//
// For who writes packages:
//
//   - inspect shows what is in a package, what was left out, and why. It is made
//     for CI too.
//   - export makes a package of a directory of skills.
//
// For who writes a host, a part each:
//
//   - connect runs the MCP servers of packages and calls their tools.
//   - embedskills ships skills inside a binary, beside those of packages.
//   - taskserver serves agents, each for a task of its own.
//   - catalog changes the tools of agents that are connected.
//   - conformance judges a loader, in any language, by the conformance corpus.
//
// Run one with
//
//	go run ./examples/host
//
// and copy it with its directory: it builds in any module that requires this one.
package examples
