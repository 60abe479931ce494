package channel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plugberth/plugberth/channel"
)

type outcome struct {
	answer channel.Answer
	err    error
}

// start asks on a goroutine of its own and returns when the call waits or has
// ended. The caller runs in a synctest bubble, which fails if a goroutine is
// left.
func start(ctx context.Context, a channel.Asker, q channel.Question) <-chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		answer, err := a.Ask(ctx, q)
		ch <- outcome{answer, err}
	}()
	synctest.Wait()
	return ch
}

func waitingTexts(l *channel.Live) string {
	var texts []string
	for _, q := range l.Waiting() {
		texts = append(texts, q.Text)
	}
	return fmt.Sprint(texts)
}

// [H3] The host gets questions in the order in which they were asked and
// answers in any order; each call gets its own answer.
func TestLiveSeveralQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := channel.NewLive(channel.LiveOptions{})
		got := map[string]<-chan outcome{}
		for _, text := range []string{"A?", "B?", "C?"} {
			got[text] = start(ctx, l, ask(text))
		}
		if w := waitingTexts(l); w != "[A? B? C?]" {
			t.Fatalf("Waiting: %s", w)
		}
		var qs []channel.Question
		for _, text := range []string{"A?", "B?", "C?"} {
			q, err := l.Next(ctx)
			if err != nil || q.Text != text || q.ID == "" || q.AskedAt.IsZero() {
				t.Fatalf("Next = %+v, %v", q, err)
			}
			qs = append(qs, q)
		}
		for _, i := range []int{1, 2, 0} {
			noError(t, l.Answer(ctx, qs[i].ID, "to "+qs[i].Text))
			wantIs(t, l.Answer(ctx, qs[i].ID, "again"), channel.ErrNoQuestion)
			o := <-got[qs[i].Text]
			if o.err != nil || o.answer.Text != "to "+qs[i].Text || o.answer.QuestionID != qs[i].ID || o.answer.AnsweredAt.IsZero() {
				t.Fatalf("Ask = %+v, %v", o.answer, o.err)
			}
		}
		if w := waitingTexts(l); w != "[]" {
			t.Fatalf("Waiting: %s", w)
		}
		wantIs(t, l.Answer(ctx, qs[0].ID, "again"), channel.ErrNoQuestion)
	})
}

// [H3] An answer that the question does not take leaves it waiting.
func TestLiveAnswerRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := channel.NewLive(channel.LiveOptions{})
		got := start(ctx, l, channel.Question{Text: "A?", Choices: []string{"yes", "no"}, OnlyChoices: true})
		id := l.Waiting()[0].ID
		wantIs(t, l.Answer(ctx, id, "perhaps"), channel.ErrNotChoice)
		wantIs(t, l.Answer(ctx, id, ""), channel.ErrInvalid)
		wantIs(t, l.Answer(ctx, "another", "yes"), channel.ErrNoQuestion)
		if w := waitingTexts(l); w != "[A?]" {
			t.Fatalf("Waiting: %s", w)
		}
		noError(t, l.Answer(ctx, id, "no"))
		if o := <-got; o.err != nil || o.answer.Text != "no" {
			t.Fatalf("Ask = %+v", o)
		}
	})
}

// [H3] At the deadline the run is blocked and the question recorded; the answer
// that comes after it is kept, and the agent that asks again gets it.
func TestLiveDeadline(t *testing.T) {
	for _, seen := range []bool{true, false} { // by a host that is gone since
		t.Run(fmt.Sprint("seen ", seen), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				store := newFileStore(t)
				l := channel.NewLive(channel.LiveOptions{Deadline: time.Hour, Fallback: channel.NewBuffered(store)})
				began := time.Now()
				got := start(ctx, l, ask("A?"))
				if seen {
					_, err := l.Next(ctx)
					noError(t, err)
				}
				id := l.Waiting()[0].ID
				time.Sleep(time.Hour - 1)
				synctest.Wait()
				if w := waitingTexts(l); w != "[A?]" {
					t.Fatalf("Waiting before the deadline: %s", w)
				}
				o := <-got
				if time.Since(began) != time.Hour {
					t.Fatalf("the call took %v", time.Since(began))
				}
				var be *channel.BlockedError
				if !errors.As(o.err, &be) || be.Question.ID != id {
					t.Fatalf("Ask = %+v, want blocked on %s", o, id)
				}
				if w := waitingTexts(l); w != "[]" {
					t.Fatalf("Waiting after the deadline: %s", w)
				}
				// The agent does not listen and asks again: no second hour.
				if q := blocked(t, l, ask("A?")); q.ID != id || time.Since(began) != time.Hour {
					t.Fatalf("blocked on %s after %v", q.ID, time.Since(began))
				}
				wantIs(t, l.Answer(ctx, id, ""), channel.ErrInvalid)
				noError(t, l.Answer(ctx, id, "late"))
				wantIs(t, l.Answer(ctx, id, "later"), channel.ErrAnswered)

				resumed := channel.NewLive(channel.LiveOptions{Fallback: channel.NewBuffered(store)})
				a, err := resumed.Ask(ctx, ask("A?"))
				if err != nil || a.Text != "late" || a.QuestionID != id {
					t.Fatalf("Ask in the resumed run = %+v, %v", a, err)
				}
			})
		})
	}
}

