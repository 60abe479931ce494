// Package mcpclient runs the MCP servers of plugin packages: it starts or
// connects to them, bounds and cleans what they send, and gives their tools to
// the host as one flat list.
//
// Everything that a server is or sends is untrusted. A server that is broken,
// hostile or slow costs its own tools, and nothing else.
//
// # One list of tools
//
// A [Host] runs the servers of many plugins. They connect side by side, plugins
// are added, replaced and removed while it runs, and a server that crashed is
// connected to again when it is used:
//
//	h, err := mcpclient.NewHost(mcpclient.HostOptions{Options: opts})
//	…
//	defer h.Close(ctx)
//	err = h.Add(plugin.Instance{ID: "an installation"}, p)
//	err = h.Ready(ctx)
//	for _, tool := range h.Tools() {
//		…
//	}
//	result, err := h.Call(ctx, "mcp__demo__files__read", arguments, mcpclient.CallOptions{})
//
// [Host.Servers] says what became of each server, [Host.Watch] what changes, and
// [Host.Refresh] tries again what failed or was refused.
// A [View] is the part of a host that one run may use. [Pins] hold tools back
// until somebody accepted them as they are.
//
// # One server
//
// [Connect] gives a [Session] with one server and, through [Session.MCP], the
// SDK's own session with its prompts and resources.
//
// # What the host decides
//
// [Options] are the host's policy. Its zero value refuses everything, because
// each part is a choice:
//
//   - [Options].Consent allows the programs of a package. It sees the whole
//     plan before anything is started, and again when the plan changes.
//   - [Options].Launcher can start them in a container. The default starts
//     local processes, with an environment of a few named variables
//     ([BaseEnviron]), and ends them with all that is left of their process group
//     ([Local]).
//   - [Options].Egress decides on the address of each connection to a remote
//     server, after its name is resolved. [DesktopEgress] and [ServiceEgress]
//     are the usual choices.
//   - [Options].Credentials gives what the host has for a server at the place
//     that it is told of. It goes to that server's configured origin and nowhere
//     else.
//
// Consent is for programs: no code of a remote server runs here. A host that wants
// its user to agree to each remote server compares [plugin.Server.Digest] with what
// the user agreed to, before [Host.Add].
//
// # Choices
//
// Where the specifications leave room, plugberth decides so: a connection may
// take 30 seconds, what the host is asked meanwhile apart, and a call 60; a host
// has each plugin once; a result has at most 1 MiB, and what else a
// server sends is bounded by [Limits]; no call is ever sent twice, so a call
// whose answer was lost fails and the caller decides; a redirect or an SSE
// endpoint on another origin is refused unless [Options].Origins names that
// origin, and configured headers do not go there even then; text in tools and
// results loses control, bidi, zero-width and tag characters; a tool whose
// schema refers outside itself, or whose names hide text, is left out and
// reported. A remote server is asked for the newest version of the protocol
// first, a program for the one that all know.
package mcpclient
