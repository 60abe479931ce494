package channel

import (
	"context"
	"errors"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits bound what the agent of one run can say. Zero or less in a number
// means its default. Lengths are in characters (Unicode code points), as
// maxLength in a JSON Schema.
type Limits struct {
	QuestionText  int // length of a question, default 4,000
	Choices       int // choices of a question, default 20
	Choice        int // length of one choice, default 200
	SummaryText   int // length of a summary, default 20,000
	SubtaskKey    int // length of a key, default 200
	SubtaskTitle  int // length of a title, default 200
	SubtaskPrompt int // length of a prompt, default 20,000
	ProgressText  int // length of a step, default 1,000

	Questions int // questions asked, default 100; one asked again counts again
	Subtasks  int // subtasks, default 20; a key used again is the same one
	Steps     int // steps of progress, default 10,000

	ProgressPerMinute int // steps of progress a minute, default 60
	ProgressBurst     int // steps that may come at once, default 20

	// Spawned are the keys of subtasks that the run has from earlier turns.
	// They count, and using one again is free.
	Spawned []string
}

// withDefaults returns l with the defaults in place.
func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.QuestionText, 4_000)
	set(&l.Choices, 20)
	set(&l.Choice, 200)
	set(&l.SummaryText, 20_000)
	set(&l.SubtaskKey, 200)
	set(&l.SubtaskTitle, 200)
	set(&l.SubtaskPrompt, 20_000)
	set(&l.ProgressText, 1_000)
	set(&l.Questions, 100)
	set(&l.Subtasks, 20)
	set(&l.Steps, 10_000)
	set(&l.ProgressPerMinute, 60)
	set(&l.ProgressBurst, 20)
	return l
}

// sizeNames says what each length is the length of.
var sizeNames = map[string]string{
	"QuestionText":  "question",
	"Choice":        "choice",
	"SummaryText":   "summary",
	"SubtaskKey":    "key",
	"SubtaskTitle":  "title",
	"SubtaskPrompt": "prompt",
	"ProgressText":  "text",
}

// Limit returns parts that refuse what is over l with a [LimitError], and what
// is in bad form as the Validate methods do, before p hears of it. One Limit
// is for one run: it counts what goes through the parts it returned.
//
// A subtask that p fails to create counts nevertheless, since it may exist, and
// asking again with its key is free; one that p refuses with an [AgentError]
// does not count. The parts are safe for concurrent use.
func Limit(p Parts, l Limits) Parts {
	l = l.withDefaults()
	c := &counts{Limits: l, keys: make(map[string]bool), tokens: float64(l.ProgressBurst), filled: time.Now()}
	for _, key := range l.Spawned {
		c.keys[key] = true
	}
	var limited Parts
	if p.Asker != nil {
		limited.Asker = askFunc(func(ctx context.Context, q Question) (Answer, error) {
			if err := c.checkQuestion(q); err != nil {
				return Answer{}, err
			}
			return p.Asker.Ask(ctx, q)
		})
	}
	if p.Summarizer != nil {
		limited.Summarizer = reportFunc(func(ctx context.Context, s Summary) error {
			if err := c.checkSummary(s); err != nil {
				return err
			}
			return p.Summarizer.ReportSummary(ctx, s)
		})
	}
	if p.Spawner != nil {
		limited.Spawner = spawnFunc(func(ctx context.Context, spec SubtaskSpec) (Subtask, error) {
			if err := c.checkSubtask(spec); err != nil {
				return Subtask{}, err
			}
			return c.spawn(ctx, p.Spawner, spec)
		})
	}
	if p.Recorder != nil {
		limited.Recorder = recordFunc(func(ctx context.Context, step Progress) error {
			if err := c.checkProgress(step); err != nil {
				return err
			}
			return p.Recorder.RecordProgress(ctx, step)
		})
	}
	return limited
}

// counts is what one run has used up.
type counts struct {
	Limits

	mu        sync.Mutex
	questions int
	steps     int
	keys      map[string]bool // of subtasks; true where one exists for certain
	tokens    float64         // steps of progress that may come now
	filled    time.Time       // when tokens was right
}

func (c *counts) checkQuestion(q Question) error {
	if len(q.Choices) > c.Choices {
		return &LimitError{Limit: "Choices", Max: c.Choices}
	}
	if err := checkSize("QuestionText", q.Text, c.QuestionText); err != nil {
		return err
	}
	for _, choice := range q.Choices {
		if err := checkSize("Choice", choice, c.Choice); err != nil {
			return err
		}
	}
	if err := q.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions >= c.Questions {
		return &LimitError{Limit: "Questions", Max: c.Questions}
	}
	c.questions++
	return nil
}

func (c *counts) checkSummary(s Summary) error {
	if err := checkSize("SummaryText", s.Text, c.SummaryText); err != nil {
		return err
	}
	return s.Validate()
}

func (c *counts) checkSubtask(spec SubtaskSpec) error {
	if err := checkSize("SubtaskKey", spec.Key, c.SubtaskKey); err != nil {
		return err
	}
	if err := checkSize("SubtaskTitle", spec.Title, c.SubtaskTitle); err != nil {
		return err
	}
	if err := checkSize("SubtaskPrompt", spec.Prompt, c.SubtaskPrompt); err != nil {
		return err
	}
	return spec.Validate()
}

// spawn counts the key, once, and calls s.
func (c *counts) spawn(ctx context.Context, s Spawner, spec SubtaskSpec) (Subtask, error) {
	c.mu.Lock()
	_, known := c.keys[spec.Key]
	if !known {
		if len(c.keys) >= c.Subtasks {
			c.mu.Unlock()
			return Subtask{}, &LimitError{Limit: "Subtasks", Max: c.Subtasks}
		}
		c.keys[spec.Key] = false
	}
	c.mu.Unlock()

	sub, err := s.SpawnSubtask(ctx, spec)

	c.mu.Lock()
	defer c.mu.Unlock()
	var refused AgentError
	switch {
	case err == nil:
		c.keys[spec.Key] = true
	case errors.As(err, &refused) && !known && !c.keys[spec.Key]:
		delete(c.keys, spec.Key)
	}
	return sub, err
}

func (c *counts) checkProgress(p Progress) error {
	if err := checkSize("ProgressText", p.Text, c.ProgressText); err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.steps >= c.Steps {
		return &LimitError{Limit: "Steps", Max: c.Steps}
	}
	perSecond := float64(c.ProgressPerMinute) / 60
	at := time.Now()
	c.tokens = min(float64(c.ProgressBurst), c.tokens+at.Sub(c.filled).Seconds()*perSecond)
	c.filled = at
	if c.tokens < 1 {
		// Rounded up, so that a step at that time is taken.
		wait := time.Duration((1-c.tokens)/perSecond*float64(time.Second)) + time.Millisecond
		return &LimitError{Limit: "ProgressPerMinute", Max: c.ProgressPerMinute, RetryAfter: wait}
	}
	c.tokens--
	c.steps++
	return nil
}

func checkSize(limit, s string, max int) error {
	// A string has at least a quarter as many characters as bytes.
	if len(s)/utf8.UTFMax > max || len(s) > max && utf8.RuneCountInString(s) > max {
		return &LimitError{Limit: limit, Max: max}
	}
	return nil
}
