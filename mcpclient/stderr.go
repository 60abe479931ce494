package mcpclient

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/plugberth/plugberth/internal/printable"
)

// What a server writes to stderr is always read, or it would stop once the pipe
// is full. The end of it is kept for errors, and each line is logged.

const (
	logLine  = 1024 // bytes of a line that is logged; a longer one is cut
	logRate  = 20   // lines a second that are logged
	logBurst = 200
)

// stderrLog takes what a server writes to stderr. Write is for one goroutine,
// text for any.
type stderrLog struct {
	mask   maskStream
	logger *slog.Logger // nil logs nothing
	limit  *rate.Limiter

	mu  sync.Mutex
	max int
	end []byte // masked; the last max bytes count
	cut bool   // more came before

	line    []byte // the beginning of a line, masked
	tooLong bool   // the rest of the line is dropped
	dropped int    // lines that were not logged
}

func newStderrLog(max int, m *masker, logger *slog.Logger) *stderrLog {
	if logger != nil && !logger.Enabled(context.Background(), slog.LevelDebug) {
		logger = nil
	}
	return &stderrLog{mask: maskStream{m: m}, logger: logger, limit: rate.NewLimiter(logRate, logBurst), max: max}
}

// readAll reads stderr to its end.
func (s *stderrLog) readAll(r io.Reader, pace func(n int)) {
	buf := make([]byte, 2048)
	for {
		n, err := r.Read(buf)
		s.take(s.mask.write(buf[:n]))
		if err != nil {
			s.take(s.mask.flush())
			s.endLine()
			return
		}
		pace(n)
	}
}

func (s *stderrLog) take(p []byte) {
	if len(p) == 0 {
		return
	}
	s.mu.Lock()
	s.end = append(s.end, p...)
	if over := len(s.end) - s.max; over > s.max {
		s.end = s.end[:copy(s.end, s.end[over:])]
		s.cut = true
	}
	s.mu.Unlock()
	if s.logger == nil {
		return
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := logLine - len(s.line); len(line) > room {
			line, s.tooLong = line[:room], true
		}
		s.line = append(s.line, line...)
		if ended {
			s.endLine()
		}
		p = rest
	}
}

// endLine logs the line that has been collected.
func (s *stderrLog) endLine() {
	line := strings.TrimRight(string(s.line), "\r")
	tooLong := s.tooLong
	s.line, s.tooLong = s.line[:0], false
	if s.logger == nil || strings.TrimSpace(line) == "" {
		return
	}
	if !s.limit.Allow() {
		s.dropped++
		return
	}
	if tooLong {
		line = wholeRunes(line)
	}
	text := printable.Escape(line)
	if tooLong {
		text += "…"
	}
	attrs := []any{"line", text}
	if s.dropped > 0 {
		attrs = append(attrs, "lines_left_out", s.dropped)
		s.dropped = 0
	}
	s.logger.Debug("mcp server stderr", attrs...)
}

// text returns the end of stderr, safe to show, line ends kept.
func (s *stderrLog) text() string {
	s.mu.Lock()
	end, cut := s.end, s.cut
	if over := len(end) - s.max; over > 0 {
		end, cut = end[over:], true
	}
	text := string(end)
	s.mu.Unlock()
	if cut {
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		text = "…" + text
	}
	return escapeLines(text)
}

// escapeLines escapes what does not print but for line ends, and drops blanks
// at the end.
func escapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable.Escape(strings.TrimRight(line, "\r"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \n")
}

// wholeRunes drops the bytes of a rune that was cut in two at the end.
func wholeRunes(s string) string {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// oneLine makes the end of a text that has several lines one line of at most
// max bytes.
func oneLine(text string, max int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	text = strings.Join(lines, " | ")
	if over := len(text) - max; over > 0 {
		for over < len(text) && !utf8.RuneStart(text[over]) {
			over++
		}
		text = "…" + text[over:]
	}
	return text
}