// [H3] Without a fallback of the host the question is kept all the same.
func TestLiveOwnFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := channel.NewLive(channel.LiveOptions{})
		began := time.Now()
		q := blocked(t, l, ask("A?"))
		if time.Since(began) != 5*time.Minute {
			t.Fatalf("the default deadline is %v", time.Since(began))
		}
		noError(t, l.Answer(ctx, q.ID, "late"))
		e, err := l.Fallback().Exchange(ctx)
		if err != nil || e.Question.ID != q.ID || e.Answer.Text != "late" {
			t.Fatalf("Exchange = %+v, %v", e, err)
		}
	})
}

// [H3] The fallback holds one question: of two past their deadline the second
// is refused, and so is its late answer.
func TestLiveTwoPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := channel.NewLive(channel.LiveOptions{Deadline: time.Minute})
		first := start(ctx, l, ask("A?"))
		time.Sleep(time.Second)
		second := start(ctx, l, ask("B?"))
		late := l.Waiting()[1]
		wantIs(t, (<-first).err, channel.ErrBlocked)
		wantIs(t, (<-second).err, channel.ErrPending)
		wantIs(t, l.Answer(ctx, late.ID, "x"), channel.ErrNoQuestion)
	})
}

// [H3] A context that ends leaves nothing: no question, no goroutine, no slot.
func TestLiveContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := channel.NewLive(channel.LiveOptions{Waiting: 1})
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			got := start(ctx, l, ask("A?"))
			id := l.Waiting()[0].ID
			cancel()
			wantIs(t, (<-got).err, context.Canceled)
			if w := waitingTexts(l); w != "[]" {
				t.Fatalf("Waiting: %s", w)
			}
			wantIs(t, l.Answer(t.Context(), id, "late"), channel.ErrNoQuestion)
		}
		if _, ok, err := l.Fallback().PendingQuestion(t.Context()); ok || err != nil {
			t.Fatalf("a question that its run gave up is recorded: %v, %v", ok, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Next(ctx)
		wantIs(t, err, context.DeadlineExceeded)
		_, err = l.Ask(ctx, ask("A?"))
		wantIs(t, err, context.DeadlineExceeded)
	})
}

// [H3] The slots are bounded, and free again once a question is through.
func TestLiveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := channel.NewLive(channel.LiveOptions{Waiting: 2})
		first := start(ctx, l, ask("A?"))
		second := start(ctx, l, ask("B?"))
		_, err := l.Ask(ctx, ask("C?"))
		wantIs(t, err, channel.ErrLimit)
		if text, ok := channel.AgentText(err); !ok || text == "" {
			t.Fatal("no text for the agent")
		}
		noError(t, l.Answer(ctx, l.Waiting()[0].ID, "x"))
		<-first
		third := start(ctx, l, ask("C?"))
		for _, q := range l.Waiting() {
			noError(t, l.Answer(ctx, q.ID, "to "+q.Text))
		}
		if o := <-second; o.answer.Text != "to B?" {
			t.Fatalf("second: %+v", o)
		}
		if o := <-third; o.answer.Text != "to C?" {
			t.Fatalf("third: %+v", o)
		}
	})
}

