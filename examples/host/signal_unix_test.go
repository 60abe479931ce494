//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupted: a signal ends the program and all that it has started, whatever
// it is doing.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		name      string
		signal    os.Signal
		arguments []string
		when      string // it has said this
	}{
		{"a question waits", os.Interrupt, []string{"-ask"}, "answer with a number"},
		{"a recorded question waits", syscall.SIGTERM, []string{"-ask", "-resume"}, "answer with a number"},
		{"an agent program works", syscall.SIGTERM, []string{"-plugins", skillAlone(t), "-agent", "sleep 300 & echo begun; sleep 300"}, "begun"},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := ownTemp(t)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self, c.arguments...)
			cmd.Env = append(os.Environ(), "HOST_TEST=program")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			stdin, err := cmd.StdinPipe() // stays open
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer stuck.Stop()
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				if strings.Contains(lines.Text(), c.when) {
					if err := cmd.Process.Signal(c.signal); err != nil {
						t.Error(err)
					}
				}
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != statusUnable || !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("status %d: %s", code, errs.String())
			}
			nothingLeft(t, temp)
		})
	}
}

// TestAgentLeavesProcess: what an agent program leaves running ends with its turn.
func TestAgentLeavesProcess(t *testing.T) {
	// The process that is left holds a FIFO: once it is gone, reading that ends.
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(fifo)
		ended <- err
	}()
	packages := skillAlone(t)
	temp := ownTemp(t)
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"-plugins", packages, "-agent", `exec 3>"` + fifo + `"; sleep 300 >/dev/null 2>&1 & exit 0`}, strings.NewReader(""), &out, &errs)
	if status != statusOK {
		t.Errorf("status %d: %s", status, errs.String())
	}
	nothingLeft(t, temp)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a process is left")
	}
}
