package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/plugberth/plugberth/channel"
)

// user answers questions. One without an answer stays pending.
type user interface {
	answer(ctx context.Context, q channel.Question) (text string, ok bool)
}

// scriptedUser takes what the agent recommends.
type scriptedUser struct{ story *story }

func (u scriptedUser) answer(_ context.Context, q channel.Question) (string, bool) {
	text := "Go on."
	if len(q.Choices) > 0 {
		text = q.Choices[0]
	}
	u.story.say(theUser, "%s (a script answers; with -ask you do)", oneLine(text, 60))
	return text, true
}

// realUser is whoever reads the story, and answers on standard input.
type realUser struct {
	story *story
	lines <-chan string
}

// newRealUser reads standard input, until it or the context ends. Nothing can end
// the reading of a terminal but the end of the process.
func newRealUser(ctx context.Context, s *story, stdin io.Reader) *realUser {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdin); scanner.Scan(); {
			select {
			case lines <- strings.TrimSpace(scanner.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return &realUser{s, lines}
}

func (u *realUser) answer(ctx context.Context, q channel.Question) (string, bool) {
	for i, choice := range q.Choices {
		u.story.say(theUser, "%d  %s", i+1, choice)
	}
	how := "answer with a line"
	if len(q.Choices) > 0 {
		how = fmt.Sprintf("answer with a number from 1 to %d", len(q.Choices))
		if !q.OnlyChoices {
			how += ", or with a line of your own"
		}
	}
	for {
		u.story.say(theUser, "%s:", how)
		select {
		case line, ok := <-u.lines:
			if !ok {
				u.story.say(theUser, "no answer: standard input has ended")
				return "", false
			}
			if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Choices) {
				return q.Choices[n-1], true
			}
			if line != "" && (!q.OnlyChoices || len(q.Choices) == 0 || slices.Contains(q.Choices, line)) {
				return line, true
			}
		case <-ctx.Done():
			return "", false
		}
	}
}
