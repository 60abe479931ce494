package channel_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plugberth/plugberth/channel"
)

// model is what a buffered run must look like from outside, written without
// its revisions, loops and errors.
type model struct {
	question *channel.Question // the latest
	answer   string
	taken    time.Time
	summary  string
	subtasks []string // keys
	steps    []string
}

func (m *model) pending() bool { return m.question != nil && m.answer == "" }

// ask returns what a call of Ask must answer, and what it changes.
func (m *model) ask(q channel.Question) (answer string, change func(), err error) {
	switch {
	case m.pending() && m.question.Text == q.Text:
		return "", nil, channel.ErrBlocked
	case m.pending():
		return "", nil, channel.ErrPending
	case m.question != nil && m.question.Text == q.Text && m.taken.IsZero():
		return m.answer, func() { m.taken = time.Now() }, nil
	case m.question != nil && m.question.Text == q.Text && time.Since(m.taken) <= 2*time.Minute:
		return m.answer, nil, nil
	}
	return "", func() { m.question, m.answer, m.taken = &q, "", time.Time{} }, channel.ErrBlocked
}

// host returns what Answer (or Withdraw, for an empty text) must say.
func (m *model) host(id, text string) (change func(), err error) {
	switch {
	case m.question == nil || m.question.ID != id:
		return nil, channel.ErrNoQuestion
	case m.answer != "" && m.answer == text:
		return nil, nil
	case m.answer != "":
		return nil, channel.ErrAnswered
	case text == "":
		return func() { m.question = nil }, nil
	case !slices.Contains(m.question.Choices, text):
		return nil, channel.ErrNotChoice
	}
	return func() { m.answer = text }, nil
}

// [H2] [H4] Random calls of agent and host, with restarts, time passing, and a
// store that fails before or after it wrote, against a model of the rules.
func TestBufferedModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, rand.New(rand.NewPCG(seed, 5)), 150) })
		})
	}
}

func play(t *testing.T, random *rand.Rand, moves int) {
	ctx := t.Context()
	store := newFileStore(t)
	faulty := &faultyStore{Store: store}
	b := channel.NewBuffered(faulty)
	var m model
	var ids []string // of all questions there ever were

	for move := range moves {
		// What happens to the one write that this call makes, if any.
		fault := "none"
		faulty.write, faulty.wrote = nil, nil
		switch random.IntN(8) {
		case 0:
			fault = "not done"
			faulty.write = func() error { return errStore }
		case 1:
			fault = "done"
			faulty.wrote = func() error { return errStore }
		case 2:
			fault = "conflict"
			once := false
			faulty.write = func() error {
				if once {
					return nil
				}
				once = true
				return channel.ErrConflict
			}
		}
		// expect compares the outcome and plays the change on the model.
		expect := func(what string, got, want error, change func()) (done bool) {
			t.Helper()
			if fault == "conflict" {
				fault = "none" // seen by questions only, which try again
			}
			if change != nil && fault != "none" {
				want = errStore
			}
			if !errors.Is(got, want) || want == nil && got != nil {
				t.Fatalf("move %d, %s with fault %q: %v, want %v", move, what, fault, got, want)
			}
			if change != nil && fault != "not done" {
				change()
			}
			return change == nil || fault == "none"
		}

		switch op := random.IntN(10); op {
		case 0, 1, 2:
			q := channel.Question{Text: fmt.Sprint("Question ", random.IntN(3)), Choices: []string{"yes", "no"}, OnlyChoices: true}
			answer, change, want := m.ask(q)
			a, err := b.Ask(ctx, q)
			if expect("ask", err, want, change) && a.Text != answer {
				t.Fatalf("move %d: the answer is %q, want %q", move, a.Text, answer)
			}
			if m.question != nil && m.question.ID == "" { // just recorded
				e, err := store.LoadExchange(ctx)
				noError(t, err)
				if slices.Contains(ids, e.Question.ID) || e.Question.ID == "" {
					t.Fatalf("move %d: a new question with the ID %q", move, e.Question.ID)
				}
				m.question.ID = e.Question.ID
				ids = append(ids, e.Question.ID)
			}
			var be *channel.BlockedError
			if errors.As(err, &be) && be.Question.ID != m.question.ID {
				t.Fatalf("move %d: blocked on %q, want %q", move, be.Question.ID, m.question.ID)
			}
		case 3, 4, 5:
			id := "never seen"
			if n := len(ids); n > 0 && random.IntN(8) > 0 {
				id = ids[max(0, n-1-random.IntN(2))]
			}
			text := []string{"yes", "no", "perhaps", ""}[random.IntN(4)]
			change, want := m.host(id, text)
			if text == "" {
				expect("withdraw", b.Withdraw(ctx, id), want, change)
			} else {
				expect("answer", b.Answer(ctx, id, text), want, change)
			}
		case 6:
			if fault == "conflict" {
				break
			}
			text := fmt.Sprint("Summary ", move)
			err := b.ReportSummary(ctx, channel.Summary{Text: text})
			expect("summary", err, nil, func() { m.summary = text })
		case 7:
			if fault == "conflict" {
				break
			}
			key := fmt.Sprint("key ", random.IntN(6))
			i := slices.Index(m.subtasks, key)
			sub, err := b.SpawnSubtask(ctx, spec(key))
			done := expect("subtask", err, nil, func() {
				if i < 0 {
					m.subtasks = append(m.subtasks, key)
				}
			})
			if at := slices.Index(m.subtasks, key); done && (sub.ID != fmt.Sprint(at) || sub.Key != key || sub.Existing != (i >= 0)) {
				t.Fatalf("move %d: %+v for %q, which is number %d", move, sub, key, at)
			}
		case 8:
			if fault == "conflict" {
				break
			}
			text := fmt.Sprint("Step ", move)
			err := b.RecordProgress(ctx, channel.Progress{Text: text})
			expect("progress", err, nil, func() { m.steps = append(m.steps, text) })
		case 9:
			time.Sleep(time.Duration(random.IntN(90)) * time.Second)
			store = fileStore{store.path, new(sync.Mutex)}
			faulty = &faultyStore{Store: store}
			b = channel.NewBuffered(faulty)
		}
		compare(t, move, b, store, &m)
	}
}

func compare(t *testing.T, move int, b *channel.Buffered, store fileStore, m *model) {
	t.Helper()
	ctx := t.Context()
	q, ok, err := b.PendingQuestion(ctx)
	if err != nil || ok != m.pending() || ok && q.ID != m.question.ID {
		t.Fatalf("move %d: PendingQuestion = %+v, %v, %v, want %+v", move, q, ok, err, m)
	}
	e, err := b.Exchange(ctx)
	if err != nil || e.Answer.Text != m.answer && m.question != nil || e.Answered() && !e.TakenAt.Equal(m.taken) {
		t.Fatalf("move %d: Exchange = %+v, %v, want %+v", move, e, err, m)
	}
	s, ok, err := b.ReportedSummary(ctx)
	if err != nil || ok != (m.summary != "") || s.Text != m.summary {
		t.Fatalf("move %d: ReportedSummary = %+v, %v, %v, want %q", move, s, ok, err, m.summary)
	}
	r := contents(t, store)
	keys, steps := []string{}, []string{}
	for _, s := range r.Subtasks {
		keys = append(keys, s.Key)
	}
	for _, p := range r.Progress {
		steps = append(steps, p.Text)
	}
	if !slices.Equal(keys, m.subtasks) || !slices.Equal(steps, m.steps) {
		t.Fatalf("move %d: the store has %q and %q, want %q and %q", move, keys, steps, m.subtasks, m.steps)
	}
}
