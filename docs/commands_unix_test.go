//go:build unix

package docs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blockTimeout ends a block that hangs. The first one compiles everything.
const blockTimeout = 10 * time.Minute

// endTimeout is how long what serves may take to end once it is interrupted.
const endTimeout = 30 * time.Second

// TestCommandsRun types the shell blocks of the pages, each page in a copy of the
// repository of its own, in their order, as one script a block that ends at the
// first error. The table specials says what is not simply run, and rewrites what
// stands for a release.
func TestCommandsRun(t *testing.T) {
	if os.Getenv(runVariable) == "" {
		t.Skipf("%s is not set: the commands of the pages are not run", runVariable)
	}
	dir := t.TempDir()
	shell := newShell(t, filepath.Join(dir, "source"), filepath.Join(dir, "work"))
	copyTree(t, root, shell.source)
	for _, p := range markdownFiles(t) {
		blocks := p.shellBlocks()
		if len(blocks) == 0 {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			// Each page has the same place, so that the build cache knows it.
			if err := os.RemoveAll(shell.work); err != nil {
				t.Fatal(err)
			}
			copyTree(t, shell.source, shell.work)
			for _, b := range blocks {
				t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) {
					if out, err := shell.run(t.Context(), b); err != nil {
						t.Errorf("%s: %v\n%s\n%s", b.where(), err, strings.Join(b.lines, "\n"), out)
					} else {
						t.Logf("\n%s", out)
					}
				})
			}
		})
	}
}

// copyTree copies the repository, without what Git keeps for itself.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A shell runs blocks.
type shell struct {
	source, work string // copies of the repository: one that stays as it is, one to run blocks in
	bin, own     string // the examples, and what go install makes
	build        func(example string) error
}

func newShell(t *testing.T, source, work string) *shell {
	t.Helper()
	s := &shell{source: source, work: work, bin: t.TempDir(), own: t.TempDir()}
	s.build = func(name string) error {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", s.bin+"/", "./examples/"+name)
		cmd.Dir, cmd.Env = work, s.environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	return s
}

// environ is the environment of a reader.
func (s *shell) environ() []string {
	return append(os.Environ(),
		"SOURCE="+s.source, "BIN="+s.bin, "GOBIN="+s.own,
		"PATH="+s.own+string(os.PathListSeparator)+os.Getenv("PATH"),
		runVariable+"=") // a block that runs tests does not run this one
}

// mark comes before the output of a command that serves.
const mark = "now it serves"

// script is a block as it is run, to the letter but for special commands and
// rewrites. serving says that its last command is to be ended.
func script(b block) (text, input string, serving bool, err error) {
	lines := slices.Clone(b.lines)
	for i, line := range lines {
		special, ok := specialOf(strings.TrimSpace(line))
		if ok && strings.HasSuffix(line, "\\") {
			return "", "", false, fmt.Errorf("%s: a special command is one line", line)
		}
		switch {
		case !ok:
		case special.how == elsewhere:
			lines[i] = "# " + line + ": " + special.why
		case special.how == asks:
			input = special.input
		case special.how == serves:
			lines[i] = fmt.Sprintf("echo %q\nexec %s", mark, line)
			serving = true
		}
	}
	return rewrite(strings.Join(lines, "\n")) + "\n", input, serving, nil
}

// builtExample is what rewrites put in the place of a release.
var builtExample = regexp.MustCompile(`\$BIN/(\w+)`)

// run runs a block and returns what it printed.
func (s *shell) run(ctx context.Context, b block) (string, error) {
	text, input, serving, err := script(b)
	if err != nil {
		return "", err
	}
	for _, m := range builtExample.FindAllStringSubmatch(text, -1) {
		if err := s.build(m[1]); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, blockTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", text)
	cmd.Dir, cmd.Env, cmd.Stdin = s.work, s.environ(), strings.NewReader(input)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	if !serving {
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), errors.Join(err, ctx.Err())
	}

	cmd.Stderr = &out
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	served := untilServed(pipe)
	if served != nil {
		cancel()
	} else if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		served = fmt.Errorf("it ended by itself: %w", err)
	}
	defer time.AfterFunc(endTimeout, cancel).Stop()
	_, _ = io.Copy(io.Discard, pipe)
	err = cmd.Wait() // however it takes the interrupt: it has served
	if ctx.Err() == nil {
		err = nil
	}
	return out.String(), errors.Join(served, err)
}

// untilServed reads what a block prints until the command that serves has printed
// a line.
func untilServed(out io.Reader) error {
	lines := bufio.NewReader(out)
	marked := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("it ended before it printed a line: %w", err)
		}
		if marked {
			return nil
		}
		marked = strings.TrimSpace(line) == mark
	}
}

// TestShell: what fails fails, what serves is ended, what asks is answered, and a
// release is the source at hand.
func TestShell(t *testing.T) {
	before := specials
	t.Cleanup(func() { specials = before })
	specials = []special{
		{"never", elsewhere, "", "it is not run"},
		{"sh serve", serves, "", "it does not end"},
		{"cat nothing", serves, "", "it ends"},
		{"read answer", asks, "yes\n", "it waits"},
	}
	dir := t.TempDir()
	s := newShell(t, "/source", dir)
	s.build = func(name string) error {
		return os.WriteFile(s.bin+"/"+name, []byte("#!/bin/sh\necho inspected \"$@\"\n"), 0o755)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ block, out, err string }{
		{"echo one\necho two >file\ncat file", "one\ntwo\n", ""},
		{"cat file", "two\n", ""}, // the block before it left it
		{"cat <<END\n  # kept\nEND", "  # kept\n", ""},
		{"echo one\nfalse\necho two", "one\n", "exit status 1"},
		{"never mind\necho two", "two\n", ""},
		{"echo 'echo line; exec cat fifo' >serve\nsh serve", "", ""},
		{"touch nothing\ncat nothing", "", "before it printed"},
		{"read answer && echo $answer", "yes\n", ""},
		{"go run " + modulePath + "/examples/inspect@latest -x .", "inspected -x .\n", ""},
	} {
		out, err := s.run(t.Context(), block{page: "x.md", lines: strings.Split(tt.block, "\n")})
		if out != tt.out || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s\n%q, %v; want %q, %q", tt.block, out, err, tt.out, tt.err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.run(ctx, block{lines: []string{"cat fifo"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a block that hangs: %v", err)
	}
}
