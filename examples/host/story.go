package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/plugberth/plugberth/plugin/finding"
)

// party is who a line is about, and its color on a terminal.
type party struct{ name, color string }

var (
	theHost   = party{"host", "36"}
	theAgent  = party{"agent", "32"}
	thePlugin = party{"plugin", "35"}
	theUser   = party{"user", "33"}
)

// story prints what happens. It may be told from several goroutines.
type story struct {
	color bool

	mu  sync.Mutex
	out io.Writer
	err error  // the first of writing
	dir string // shown as …

	begun bool
}

func newStory(out io.Writer) *story {
	return &story{out: out, color: isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// shorten makes a directory appear as … from now on.
func (s *story) shorten(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// note prints a line about the story.
func (s *story) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.print("\n")
	}
	s.begun = true
	s.print(text + "\n")
}

// chapter begins a part of it.
func (s *story) chapter(title string) { s.note(s.style(title, "1")) }

// say tells one line. Whatever packages, servers and agents have sent is in the
// arguments, so the line is escaped here, and none of it can act on a terminal.
func (s *story) say(who party, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if s.dir != "" {
		text = strings.ReplaceAll(text, s.dir, "…")
	}
	s.print("  " + s.style(fmt.Sprintf("%-6s", who.name), who.color) + "  " + finding.Escape(text) + "\n")
}

// Write passes on what an agent program prints.
func (s *story) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(text)
}

func (s *story) print(text string) {
	if _, err := io.WriteString(s.out, text); s.err == nil {
		s.err = err
	}
}

func (s *story) style(text, style string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// oneLine is a text of somebody else in at most n characters of one line.
func oneLine(text string, n int) string { return cut(strings.Join(strings.Fields(text), " "), n) }

// cut shortens a text to n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// some lists names, the first few of many.
func some(names []string) string {
	const most = 6
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}
