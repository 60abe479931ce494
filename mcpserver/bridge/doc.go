// Package bridge offers to agents, through a tool catalog, what is not declared
// there by plugins themselves: the tools of MCP servers that a host is connected
// to, and skills.
//
//	mcp, err := bridge.NewMCP(clients, cat, bridge.MCPOptions{
//		Surfaces: func(mcpclient.Tool) []string { return []string{"chat"} },
//	})
//	…
//	defer mcp.Close()
//	invokers.SetSource(bridge.SourceMCP, mcp)
//
// With both, an agent that is connected to its endpoint alone can use plugins
// whole: what it calls goes through the same snapshots, surfaces and judging as
// the tools that plugins declare.
//
// # Choices
//
// Such tools keep their names. The tool read of server files of plugin demo is
// mcp__demo__files__read here as it is in the host's own list, in skills that
// name it and in logs, and the name leads back to the tool. The limits of a
// plugin's declaration, 16 tools with small names and 1,024 bytes of description,
// are for what plugins write for a catalog, and few servers fit them; what a
// bridge offers has limits of its own ([catalog.Catalog.Bridge]). What does not
// fit these is left out and reported, never cut.
//
// A call of a server's tool is sent at most once, and only while the server says
// the same of the tool as what agents were shown. Results are the server's, and
// go to the agent as they came, within the bounds of both sides.
package bridge

// The sources under which bridges offer tools, for
// [github.com/plugberth/plugberth/mcpserver.Invokers.SetSource].
const (
	SourceMCP    = "mcp"
	SourceSkills = "skills"
)

// Problem says what a bridge cannot offer, or not as it is.
type Problem struct {
	Plugin string // the plugin's name, "" where it is about none
	Name   string // the exposed name of the tool, or the skill's
	Reason string // why, safe to show
}
