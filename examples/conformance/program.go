package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/plugberth/plugberth/fixtures"
	"github.com/plugberth/plugberth/plugin/finding"
)

// program is a loader in any language: it is given the directory of a plugin
// as its last argument, "-data DIR" before it where launch plans are wanted,
// and prints one report as JSON. Its exit status is 0 or 1; any other says that
// it could not do its work.
type program struct {
	words []string
}

// newProgram looks for the program: one that is not there cannot be judged.
func newProgram(line string) (*program, error) {
	w, err := words(line)
	if err != nil {
		return nil, fmt.Errorf("the adapter's command cannot be split: %w", err)
	}
	if w[0], err = exec.LookPath(w[0]); err != nil {
		return nil, fmt.Errorf("the adapter cannot be run: %w", err)
	}
	return &program{w}, nil
}

// What is read of a program's output.
const (
	maxReport = 64 << 20
	maxStderr = 2 << 10
)

// Report runs the program.
func (p *program) Report(ctx context.Context, req fixtures.Request) (*fixtures.Report, error) {
	if req.Settings != nil {
		return nil, fixtures.ErrSettings
	}
	args := append([]string{}, p.words[1:]...)
	if req.Data != "" {
		args = append(args, "-data", req.Data)
	}
	cmd := exec.CommandContext(ctx, p.words[0], append(args, req.Dir)...)
	stdout, stderr := &head{most: maxReport}, &head{most: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = time.Second // for what it started and left behind
	ownGroup(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == 1:
	case err != nil:
		return nil, fmt.Errorf("%w%s", err, stderr.tail())
	}
	if stdout.cut {
		return nil, fmt.Errorf("the report is larger than %d bytes", maxReport)
	}
	report, err := fixtures.DecodeReport(stdout.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s%s", finding.Escape(err.Error()), stderr.tail())
	}
	return report, nil
}

// head keeps the first bytes of what is written to it.
type head struct {
	bytes.Buffer
	most int
	cut  bool
}

func (h *head) Write(p []byte) (int, error) {
	keep := min(len(p), h.most-h.Len())
	h.Buffer.Write(p[:keep])
	h.cut = h.cut || keep < len(p)
	return len(p), nil
}

// tail is what a program said, to be shown after an error.
func (h *head) tail() string {
	text := strings.TrimSpace(h.String())
	if text == "" {
		return ""
	}
	return "; it said: " + finding.Escape(text)
}
