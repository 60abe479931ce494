// Package channel is how an agent reaches the host that runs it: it asks the
// user, reports a summary, spawns a subtask, records progress. Each is an
// interface of one method; [AgentChannel] is all four. The package knows no
// protocol and imports only the standard library.
package channel
