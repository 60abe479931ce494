//go:build unix

package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plugberth/plugberth/internal/printable"
)

const executableAdvice = "set its executable bit"

// executable asks the system as far as it can be asked, and the mode, because
// the superuser may execute what nobody has made executable.
func executable(path string, info fs.FileInfo) bool {
	if info.Mode().Perm()&0o111 == 0 {
		return false
	}
	err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	return err == nil || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// busyRetries is how often a program is tried again that is still open for
// writing, in a process that another goroutine is just starting.
const busyRetries = 10

func startLocal(ctx context.Context, program string, l Launch) (*localProcess, error) {
	p, err := newPipes()
	if err != nil {
		return nil, err
	}
	defer p.closeTheirs()
	attr := &os.ProcAttr{
		Dir: l.Plan.Dir,
		// Not nil, which would hand on the whole environment of the host.
		Env:   append([]string{}, l.Environ...),
		Files: p.theirs(),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	argv := append([]string{program}, l.Plan.Args...)
	var proc *os.Process
	for try := 0; ; try++ {
		proc, err = os.StartProcess(program, argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || try == busyRetries {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-ctx.Done():
		}
		break
	}
	if err != nil {
		p.closeOurs()
		return nil, startError(program, err)
	}
	return &localProcess{proc: proc, pipes: p}, nil
}

// startError says why the system did not start a program that looked well.
func startError(program string, err error) error {
	shown := `"` + printable.Escape(program) + `"`
	interpreter, carriageReturn := interpreterOf(program)
	switch {
	case errors.Is(err, fs.ErrNotExist) && carriageReturn:
		return fmt.Errorf("the first line of the script %s ends with a carriage return, which the system takes for a part of its interpreter's name: save it with Unix line ends", shown)
	case errors.Is(err, fs.ErrNotExist) && interpreter != "":
		return &missing{fmt.Sprintf("the interpreter %s that the script %s names in its first line does not exist", printable.Quote(interpreter), shown)}
	case errors.Is(err, fs.ErrNotExist):
		return &missing{"the program " + shown + " or what the system needs to load it does not exist"}
	case errors.Is(err, fs.ErrPermission) && interpreter != "":
		return fmt.Errorf("the system does not allow starting the script %s, or its interpreter %s is not executable", shown, printable.Quote(interpreter))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the system does not allow starting %s", shown)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is no program for this system: a script begins with #! and its interpreter", shown)
	case errors.Is(err, syscall.E2BIG):
		return errors.New("arguments and environment together are larger than the system takes")
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return fmt.Errorf("%s could not be started: %w", shown, err)
}

// interpreterOf returns what the first line of a script names after #!, and
// whether that line ends as lines on Windows do.
func interpreterOf(program string) (name string, carriageReturn bool) {
	f, err := os.Open(program)
	if err != nil {
		return "", false
	}
	defer f.Close()
	head := make([]byte, 256) // what Linux looks at
	n, _ := io.ReadFull(f, head)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return "", false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if fields := strings.Fields(string(line)); len(fields) > 0 {
		name = fields[0]
	}
	return name, bytes.HasSuffix(line, []byte("\r"))
}

// localProcess is a server and the process group that it leads. Its number is
// a group's number as long as the server has not been reaped, so signals and
// reaping exclude each other.
type localProcess struct {
	proc *os.Process
	pipes

	mu     sync.Mutex
	reaped bool

	once    sync.Once
	waitErr error
}

func (p *localProcess) Pipes() (stdin io.WriteCloser, stdout, stderr io.ReadCloser) {
	return p.stdin, p.stdout, p.stderr
}

// Terminate implements [Process]. What is stopped is continued to hear it.
func (p *localProcess) Terminate() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.signal(syscall.SIGCONT)
}

// Kill implements [Process]; SIGKILL also ends what is stopped.
func (p *localProcess) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signal(syscall.SIGKILL)
}

// signal needs the lock.
func (p *localProcess) signal(s syscall.Signal) error {
	if p.reaped {
		return nil
	}
	// EPERM is what macOS says where only the dead are left.
	if err := syscall.Kill(-p.proc.Pid, s); err != nil && err != syscall.ESRCH && err != syscall.EPERM {
		return err
	}
	return nil
}

// Wait implements [Process].
func (p *localProcess) Wait() error {
	p.once.Do(func() { p.waitErr = p.wait() })
	return p.waitErr
}

// groupTime bounds waiting for the killed to be gone.
const groupTime = time.Second

func (p *localProcess) wait() error {
	pid := p.proc.Pid
	var state *os.ProcessState
	var err error
	if awaitExit(pid) == nil {
		p.mu.Lock()
		p.signal(syscall.SIGKILL)
		state, err = p.proc.Wait() // at once
		p.reaped = true
		p.mu.Unlock()
	} else {
		// The system cannot wait without reaping, so the group is killed after.
		state, err = p.proc.Wait()
		p.mu.Lock()
		if err == nil {
			p.signal(syscall.SIGKILL)
		}
		p.reaped = true
		p.mu.Unlock()
	}
	pause := 100 * time.Microsecond
	for deadline := time.Now().Add(groupTime); time.Now().Before(deadline); pause = min(2*pause, 20*time.Millisecond) {
		if syscall.Kill(-pid, 0) != nil || onlyDead(pid) {
			break
		}
		time.Sleep(pause)
	}
	if err != nil {
		return err
	}
	if !state.Success() {
		return &exec.ExitError{ProcessState: state}
	}
	return nil
}
