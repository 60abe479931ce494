package channel

import "context"

// Parts is what a host offers to an agent. A part that is nil is not offered.
// The zero value offers nothing.
//
// Parts implements none of the four interfaces, and so cannot seem to offer
// what it lacks. Decorators take Parts and return Parts with the same ones nil.
type Parts struct {
	Asker      Asker
	Summarizer Summarizer
	Spawner    Spawner
	Recorder   Recorder
}

// Of returns the parts that c implements: all four of an [AgentChannel], fewer
// of a type with fewer methods, c itself if it is a Parts or points to one, none of
// nil.
//
// It goes by the methods c has. Give a pointer where the methods are on the
// pointer, and where a struct embeds an interface that may be nil, write the
// Parts out instead.
func Of(c any) Parts {
	switch c := c.(type) {
	case Parts:
		return c
	case *Parts:
		if c != nil {
			return *c
		}
	}
	var p Parts
	p.Asker, _ = c.(Asker)
	p.Summarizer, _ = c.(Summarizer)
	p.Spawner, _ = c.(Spawner)
	p.Recorder, _ = c.(Recorder)
	return p
}

// The functions that decorators put in place of a part.
type (
	askFunc    func(context.Context, Question) (Answer, error)
	reportFunc func(context.Context, Summary) error
	spawnFunc  func(context.Context, SubtaskSpec) (Subtask, error)
	recordFunc func(context.Context, Progress) error
)

func (f askFunc) Ask(ctx context.Context, q Question) (Answer, error)     { return f(ctx, q) }
func (f reportFunc) ReportSummary(ctx context.Context, s Summary) error   { return f(ctx, s) }
func (f recordFunc) RecordProgress(ctx context.Context, p Progress) error { return f(ctx, p) }
func (f spawnFunc) SpawnSubtask(ctx context.Context, spec SubtaskSpec) (Subtask, error) {
	return f(ctx, spec)
}