// [H3] The same question asked again while it waits is put to the user once.
// It waits as long as one of the calls does.
func TestLiveSameQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := channel.NewLive(channel.LiveOptions{Deadline: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		first := start(ctx, l, ask("A?"))
		second := start(t.Context(), l, ask("A?"))
		third := start(t.Context(), l, ask("A?"))
		if w := waitingTexts(l); w != "[A?]" {
			t.Fatalf("Waiting: %s", w)
		}
		cancel()
		wantIs(t, (<-first).err, context.Canceled)
		noError(t, l.Answer(t.Context(), l.Waiting()[0].ID, "yes"))
		for _, got := range []<-chan outcome{second, third} {
			if o := <-got; o.err != nil || o.answer.Text != "yes" {
				t.Fatalf("Ask = %+v", o)
			}
		}

		// Past the deadline all of them are blocked on the same question.
		began := time.Now()
		first = start(t.Context(), l, ask("A?"))
		time.Sleep(30 * time.Second)
		second = start(t.Context(), l, ask("A?"))
		id := l.Waiting()[0].ID
		for _, got := range []<-chan outcome{first, second} {
			var be *channel.BlockedError
			if o := <-got; !errors.As(o.err, &be) || be.Question.ID != id {
				t.Fatalf("Ask = %+v", o)
			}
		}
		if time.Since(began) != time.Minute {
			t.Fatalf("the deadline moved to %v", time.Since(began))
		}
	})
}

func TestLiveQuestionID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := channel.NewLive(channel.LiveOptions{})
		got := start(t.Context(), l, channel.Question{ID: "mine", Text: "A?"})
		_, err := l.Ask(t.Context(), channel.Question{ID: "mine", Text: "B?"})
		if err == nil || errors.Is(err, channel.ErrBlocked) {
			t.Fatalf("two questions with one ID: %v", err)
		}
		noError(t, l.Answer(t.Context(), "mine", "yes"))
		<-got
	})
}

// [H3] An answer that comes while the question is being recorded waits for that
// and is kept.
func TestLiveAnswerWhileFallingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recording := make(chan struct{})
		fallback := channel.NewBuffered(&faultyStore{
			Store: new(channel.MemoryStore),
			write: func() error { <-recording; return nil },
		})
		l := channel.NewLive(channel.LiveOptions{Deadline: time.Minute, Fallback: fallback})
		got := start(t.Context(), l, ask("A?"))
		id := l.Waiting()[0].ID
		time.Sleep(time.Minute)
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantIs(t, l.Answer(ctx, id, "impatient"), context.DeadlineExceeded)
		answered := make(chan error)
		go func() { answered <- l.Answer(t.Context(), id, "just in time") }()
		synctest.Wait()
		close(recording)
		noError(t, <-answered)
		wantIs(t, (<-got).err, channel.ErrBlocked)
		if a, err := l.Ask(t.Context(), ask("A?")); err != nil || a.Text != "just in time" {
			t.Fatalf("Ask = %+v, %v", a, err)
		}
	})
}

// [H3] [H4] A fallback that fails is an error for the host and no answer that
// the agent would believe to be recorded.
func TestLiveFallbackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faulty := &faultyStore{Store: new(channel.MemoryStore), write: func() error { return errStore }}
		l := channel.NewLive(channel.LiveOptions{Fallback: channel.NewBuffered(faulty)})
		got := start(t.Context(), l, ask("A?"))
		id := l.Waiting()[0].ID
		err := (<-got).err
		wantIs(t, err, errStore)
		if _, ok := channel.AgentText(err); ok || errors.Is(err, channel.ErrBlocked) {
			t.Fatalf("the agent would read %v", err)
		}
		wantIs(t, l.Answer(t.Context(), id, "late"), channel.ErrNoQuestion)

		faulty.read = func() error { return errStore }
		_, err = l.Ask(t.Context(), ask("A?"))
		wantIs(t, err, errStore)
	})
}

// [H3] The host is gone: what waits and what comes is blocked at once.
func TestLiveClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := channel.NewLive(channel.LiveOptions{})
		next := make(chan error)
		for range 2 {
			go func() {
				for {
					if _, err := l.Next(ctx); err != nil {
						next <- err
						return
					}
				}
			}()
		}
		got := start(ctx, l, ask("A?"))
		began := time.Now()
		l.Close()
		l.Close()
		wantIs(t, <-next, channel.ErrClosed)
		wantIs(t, <-next, channel.ErrClosed)
		wantIs(t, (<-got).err, channel.ErrBlocked)
		q := blocked(t, l, ask("A?"))
		_, err := l.Ask(ctx, ask("B?"))
		wantIs(t, err, channel.ErrPending)
		noError(t, l.Answer(ctx, q.ID, "late"))
		blocked(t, l, ask("B?"))
		if _, err := l.Next(ctx); !errors.Is(err, channel.ErrClosed) {
			t.Fatalf("Next = %v", err)
		}
		if time.Since(began) != 0 || waitingTexts(l) != "[]" {
			t.Fatalf("%v passed, waiting: %s", time.Since(began), waitingTexts(l))
		}
	})
}

