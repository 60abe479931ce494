package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// A run asks, is told to end its turn, and is resumed with the answer.
func Example_recordAndResume() {
	ctx := context.Background()
	store := new(channel.MemoryStore) // a real host: rows of its database
	question := channel.Question{Text: "Which database?", Choices: []string{"SQLite", "Postgres"}}

	// The first run.
	run := channel.NewBuffered(store)
	_, err := run.Ask(ctx, question)
	fmt.Println("blocked:", errors.Is(err, channel.ErrBlocked))

	// The host, when the run has ended.
	pending, ok, err := run.PendingQuestion(ctx)
	if err != nil || !ok {
		log.Fatal(ok, err)
	}
	fmt.Println("the user reads:", pending.Text, pending.Choices)
	if err := run.Answer(ctx, pending.ID, "SQLite"); err != nil {
		log.Fatal(err)
	}

	// The second run, of the same store: the agent asks again.
	resumed := channel.NewBuffered(store)
	answer, err := resumed.Ask(ctx, question)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the agent reads:", answer.Text)
	if err := resumed.ReportSummary(ctx, channel.Summary{Text: "Set up SQLite."}); err != nil {
		log.Fatal(err)
	}
	summary, _, err := resumed.ReportedSummary(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("summary:", summary.Text)
	// Output:
	// blocked: true
	// the user reads: Which database? [SQLite Postgres]
	// the agent reads: SQLite
	// summary: Set up SQLite.
}

// A client that lost a response repeats its call: no second subtask.
func ExampleBuffered_SpawnSubtask() {
	ctx := context.Background()
	store := new(channel.MemoryStore)
	run := channel.NewBuffered(store)
	spec := channel.SubtaskSpec{Key: "docs", Title: "Write the docs", Prompt: "Describe the new flags in docs/flags.md."}
	for range 2 {
		subtask, err := run.SpawnSubtask(ctx, spec)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(subtask.ID, "existing:", subtask.Existing)
	}
	fmt.Println("in the store:", len(store.Subtasks()))
	// Output:
	// subtask-1 existing: false
	// subtask-1 existing: true
	// in the store: 1
}

// A user is there and answers while the agent waits.
func ExampleLive() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	live := channel.NewLive(channel.LiveOptions{Deadline: time.Minute})

	// The host, and its user interface.
	ask := func(_ context.Context, question string, choices []string) (string, error) {
		return "yes, " + question, nil
	}
	go live.Serve(ctx, func(ctx context.Context, q channel.Question) (string, error) {
		return ask(ctx, q.Text, q.Choices)
	})

	answer, err := live.Ask(ctx, channel.Question{Text: "go on?"})
	fmt.Println(answer.Text, err)
	// Output: yes, go on? <nil>
}

// The user comes back after the deadline: the answer is kept, and the agent
// that asks again gets it.
func ExampleLive_late() {
	ctx := context.Background()
	buffered := channel.NewBuffered(new(channel.MemoryStore))
	live := channel.NewLive(channel.LiveOptions{Deadline: time.Millisecond, Fallback: buffered})

	_, err := live.Ask(ctx, channel.Question{Text: "Go on?"})
	var blocked *channel.BlockedError
	if !errors.As(err, &blocked) {
		log.Fatal(err)
	}
	if err := live.Answer(ctx, blocked.Question.ID, "yes"); err != nil {
		log.Fatal(err)
	}
	answer, err := live.Ask(ctx, channel.Question{Text: "Go on?"})
	fmt.Println(answer.Text, err)
	// Output: yes <nil>
}

// What an agent reads when it goes over a limit.
func ExampleLimit() {
	ctx := context.Background()
	buffered := channel.NewBuffered(new(channel.MemoryStore))
	parts := channel.Limit(channel.Of(buffered), channel.Limits{Subtasks: 1, ProgressText: 20})

	for _, key := range []string{"a", "a", "b"} {
		_, err := parts.Spawner.SpawnSubtask(ctx, channel.SubtaskSpec{Key: key, Title: "Part " + key, Prompt: "Do it."})
		text, _ := channel.AgentText(err)
		fmt.Printf("%s: %q\n", key, text)
	}
	err := parts.Recorder.RecordProgress(ctx, channel.Progress{Text: "Reading all of the files one by one."})
	var over *channel.LimitError
	fmt.Println(errors.As(err, &over), over.Limit, over.Max)
	// Output:
	// a: ""
	// a: ""
	// b: "Not created: the limit of subtasks for this run, 1, is used up. Do the work yourself, or name it in the summary."
	// true ProgressText 20
}

// Observers hear what happens, without a hold on the run.
func ExampleObserve() {
	ctx := context.Background()
	events := make(chan channel.Event)
	parts := channel.Observe(
		channel.Of(channel.NewBuffered(new(channel.MemoryStore))),
		channel.ObserveOptions{Observers: []channel.Observer{
			channel.ObserverFunc(func(channel.Event) { panic("a broken one") }),
			channel.ObserverFunc(func(e channel.Event) { events <- e }),
		}},
	)
	if err := parts.Recorder.RecordProgress(ctx, channel.Progress{Text: "Reading."}); err != nil {
		log.Fatal(err)
	}
	if err := parts.Summarizer.ReportSummary(ctx, channel.Summary{Text: "Done."}); err != nil {
		log.Fatal(err)
	}
	fmt.Println((<-events).Progress.Text)
	fmt.Println((<-events).Summary.Text)
	// Output:
	// Reading.
	// Done.
}

// A host that only takes progress and summaries, through a type of its own.
func ExampleOf() {
	parts := channel.Of(printer{})
	fmt.Println("asks:", parts.Asker != nil, "records:", parts.Recorder != nil)
	// Output: asks: false records: true
}

type printer struct{}

func (printer) RecordProgress(_ context.Context, p channel.Progress) error {
	fmt.Println(p.Text)
	return nil
}

func (printer) ReportSummary(_ context.Context, s channel.Summary) error {
	fmt.Println(s.Text)
	return nil
}
