package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
)

// Local is the default [Launcher]: it starts servers as processes of this
// machine. The zero value is ready, and safe for concurrent use.
//
// A bare program is looked up over Launch.Path, once; empty and relative
// entries of it and the current directory are not searched. The program gets
// its own absolute path as argument 0, Launch.Environ and nothing else as
// environment, and three pipes as its only open files, apart from those that
// the host has itself left inheritable.
//
// On Unix each server gets a session of its own, and with it a process group
// and no controlling terminal: it cannot read or type into the host's. When the
// server ends, what is left of its group is killed at once, before its number
// can be used again, so the child of a wrapper such as npx does not outlive it.
// A process that leaves the group, with setsid or setpgid, is out of reach of
// Terminate and Kill: holding it takes a Launcher with a container or control
// group. When the host itself is killed, nobody is left to kill the group:
// servers see the end of their input, on which well-made ones end. (Linux could
// send a signal on the death of the parent, but it does so when the starting
// thread dies, which in Go may be at any time, and for the first process only.)
// A host that reaps all children itself, with wait(-1), takes from Local how
// its servers ended, and must not do so.
//
// On Windows each server starts suspended, is put into a job object and only
// then runs, so that all it starts belongs to the job, which ends with the host
// also when that is killed. Terminate sends CTRL_BREAK, which reaches a server
// where host and server share a console. Batch files, which .cmd wrappers such
// as npx are, run through cmd.exe; arguments that it cannot be given safely fail
// the launch (AP §7.2.1).
type Local struct{}

// Launch implements [Launcher]. It fails with an error that says what is wrong
// with the program or the directory: missing, a directory, not executable, a
// script whose interpreter is missing.
func (Local) Launch(ctx context.Context, l Launch) (Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	program := l.Plan.Program
	if strings.ContainsAny(program, `/\`) {
		if !isAbs(program) {
			return nil, errors.New("the program's path is not absolute")
		}
		if err := checkProgram(program); err != nil {
			return nil, err
		}
	} else {
		found, err := search{onWindows, l.Path, l.PathExt, checkProgram}.find(program)
		if err != nil {
			return nil, err
		}
		program = found
	}
	if err := checkWorkingDir(l.Plan.Dir); err != nil {
		return nil, err
	}
	p, err := startLocal(ctx, program, l)
	if err != nil {
		return nil, err // not p, which would be a nil in an interface
	}
	return p, nil
}

func isAbs(p string) bool {
	if onWindows {
		return absoluteOnWindows(p)
	}
	return strings.HasPrefix(p, "/")
}

// checkProgram says what is wrong with starting the program at a path, as far
// as that can be seen without starting it.
func checkProgram(path string) error {
	shown := `"` + printable.Escape(path) + `"`
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missing{"the program " + shown + " does not exist"}
	case err != nil:
		return fmt.Errorf("the program %s cannot be looked at: %w", shown, report.Innermost(err))
	case info.IsDir():
		return fmt.Errorf("%s is a directory, not a program", shown)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file, so no program", shown)
	case !executable(path, info):
		return fmt.Errorf("%s is not executable: %s", shown, executableAdvice)
	}
	return nil
}

func checkWorkingDir(dir string) error {
	if !isAbs(dir) {
		return errors.New("the working directory's path is not absolute")
	}
	shown := `"` + printable.Escape(dir) + `"`
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missing{"the working directory " + shown + " does not exist"}
	case err != nil:
		return fmt.Errorf("the working directory %s cannot be looked at: %w", shown, report.Innermost(err))
	case !info.IsDir():
		return fmt.Errorf("the working directory %s is no directory", shown)
	}
	return nil
}

// missing is an error that is an fs.ErrNotExist.
type missing struct{ text string }

func (m *missing) Error() string        { return m.text }
func (m *missing) Is(target error) bool { return target == fs.ErrNotExist }

// pipes are the three of one server, both ends.
type pipes struct {
	stdin, stdout, stderr    *os.File // the client's
	childIn, childOut, chErr *os.File // the server's
}

func newPipes() (p pipes, err error) {
	if p.childIn, p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, p.childOut, err = os.Pipe(); err == nil {
			p.stderr, p.chErr, err = os.Pipe()
		}
	}
	if err != nil {
		p.closeOurs()
		p.closeTheirs()
		return pipes{}, fmt.Errorf("no pipes could be made: %w", err)
	}
	return p, nil
}

func (p pipes) theirs() []*os.File { return []*os.File{p.childIn, p.childOut, p.chErr} }

func (p pipes) closeOurs()   { closeAll(p.stdin, p.stdout, p.stderr) }
func (p pipes) closeTheirs() { closeAll(p.theirs()...) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
