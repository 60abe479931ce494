package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/plugberth/plugberth/fixtures"
)

// about is what case.json says of a case that was written out.
type about struct {
	ID       string             `json:"id"`
	Title    string             `json:"title"`
	Rules    []string           `json:"rules"`
	Section  string             `json:"section"`
	Choice   bool               `json:"choice"`
	Prose    string             `json:"prose,omitempty"`
	Root     string             `json:"root"`     // the plugin root, in the case's directory
	Launches bool               `json:"launches"` // launch plans are wanted: give a data root
	Settings *fixtures.Settings `json:"settings,omitempty"`
}

// extract writes each case to a directory group/name of its own: the package
// below the name that case.json gives, what lies beside it, and expected.json.
func extract(ctx context.Context, dir string, cases []fixtures.Case, stdout io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err != nil {
		return err
	} else if len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	can, err := fixtures.Capabilities(dir)
	if err != nil {
		return err
	}
	written := 0
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		// Modes and rules can be written here even where they cannot be tried.
		if need := c.Missing(can); need != "" && need != fixtures.NeedUnprivileged && need != fixtures.NeedWindows {
			if _, err := fmt.Fprintf(stdout, "left out %s: needs %s\n", c.ID, need); err != nil {
				return err
			}
			continue
		}
		if err := extractCase(filepath.Join(dir, filepath.FromSlash(c.ID)), c); err != nil {
			return err
		}
		written++
	}
	_, err = fmt.Fprintf(stdout, "%d cases are in %s\n", written, dir)
	return err
}

func extractCase(dir string, c fixtures.Case) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := c.Extract(dir); err != nil {
		return err
	}
	meta, err := json.MarshalIndent(about{
		c.ID, c.Title, c.Rules, c.Section, c.Choice, c.Prose, c.Root(), c.Launches(), c.Settings(),
	}, "", "  ")
	return errors.Join(err,
		os.WriteFile(filepath.Join(dir, "case.json"), append(meta, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "expected.json"), c.Expected(), 0o644))
}
