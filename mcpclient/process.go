package mcpclient

import (
	"errors"
	"io"
)

// heldProcess is the process of a launcher with its pipes, which are asked for
// once. A panic in one of its methods is an error: nothing else would stop it.
type heldProcess struct {
	proc           Process
	stdin          io.WriteCloser
	stdout, stderr io.ReadCloser
}

var (
	errNoPipes       = errors.New("the launcher returned a process without pipes")
	errProcessPanics = errors.New("the launcher's process panicked")
)

// hold takes a process over. One that cannot be used is ended beside.
func hold(proc Process) (*heldProcess, error) {
	h := &heldProcess{proc: proc}
	err := guarded(func() error {
		h.stdin, h.stdout, h.stderr = proc.Pipes()
		return nil
	})
	if err == nil && (h.stdin == nil || h.stdout == nil || h.stderr == nil) {
		err = errNoPipes
	}
	if err != nil {
		go h.abandon()
		return nil, err
	}
	return h, nil
}

// abandon ends a process that is not used.
func (h *heldProcess) abandon() {
	_ = h.Kill()
	for _, pipe := range []io.Closer{h.stdin, h.stdout, h.stderr} {
		if pipe != nil {
			_ = guarded(pipe.Close)
		}
	}
	_ = h.Wait()
}

func (h *heldProcess) Pipes() (stdin io.WriteCloser, stdout, stderr io.ReadCloser) {
	return h.stdin, h.stdout, h.stderr
}

func (h *heldProcess) Terminate() error { return guarded(h.proc.Terminate) }
func (h *heldProcess) Kill() error      { return guarded(h.proc.Kill) }

// Wait returns what the process's own does. Whether one that panics has ended is
// not known, so it is killed.
func (h *heldProcess) Wait() error {
	err := guarded(h.proc.Wait)
	if errors.Is(err, errProcessPanics) {
		_ = h.Kill()
	}
	return err
}

// guarded calls a method of the launcher's. What it panics with may hold a
// secret, so that is not shown.
func guarded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errProcessPanics
		}
	}()
	return f()
}
