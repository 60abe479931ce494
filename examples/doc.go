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
// For authors of packages:
//
//   - inspect shows what is in a package, what was left out, and why. It is made
//     for CI too.
//   - export makes a package of a directory of skills.
//
// For authors of hosts, a part each:
//
//   - connect runs the MCP servers of packages and calls their tools.
//   - embedskills ships skills inside a binary, beside those of packages.
//   - taskserver serves agents, each for a task of its own.
//   - catalog changes the tools of agents that are connected.
//   - conformance judges a loader, in any language, by the conformance corpus.
//
// "go run ./examples/host" runs one, and -h says what it takes. To begin a program
// with one, copy its directory into a module of your own, "go get" this module and
// run "go mod tidy": nothing else of this repository is needed.
package examples
