// Package channel is how an agent reaches the host that runs it: it asks the
// user, reports a summary, spawns a subtask, records progress. Each is an
// interface of one method; [AgentChannel] is all four. The package knows no
// protocol and imports only the standard library.
//
// A host implements what it wants to offer, or uses what is here:
//
//   - [Buffered] records everything in a [Store] and tells an agent that asks
//     to end its turn. The host resumes it when the answer is there, maybe in
//     another process, maybe next week.
//   - [Live] waits for a user at hand up to a deadline, and then records.
//   - [MemoryStore] is a Store for tests and for starting out. A host that
//     must not forget implements the six methods of Store over its database,
//     whose transactions are what makes them safe; the package has no store in
//     files, which would need locks and syncs that differ by system.
//
// [Parts] says which of the four are offered. Decorators take Parts and return
// Parts, and leave out what is left out:
//
//	store := new(channel.MemoryStore)
//	buffered := channel.NewBuffered(store)
//	parts := channel.Of(buffered)
//	parts.Spawner = nil // this agent spawns nothing
//	parts = channel.Limit(parts, channel.Limits{Questions: 3})
//	parts = channel.Observe(parts, channel.ObserveOptions{Observers: observers})
//
// Limit first and observe what passed, as here, or the other way around. A host that
// exits waits for its observers with a [Backlog].
//
// # What an agent may read
//
// An agent is not trusted with the host's errors. Two kinds reach it:
// [ErrBlocked], the outcome that its turn is over, and an [AgentError], whose
// text was written for it: [Refusal], [PendingError] and [LimitError] here. Of
// any other error, a store's for example, a tool layer says that it failed and
// nothing more.
//
// # Asking twice
//
// Connections break, and a client repeats a call whose response it lost. So a
// call that comes twice is recognized: a question by its text and choices
// ([Question.Same]), a subtask by its key.
package channel
