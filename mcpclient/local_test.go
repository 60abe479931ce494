package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

// launchSelf starts the test binary as a server in a mode.
func launchSelf(t *testing.T, mode string) Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Local{}.Launch(t.Context(), Launch{
		Plan:    plugin.LaunchPlan{Program: self, Dir: t.TempDir()},
		Environ: []string{serverModeEnv + "=" + mode, "GORACE=atexit_sleep_ms=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { abandon(t, p) })
	return p
}

// abandon ends a process of a launcher.
func abandon(t *testing.T, p Process) {
	t.Helper()
	held, err := hold(p)
	if err != nil {
		t.Fatal(err)
	}
	held.abandon()
}

// Its methods may be called by several, at any time and again.
func TestLocalProcess(t *testing.T) {
	noLeaks(t)
	p := launchSelf(t, "sleep")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			err := p.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Success() {
				t.Errorf("[R4] a killed process ends with %v", err)
			}
		})
		wg.Go(func() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(p.Kill(), p.Terminate()); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
	in, out, errs := p.Pipes()
	again, _, _ := p.Pipes()
	if in == nil || out == nil || errs == nil || in != again {
		t.Error("the pipes are not the same on each call")
	}

	p = launchSelf(t, "success")
	if err := p.Wait(); err != nil {
		t.Errorf("[R4] success is %v", err)
	}
}

func TestLocalRefuses(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		plan plugin.LaunchPlan
		path string
		text string
	}{
		{"[E5] a relative program", t.Context(), plugin.LaunchPlan{Program: "./x", Dir: dir}, "", "not absolute"},
		{"[E5] a directory", t.Context(), plugin.LaunchPlan{Program: dir, Dir: dir}, "", "is a directory"},
		{"[E5] a bare name without PATH", t.Context(), plugin.LaunchPlan{Program: "x", Dir: dir}, "", "no PATH"},
		{"[E5] the current directory is not searched", t.Context(), plugin.LaunchPlan{Program: filepath.Base(self), Dir: filepath.Dir(self)}, ".", "in no directory of PATH"},
		{"a relative directory", t.Context(), plugin.LaunchPlan{Program: self, Dir: "."}, "", "working directory's path is not absolute"},
		{"no directory", t.Context(), plugin.LaunchPlan{Program: self, Dir: self}, "", "is no directory"},
		{"[R3] a context that has ended", ended, plugin.LaunchPlan{Program: self, Dir: dir}, "", "canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			p, err := Local{}.Launch(c.ctx, Launch{Plan: c.plan, Path: c.path})
			if p != nil || err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, %v, want %q", p, err, c.text)
			}
		})
	}
}

// [E2] No environment is an empty one, not the host's.
func TestLocalEnvironIsNotInherited(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("env is no program there")
	}
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("PLUGBERTH_HOST_SECRET", "x")
	p, err := Local{}.Launch(t.Context(), Launch{Plan: plugin.LaunchPlan{Program: env, Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer abandon(t, p)
	_, out, _ := p.Pipes()
	if line, err := bufio.NewReader(out).ReadString('\n'); err == nil {
		t.Errorf("the environment has %q", line)
	}
}

// When the host is killed, its servers see the end of their input and end.
func TestLocalServersEndWithTheirHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what is left of the host is looked at there")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self)
	host.Env = []string{serverModeEnv + "=host"}
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, atoi := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || atoi != nil || !alive(pid) {
		t.Errorf("no server: %q, %v", line, err)
	}
	host.Process.Kill()
	host.Wait()
	if atoi == nil {
		gonePid(t, pid)
	}
}
