package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/plugberth/plugberth/channel"
)

// A host waits for its observers before it exits.
func ExampleBacklog() {
	ctx := context.Background()
	var backlog channel.Backlog // one for all runs
	parts := channel.Observe(
		channel.Of(channel.NewBuffered(new(channel.MemoryStore))),
		channel.ObserveOptions{
			Backlog: &backlog,
			Observers: []channel.Observer{channel.ObserverFunc(func(e channel.Event) {
				fmt.Println(e.Kind == channel.EventProgress, e.Progress.Text)
			})},
		},
	)
	if err := parts.Recorder.RecordProgress(ctx, channel.Progress{Text: "Reading."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(backlog.Wait(ctx))
	// Output:
	// true Reading.
	// <nil>
}

// table stands for the rows of one run in a host's database. Of the four stores it
// has one: this agent only spawns.
type table struct {
	channel.Store
	mu   sync.Mutex
	rows map[string]string // the subtask of each key; a unique index
}

func (t *table) AddSubtask(ctx context.Context, spec channel.SubtaskSpec) (channel.Subtask, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.rows[spec.Key]; ok {
		return channel.Subtask{ID: id, Key: spec.Key, Existing: true}, nil
	}
	if len(t.rows) == 1 {
		// The agent reads the text, and never the cause.
		return channel.Subtask{}, &channel.Refusal{Text: "Not created: the team's quota is used up.", Err: errors.New("quota of team 7")}
	}
	id := fmt.Sprint("task-", 17+len(t.rows))
	t.rows[spec.Key] = id
	return channel.Subtask{ID: id, Key: spec.Key}, nil
}

// A host keeps subtasks in its own database, and says in words for the agent what
// it does not take.
func ExampleRefusal() {
	buffered := channel.NewBuffered(&table{rows: map[string]string{}})
	parts := channel.Parts{Spawner: buffered} // the others are not offered
	for _, key := range []string{"a", "a", "b"} {
		spec := channel.SubtaskSpec{Key: key, Title: "Part " + key, Prompt: "Do it."}
		subtask, err := parts.Spawner.SpawnSubtask(context.Background(), spec)
		text, _ := channel.AgentText(err)
		fmt.Printf("%s %t %q\n", subtask.ID, subtask.Existing, text)
	}
	// Output:
	// task-17 false ""
	// task-17 true ""
	//  false "Not created: the team's quota is used up."
}

// A host that goes on without the answer withdraws the question.
func ExampleBuffered_Withdraw() {
	ctx := context.Background()
	run := channel.NewBuffered(new(channel.MemoryStore))
	_, err := run.Ask(ctx, channel.Question{Text: "Which database?"})
	var blocked *channel.BlockedError
	if !errors.As(err, &blocked) {
		log.Fatal(err)
	}
	_, err = run.Ask(ctx, channel.Question{Text: "Which port?"})
	fmt.Println("another one meanwhile:", errors.Is(err, channel.ErrPending))

	latest, err := run.Exchange(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("pending:", latest.Pending(), "answered:", latest.Answered())
	if err := run.Withdraw(ctx, latest.Question.ID); err != nil {
		log.Fatal(err)
	}
	err = run.Answer(ctx, blocked.Question.ID, "SQLite")
	fmt.Println("too late:", errors.Is(err, channel.ErrNoQuestion))
	// Output:
	// another one meanwhile: true
	// pending: true answered: false
	// too late: true
}

// A user leaves: what waits goes to the fallback, and blocks the run.
func ExampleLive_Close() {
	ctx := context.Background()
	live := channel.NewLive(channel.LiveOptions{})
	asked := make(chan error)
	go func() {
		_, err := live.Ask(ctx, channel.Question{Text: "Go on?", Choices: []string{"yes", "no"}, OnlyChoices: true})
		asked <- err
	}()
	question, err := live.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = live.Answer(ctx, question.ID, "maybe")
	fmt.Println("no choice:", errors.Is(err, channel.ErrNotChoice), "waiting:", len(live.Waiting()))
	live.Close()
	fmt.Println("blocked:", errors.Is(<-asked, channel.ErrBlocked))
	pending, _, err := live.Fallback().PendingQuestion(ctx)
	fmt.Println("kept:", pending.Text, err)
	_, err = live.Next(ctx)
	fmt.Println("closed:", errors.Is(err, channel.ErrClosed))
	// Output:
	// no choice: true waiting: 1
	// blocked: true
	// kept: Go on? <nil>
	// closed: true
}
