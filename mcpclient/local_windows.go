package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/plugberth/plugberth/internal/printable"
)

const executableAdvice = "Windows starts .exe, .com, .cmd and .bat files"

func executable(path string, _ fs.FileInfo) bool {
	p := strings.ToLower(strings.TrimRight(path, ". "))
	return slices.ContainsFunc(startable, func(ext string) bool { return strings.HasSuffix(p, ext) })
}

func startLocal(_ context.Context, program string, l Launch) (*localProcess, error) {
	shown := `"` + printable.Escape(program) + `"`
	sys := &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	argv := append([]string{program}, l.Plan.Args...)
	if isBatch(program) {
		system, err := windows.GetSystemDirectory()
		if err != nil {
			return nil, fmt.Errorf("cmd.exe cannot be found: %w", err)
		}
		cmd := filepath.Join(system, "cmd.exe")
		if sys.CmdLine, err = batchCommandLine(cmd, program, l.Plan.Dir, l.Plan.Args); err != nil {
			return nil, err
		}
		program = cmd
	}
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	p, err := newPipes()
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	defer p.closeTheirs()
	proc, err := os.StartProcess(program, argv, &os.ProcAttr{
		Dir: l.Plan.Dir,
		// Not nil, which would hand on the whole environment of the host.
		Env:   append([]string{}, l.Environ...),
		Files: p.theirs(),
		Sys:   sys,
	})
	if err == nil {
		if err = adopt(job, proc.Pid); err != nil {
			proc.Kill()
			proc.Wait()
		}
	}
	if err != nil {
		p.closeOurs()
		windows.CloseHandle(job)
		var errno syscall.Errno
		if errors.As(err, &errno) {
			err = errno
		}
		return nil, fmt.Errorf("%s could not be started: %w", shown, err)
	}
	return &localProcess{proc: proc, pipes: p, job: job}, nil
}

// newJob makes a job object whose processes end when its last handle closes,
// which is when this process ends at the latest.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("no job object could be made: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return 0, fmt.Errorf("the job object could not be set up: %w", err)
	}
	return job, nil
}

// adopt puts a process that was started suspended into the job and lets it run.
func adopt(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return err
	}
	// os.StartProcess keeps the handle of the one thread to itself.
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID == uint32(pid) {
			thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
			if err != nil {
				return err
			}
			defer windows.CloseHandle(thread)
			_, err = windows.ResumeThread(thread)
			return err
		}
	}
	return errors.New("its first thread was not found")
}

// localProcess is a server in the job object of its own.
type localProcess struct {
	proc *os.Process
	pipes

	mu  sync.Mutex
	job windows.Handle // 0 once all have ended

	once    sync.Once
	waitErr error
}

func (p *localProcess) Pipes() (stdin io.WriteCloser, stdout, stderr io.ReadCloser) {
	return p.stdin, p.stdout, p.stderr
}

// Terminate implements [Process].
func (p *localProcess) Terminate() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == 0 {
		return nil
	}
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.proc.Pid))
}

// Kill implements [Process].
func (p *localProcess) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killJob()
}

// killJob needs the lock.
func (p *localProcess) killJob() error {
	if p.job == 0 {
		return nil
	}
	return windows.TerminateJobObject(p.job, 1)
}

// Wait implements [Process].
func (p *localProcess) Wait() error {
	p.once.Do(func() { p.waitErr = p.wait() })
	return p.waitErr
}

// groupTime bounds waiting for the killed to be gone.
const groupTime = time.Second

func (p *localProcess) wait() error {
	state, err := p.proc.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killJob()
	pause := time.Millisecond
	for deadline := time.Now().Add(groupTime); time.Now().Before(deadline); pause = min(2*pause, 20*time.Millisecond) {
		if active, err := activeProcesses(p.job); err != nil || active == 0 {
			break
		}
		time.Sleep(pause)
	}
	windows.CloseHandle(p.job)
	p.job = 0
	if err != nil {
		return err
	}
	if !state.Success() {
		return &exec.ExitError{ProcessState: state}
	}
	return nil
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	_      [4]int64 // times
	_      [2]uint32
	active uint32
	_      uint32
}

func activeProcesses(job windows.Handle) (uint32, error) {
	var info accounting
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return info.active, err
}
