// Package mcpserver gives each run of an agent an MCP endpoint of its own: all
// on one URL, told apart by a bearer token.
//
// A host mints a grant for a run, hands the token to the agent's program, and
// hears the agent through the interfaces of package channel:
//
//	registry, err := mcpserver.New(mcpserver.Options{Logger: logger})
//	…
//	mux.Handle("/mcp", registry)
//	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
//	go server.Serve(listener)
//	…
//	minted, err := registry.Mint(mcpserver.Grant{
//		Identity: mcpserver.Identity{Task: "task-17"},
//		Channel:  channel.Of(buffered),
//		TTL:      2 * time.Hour,
//	})
//	…
//	err = minted.WriteConfig(filepath.Join(dir, "mcp.json"), "http://127.0.0.1:8787/mcp")
//	…
//	defer registry.Revoke(minted.ID)
//	…
//	_, err = registry.Extend(minted.ID, 2*time.Hour) // a run that takes longer
//	…
//	registry.Shutdown(ctx) // first: the streams of agents are requests to the server
//	server.Shutdown(ctx)
//
// The agent finds the tools ask_user, report_summary, spawn_subtask and
// record_progress, as far as the channel has the part, and the host's own
// ([NewTool]). Whatever it sends counts as its run's: no argument changes that.
// Handlers find the run with [RunFromContext].
//
// The [Registry] speaks Streamable HTTP, with sessions as in MCP 2025-11-25 and
// before, and without as in MCP 2026-07-28. It needs a [net/http.Server] with a
// ReadHeaderTimeout and without a WriteTimeout. Across the machine's border it
// belongs behind TLS: whoever reads a token can use it.
//
// # What is refused
//
// Tokens that are missing, malformed, given twice, unknown, expired or revoked
// all get the same 401. A session works only with the token that opened it.
// Requests for a host or from a web page that the [Options] do not allow get
// 403, requests above the [Limits] 429 or 413.
//
// # What an agent hears
//
// What the agent did wrong, and what went wrong for it, is a result with
// IsError that its model can read and act on. It never holds an internal
// detail: errors and panics of handlers go to the log and the [Observer]. A
// question that blocks the run is no error: the result says that it is recorded
// and that the turn ends here.
//
// # Tools of plugins
//
// A registry that follows a tool catalog ([Options].Catalog, or [Registry.Push]
// where that is in another process) offers its tools beside those of the channel
// and the host, to each grant those of its surface. Agents that are connected see
// a change at once, whole, and are notified. Each call is judged again, by the
// [Authorizer] and the catalog of that moment, before the plugin's [Invoker] is
// asked once:
//
//	var invokers mcpserver.Invokers
//	invokers.Set("team-notes", notes)
//	registry, err := mcpserver.New(mcpserver.Options{Catalog: cat, Invokers: &invokers})
//	…
//	err = cat.Declare("team-notes", tools...)
//	…
//	err = registry.SetSurface(minted.ID, "admin")
//
// A tool that is withdrawn, suspended or off the run's surface is gone for lists
// and calls at once, and its calls in flight are canceled; one that is declared
// anew lets them finish. Package bridge offers the tools of MCP servers and
// skills in the same way.
//
// # The end of a grant
//
// [Registry.Revoke], [Registry.RevokeTask], expiry and [Registry.Shutdown] end
// a grant the same way: its token is refused, calls in flight are answered with
// the reason, then streams and sessions end. Nothing of it is left.
//
// How it works, and why so, is in docs/mcpserver.md and docs/catalog.md.
package mcpserver
