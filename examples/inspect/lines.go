package main

import (
	"fmt"
	"io"
	"path/filepath"
)

// linesShower prints one line a finding: the file relative to the working
// directory, line, column, severity, message and code. Editors and problem matchers
// read these: the form is a promise.
type linesShower struct {
	out io.Writer
	places
}

func newLines(out io.Writer) (*linesShower, error) {
	p, err := newPlaces()
	return &linesShower{out, p}, err
}

func (s *linesShower) result(r *result) error {
	dir, err := filepath.Abs(r.path)
	if err != nil {
		return err
	}
	for _, f := range r.findings {
		file, line, column := s.of(dir, f)
		if name, ok := s.name(file, f.Line > 0); ok {
			file = name
		}
		text := fmt.Sprintf("%s:%d:%d: %s: %s [%s]", clean(filepath.ToSlash(file)), line, column, f.Severity, clean(f.Message), f.Code)
		if _, err := io.WriteString(s.out, inert(text)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func (*linesShower) unreadable(string, error) {}

func (*linesShower) end(int) error { return nil }
