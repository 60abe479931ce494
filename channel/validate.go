package channel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Validate checks the form of the question: a text and choices that are not
// blank, are UTF-8 and hold no NUL character, and no choice twice. How long
// they are is a matter of [Limits]. The error is a [Refusal] of kind
// [ErrInvalid].
func (q Question) Validate() error {
	if err := checkText("question", q.Text); err != nil {
		return err
	}
	seen := make(map[string]bool, len(q.Choices))
	for _, c := range q.Choices {
		if err := checkText("choice", c); err != nil {
			return err
		}
		if seen[c] {
			return invalid("Not taken: a choice stands twice. Give each choice once.")
		}
		seen[c] = true
	}
	return nil
}

// Validate checks the form of the summary: a text that is not blank, is UTF-8
// and holds no NUL character. The error is a [Refusal] of kind [ErrInvalid].
func (s Summary) Validate() error { return checkText("summary", s.Text) }

// Validate checks the form of the spec: key, title and prompt are not blank,
// are UTF-8 and hold no NUL character, and the title is one line. The error is
// a [Refusal] of kind [ErrInvalid].
func (s SubtaskSpec) Validate() error {
	if err := checkText("key", s.Key); err != nil {
		return err
	}
	if err := checkText("title", s.Title); err != nil {
		return err
	}
	if strings.ContainsAny(s.Title, "\n\v\f\r\u0085\u2028\u2029") {
		return invalid("Not taken: the title has more than one line. Put the details into the prompt.")
	}
	return checkText("prompt", s.Prompt)
}

// Validate checks the form of the step: a text that is not blank, is UTF-8 and
// holds no NUL character, and a percentage of 0 to 100 or none. The error is a
// [Refusal] of kind [ErrInvalid].
func (p Progress) Validate() error {
	if err := checkText("text", p.Text); err != nil {
		return err
	}
	if p.Percent != nil && (math.IsNaN(*p.Percent) || *p.Percent < 0 || *p.Percent > 100) {
		return invalid("Not taken: the percentage is not between 0 and 100.")
	}
	return nil
}

// checkText refuses what a store may not be able to keep, or a user to read.
func checkText(what, s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return invalid(fmt.Sprintf("Not taken: the %s is empty.", what))
	case !utf8.ValidString(s):
		return invalid(fmt.Sprintf("Not taken: the %s is not valid UTF-8.", what))
	case strings.ContainsRune(s, 0):
		return invalid(fmt.Sprintf("Not taken: the %s contains a NUL character.", what))
	}
	return nil
}

// Same reports whether both ask the same: text, choices and OnlyChoices are
// equal. It is how a question that is asked again is known.
func (q Question) Same(other Question) bool {
	return q.Text == other.Text && q.OnlyChoices == other.OnlyChoices && slices.Equal(q.Choices, other.Choices)
}

// reply makes text the answer to q, or says why it can be none.
func (q Question) reply(text string) (Answer, error) {
	if strings.TrimSpace(text) == "" {
		return Answer{}, fmt.Errorf("%w: the answer is empty", ErrInvalid)
	}
	if q.OnlyChoices && len(q.Choices) > 0 && !slices.Contains(q.Choices, text) {
		return Answer{}, ErrNotChoice
	}
	return Answer{QuestionID: q.ID, Text: text, AnsweredAt: now()}, nil
}

func (q Question) clone() Question {
	q.Choices = slices.Clone(q.Choices)
	return q
}

func (p Progress) clone() Progress {
	if p.Percent != nil {
		percent := *p.Percent
		p.Percent = &percent
	}
	return p
}

// now is the wall clock alone, so that a time reads the same from a store.
func now() time.Time { return time.Now().UTC().Round(0) }