func TestLiveInvalid(t *testing.T) {
	_, err := channel.NewLive(channel.LiveOptions{}).Ask(t.Context(), ask(""))
	wantIs(t, err, channel.ErrInvalid)
	if w := channel.NewLive(channel.LiveOptions{}).Waiting(); len(w) != 0 {
		t.Fatalf("Waiting = %v", w)
	}
}

// endedContext has ended where the test says so, and nobody noticed yet.
type endedContext struct {
	context.Context
	ended atomic.Bool
}

func (c *endedContext) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// [H3] An answer that the host could give is returned, even to a call whose
// context ended at the same time.
func TestLiveAnswerAndContextEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := channel.NewLive(channel.LiveOptions{})
		ctx := &endedContext{Context: t.Context()}
		got := start(ctx, l, ask("A?"))
		ctx.ended.Store(true)
		noError(t, l.Answer(t.Context(), l.Waiting()[0].ID, "yes"))
		if o := <-got; o.err != nil || o.answer.Text != "yes" {
			t.Fatalf("Ask = %+v", o)
		}
	})
}

// lateStore counts the answers that were saved.
type lateStore struct {
	channel.Store
	late *atomic.Int64
}

func (s *lateStore) SaveExchange(ctx context.Context, e channel.Exchange) error {
	err := s.Store.SaveExchange(ctx, e)
	if err == nil && e.Answered() {
		s.late.Add(1)
	}
	return err
}

// [H3] Askers that give up, time out and repeat each other, hosts that answer
// early, late and twice: no answer that was taken is lost or comes twice, and
// nothing is left.
func TestLiveStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const agents, rounds = 24, 30
		ctx := t.Context()
		var accepted, received, late, ended atomic.Int64
		l := channel.NewLive(channel.LiveOptions{
			Deadline: 50 * time.Millisecond,
			Waiting:  agents,
			Fallback: channel.NewBuffered(&lateStore{Store: new(channel.MemoryStore), late: &late}),
		})
		var wg, hosts sync.WaitGroup
		for agent := range agents {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(agent), 1))
				for round := range rounds {
					ask := ask(fmt.Sprint("Question ", agent, ".", round))
					ctx, cancel := context.WithTimeout(ctx, time.Duration(1+random.IntN(200))*time.Millisecond)
					answer, err := l.Ask(ctx, ask)
					cancel()
					switch {
					case err == nil && answer.Text == "to "+ask.Text:
						received.Add(1)
					case errors.Is(err, channel.ErrBlocked), errors.Is(err, channel.ErrPending), errors.Is(err, context.DeadlineExceeded):
						ended.Add(1)
					default:
						t.Errorf("Ask(%q) = %+v, %v", ask.Text, answer, err)
					}
				}
			})
		}
		hostCtx, stop := context.WithCancel(ctx)
		for host := range agents {
			hosts.Go(func() {
				random := rand.New(rand.NewPCG(uint64(host), 2))
				for {
					q, err := l.Next(hostCtx)
					if err != nil {
						return
					}
					time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond)
					switch err := l.Answer(ctx, q.ID, "to "+q.Text); {
					case err == nil:
						accepted.Add(1)
					case !errors.Is(err, channel.ErrNoQuestion):
						t.Errorf("Answer: %v", err)
					}
				}
			})
		}
		wg.Wait()
		stop()
		hosts.Wait()
		// No agent asks twice here, so that what is kept late stays there.
		if accepted.Load() != received.Load()+late.Load() || received.Load()+ended.Load() != agents*rounds ||
			received.Load() == 0 || late.Load() == 0 {
			t.Errorf("%d answers accepted, %d received, %d kept late, %d calls ended without, of %d",
				accepted.Load(), received.Load(), late.Load(), ended.Load(), agents*rounds)
		}
		if w := waitingTexts(l); w != "[]" {
			t.Errorf("Waiting: %s", w)
		}
		t.Logf("%d received, %d kept late, %d ended without", received.Load(), late.Load(), ended.Load())
	})
}
