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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
)

// The expected case: a server starts with what its entry says, works and ends
// by itself when its input is closed.
func TestStdioServerWorks(t *testing.T) {
	noLeaks(t)
	dir := writePlugin(t, map[string]serverEntry{"s": {
		"type": "stdio", "command": "testserver",
		"args": []string{"--root=${PLUGIN_ROOT}", "", "a b", "$HOME ${HOME} %PATH%", "${PLUGIN_DATA}"},
		"env":  map[string]string{serverModeEnv: "normal", "CONFIG": "${PLUGIN_ROOT}/c", "LANG": "package", "TOKEN": "package"},
		"cwd":  "${PLUGIN_DATA}/deep/er",
	}}, nil)
	opts := testOptions(t)
	opts.Environ = append(opts.Environ, "LANG=base", "BASE=1")
	t.Setenv("PLUGBERTH_HOST_SECRET", "x")
	var asked ConsentRequest
	opts.Consent = func(_ context.Context, req ConsentRequest) error { asked = req; return nil }

	opened, err := openStdio(t.Context(), loadPlugin(t, dir), testID, opts, &consents{}, given(Credentials{Env: map[string]string{"TOKEN": "host", "PLUGIN_DATA": "/evil"}}))
	if err != nil {
		t.Fatal(err)
	}
	l := &testLink{stdioLink: opened.(*stdioLink), changed: make(chan struct{}, 1)}
	t.Cleanup(func() { l.end(t) })
	if err := l.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tools, err := l.session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "echo" {
		t.Errorf("[R1] tools %+v, %v", tools, err)
	}
	l.echo(t)

	data, err := plugin.DataDir(opts.DataRoot, testID.Instance)
	if err != nil {
		t.Fatal(err)
	}
	r := l.report(t)
	t.Run("[E1] arguments", func(t *testing.T) {
		if want := []string{"--root=" + dir, "", "a b", "$HOME ${HOME} %PATH%", data}; !slices.Equal(r.Args[1:], want) {
			t.Errorf("%q, want %q", r.Args[1:], want)
		}
	})
	t.Run("[E2] [R8] environment", func(t *testing.T) {
		for _, want := range []string{"CONFIG=" + filepath.FromSlash(dir+"/c"), "LANG=package", "TOKEN=host", "BASE=1", "PLUGIN_ROOT=" + dir, "PLUGIN_DATA=" + data} {
			if !slices.Contains(r.Environ, want) {
				t.Errorf("%q is not in the environment %q", want, r.Environ)
			}
		}
		for _, e := range r.Environ {
			if strings.Contains(e, "SECRET") || strings.Contains(e, "evil") {
				t.Errorf("%q is in the environment", e)
			}
		}
	})
	t.Run("[E3] data directory and cwd", func(t *testing.T) {
		if r.Dir != filepath.Join(data, "deep", "er") {
			t.Errorf("cwd is %q", r.Dir)
		}
		for _, d := range []string{opts.DataRoot, data, r.Dir} {
			if info, err := os.Stat(d); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("%s: %v, %v", d, info, err)
			}
		}
	})
	t.Run("[E5] program", func(t *testing.T) {
		if p := r.Args[0]; !filepath.IsAbs(p) || !strings.HasPrefix(filepath.Base(p), "testserver") {
			t.Errorf("program %q", p)
		}
	})
	t.Run("[R2] consent was asked for just that", func(t *testing.T) {
		if asked.ID != testID || asked.Digest != asked.Plan.Digest() || asked.Plan.Program != "testserver" || asked.Plan.Dir != r.Dir ||
			asked.Plan.Env["TOKEN"] != "package" || !slices.Equal(asked.Plan.Args, r.Args[1:]) || len(asked.Findings) != 0 {
			t.Errorf("%+v", asked)
		}
	})
	if runtime.GOOS == "linux" {
		t.Run("[R4] a session of its own, three files, no terminal", func(t *testing.T) {
			if r.Group != r.Pid || r.Session != r.Pid || r.TTY {
				t.Errorf("pid %d, group %d, session %d, terminal %v", r.Pid, r.Group, r.Session, r.TTY)
			}
			for _, f := range r.Files {
				fd, target, _ := strings.Cut(f, " ")
				if inheritable(fd) {
					continue // whoever started the test left it open
				}
				isPipe := strings.HasPrefix(target, "pipe:")
				// The rest is what Go's runtime opens, and this listing itself.
				if isPipe != (len(fd) == 1 && fd <= "2") || !isPipe && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/") {
					t.Errorf("file %s", f)
				}
			}
		})
	}
	begin := time.Now()
	l.end(t)
	if took := time.Since(begin); took > opts.GracePeriod/2 {
		t.Errorf("closing took %v", took)
	}
	if l.exitErr != nil {
		t.Errorf("[R4] a server that ends with its input was ended otherwise: %v", l.exitErr)
	}
	if err := l.explain(errors.New("x")); err.Error() != "x" {
		t.Errorf("a closed link explains %v", err)
	}
}

// [R3] A session outlives the context that it was made with.
func TestStdioOutlivesItsConnectContext(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	opened, err := openStdio(ctx, testPlugin(t, "normal"), testID, testOptions(t), &consents{}, given(Credentials{}))
	if err != nil {
		t.Fatal(err)
	}
	l := &testLink{stdioLink: opened.(*stdioLink), changed: make(chan struct{}, 1)}
	t.Cleanup(func() { l.end(t) })
	if err := l.connect(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	l.echo(t)
	if _, err := openStdio(ctx, testPlugin(t, "normal"), testID, testOptions(t), &consents{}, given(Credentials{})); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// inheritable reports whether a file of this process goes to its children
// though nobody hands it to them.
func inheritable(fd string) bool {
	info, err := os.ReadFile("/proc/self/fdinfo/" + fd)
	if err != nil || fd <= "2" && len(fd) == 1 {
		return false
	}
	_, rest, _ := strings.Cut(string(info), "flags:")
	flags, err := strconv.ParseUint(strings.Fields(rest)[0], 8, 64)
	return err == nil && flags&0o2000000 == 0 // O_CLOEXEC
}

// The program of a package, by its resolved absolute path.
func TestStdioPackagedProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts are Unix's")
	}
	dir := writePlugin(t, map[string]serverEntry{
		"s":           {"type": "stdio", "command": "./bin/my tool", "args": []string{"x y"}, "env": map[string]string{serverModeEnv: "normal"}, "cwd": "./bin"},
		"link":        {"type": "stdio", "command": "./link"},
		"gone":        {"type": "stdio", "command": "./bin/gone"},
		"plain":       {"type": "stdio", "command": "./bin/plain"},
		"interpreter": {"type": "stdio", "command": "./bin/interpreter"},
		"crlf":        {"type": "stdio", "command": "./bin/crlf"},
		"garbage":     {"type": "stdio", "command": "./bin/garbage"},
		"large":       {"type": "stdio", "command": "testserver", "args": []string{strings.Repeat("SECRET", 1<<15)}},
		"unknown":     {"type": "stdio", "command": "no-such-program"},
		"cwd":         {"type": "stdio", "command": "testserver", "cwd": "./gone"},
		"dir":         {"type": "stdio", "command": "./bin/dir"},
		"escape":      {"type": "stdio", "command": "./bin/escape"},
	}, map[string]string{
		"bin/my tool":     "#!/bin/sh\nexec testserver \"$0\" \"$@\"\n",
		"bin/interpreter": "#! /no/such\x1b/interpreter -x\n",
		"bin/garbage":     "\x7fELF garbage",
		"bin/crlf":        "#!/bin/sh\r\nexec true\r\n",
		"bin/plain":       "text",
	})
	if err := os.Symlink("bin/my tool", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(filepath.Join(dir, "bin/plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := loadPlugin(t, dir)
	// What changes after loading is what launching looks at again.
	if err := os.Mkdir(filepath.Join(dir, "bin/dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "bin/escape")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		server string
		err    string
		is     error
	}{
		{server: "s"},
		{server: "link"},
		{"gone", `the program "` + dir + `/bin/gone" does not exist`, fs.ErrNotExist},
		{"plain", "is not executable: set its executable bit", ErrServer},
		{"interpreter", `the interpreter "/no/such\x1b/interpreter" that the script`, fs.ErrNotExist},
		{"crlf", "ends with a carriage return", ErrServer},
		{"large", "arguments and environment together are larger than the system takes", ErrServer},
		{"garbage", "is no program for this system", ErrServer},
		{"unknown", `"no-such-program" is in no directory of PATH`, ErrServer},
		{"cwd", `the working directory "` + dir + `/gone" does not exist`, fs.ErrNotExist},
		{"dir", "command leads to something that is no file", plugin.ErrPlan},
		{"escape", "command", paths.ErrEscape},
	} {
		t.Run("[E5] "+c.server, func(t *testing.T) {
			if c.server == "large" && runtime.GOOS != "linux" {
				t.Skip("the limit is another one")
			}
			noLeaks(t)
			id := testID
			id.Server = c.server
			opts := testOptions(t)
			opts.Environ[0] += ":/bin:/usr/bin"
			opened, err := openStdio(t.Context(), p, id, opts, &consents{}, given(Credentials{Env: map[string]string{serverModeEnv: "normal"}}))
			if c.err != "" {
				mustFail(t, err, ErrServer, c.err)
				if !errors.Is(err, c.is) {
					t.Errorf("%v is no %v", err, c.is)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			l := &testLink{stdioLink: opened.(*stdioLink)}
			t.Cleanup(func() { l.end(t) })
			if err := l.connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := l.report(t)
			if want := filepath.Join(dir, "bin/my tool"); r.Args[1] != want {
				t.Errorf("program %q, want %q", r.Args[1], want)
			}
			if c.server == "s" && (r.Dir != filepath.Join(dir, "bin") || r.Args[2] != "x y") || c.server == "link" && r.Dir != dir {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestStdioIsRefusedWithoutPolicy(t *testing.T) {
	p := testPlugin(t, "normal")
	refused := errors.New("the user said no")
	for _, c := range []struct {
		name  string
		tweak func(*Options)
		is    error
		text  string
	}{
		{"[R2] no consent function", func(o *Options) { o.Consent = nil }, ErrNotAllowed, "Options.Consent is not set"},
		{"[R2] no data root", func(o *Options) { o.DataRoot = "" }, ErrNotAllowed, "Options.DataRoot is not set"},
		{"[R2] refused", func(o *Options) { o.Consent = func(context.Context, ConsentRequest) error { return refused } }, refused, "did not consent to start it: the user said no"},
		{"[R2] a panic", func(o *Options) { o.Consent = func(context.Context, ConsentRequest) error { panic("a\x1bbug") } }, ErrNotAllowed, `its function panicked`},
		{"[R2] a function that does not return", func(o *Options) {
			o.Consent = func(context.Context, ConsentRequest) error { runtime.Goexit(); return nil }
		}, ErrNotAllowed, "did not return"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			opts := testOptions(t)
			opts.Launcher = launcherFunc(func(context.Context, Launch) (Process, error) {
				t.Error("it was launched")
				return nil, errors.New("no")
			})
			c.tweak(opts)
			_, err := openStdio(t.Context(), p, testID, opts, &consents{}, given(Credentials{}))
			mustFail(t, err, ErrNotAllowed, c.text)
			if !errors.Is(err, c.is) {
				t.Errorf("%v is no %v", err, c.is)
			}
			if opts.DataRoot != "" {
				if _, err := os.Stat(opts.DataRoot); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("[E3] a data directory was made for a server that was refused: %v", err)
				}
			}
		})
	}
}

// [R2] The package changes while the host is asked: it is asked again, and what
// is started is what it allowed last.
func TestStdioPlanChangesDuringConsent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	noLeaks(t)
	dir := writePlugin(t, map[string]serverEntry{"s": {"type": "stdio", "command": "./run"}}, map[string]string{"a": "#!/bin/sh\n", "b": "#!/bin/sh\n"})
	set := func(target string) {
		os.Remove(filepath.Join(dir, "run"))
		if err := os.Symlink(target, filepath.Join(dir, "run")); err != nil {
			t.Error(err)
		}
	}
	set("a")
	p := loadPlugin(t, dir)
	var launched, allowed []string
	opts := testOptions(t)
	opts.Launcher = launcherFunc(func(_ context.Context, l Launch) (Process, error) {
		launched = append(launched, filepath.Base(l.Plan.Program))
		return nil, errors.New("this is as far as it goes")
	})
	opts.Consent = func(_ context.Context, req ConsentRequest) error {
		allowed = append(allowed, filepath.Base(req.Plan.Program))
		set("b")
		return nil
	}
	asked := &consents{}
	_, err := openStdio(t.Context(), p, testID, opts, asked, given(Credentials{}))
	mustFail(t, err, ErrServer, "it did not start: this is as far as it goes")
	if !slices.Equal(allowed, []string{"a", "b"}) || !slices.Equal(launched, []string{"b"}) {
		t.Errorf("allowed %q, launched %q", allowed, launched)
	}
	if _, err := openStdio(t.Context(), p, testID, opts, asked, given(Credentials{})); err == nil || len(allowed) != 2 || len(launched) != 2 {
		t.Errorf("[R2] the same digest: %v, allowed %q, launched %q", err, allowed, launched)
	}

	// One that changes each time is given up.
	n := 0
	opts.Consent = func(context.Context, ConsentRequest) error {
		n++
		name := strings.Repeat("c", n)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Error(err)
		}
		set(name)
		return nil
	}
	_, err = openStdio(t.Context(), p, testID, opts, &consents{}, given(Credentials{}))
	mustFail(t, err, ErrServer, "changed each time")
	// And what leads outside meanwhile is refused.
	opts.Consent = func(context.Context, ConsentRequest) error { set("/bin/sh"); return nil }
	_, err = openStdio(t.Context(), p, testID, opts, &consents{}, given(Credentials{}))
	mustFail(t, err, paths.ErrEscape)
	if len(launched) != 2 {
		t.Errorf("launched %q", launched)
	}
}

// What a launcher may do wrongly is an error of this server and no more.
func TestStdioLaunchers(t *testing.T) {
	p := testPlugin(t, "normal")
	ended := make(chan struct{})
	defer close(ended)
	for _, c := range []struct {
		name   string
		launch launcherFunc
		text   string
	}{
		{"[R2] an error", func(context.Context, Launch) (Process, error) { return nil, errors.New("no image") }, "it did not start: no image"},
		{"[R2] nothing", func(context.Context, Launch) (Process, error) { return nil, nil }, "returned no process"},
		{"[R2] [R8] an error that shows what it runs", func(_ context.Context, l Launch) (Process, error) {
			return nil, fmt.Errorf("run \x1b%s", l.Environ)
		}, `TOKEN=[hidden]`},
		{"[R2] [Q1] a panic", func(_ context.Context, l Launch) (Process, error) { panic(l.Environ) }, `the launcher panicked`},
		{"[R2] [Q1] pipes that panic", func(context.Context, Launch) (Process, error) { return &badProcess{pipes: func() { panic("x") }}, nil }, "process panicked"},
		{"[R3] no pipes, and no end either", func(context.Context, Launch) (Process, error) {
			return &badProcess{wait: func() { <-ended }}, nil
		}, "without pipes"},
		{"[R2] no pipes", func(context.Context, Launch) (Process, error) { return newMemoryProcess(nil), nil }, "without pipes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := testOptions(t)
			opts.Launcher = c.launch
			_, err := openStdio(t.Context(), p, testID, opts, &consents{}, given(Credentials{Env: map[string]string{"TOKEN": "s3cret-token"}}))
			mustFail(t, err, ErrServer, c.text)
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the error is not safe to show: %v", err)
			}
		})
	}
	t.Run("[R3] one that does not heed its context", func(t *testing.T) {
		noLeaks(t)
		proc := newMemoryProcess(func(*memoryProcess) {})
		release := make(chan struct{})
		opts := testOptions(t)
		opts.Launcher = launcherFunc(func(context.Context, Launch) (Process, error) { <-release; return proc, nil })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := openStdio(ctx, p, testID, opts, &consents{}, given(Credentials{})); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		close(release)
		proc.Wait() // it is killed when it comes
	})
}

// badProcess is a process whose methods do what the test wants: what is nil does
// nothing.
type badProcess struct {
	Process                      // its pipes; nil has none
	pipes, terminate, kill, wait func()
}

func (p *badProcess) do(f func()) error {
	if f != nil {
		f()
	}
	return nil
}
func (p *badProcess) Terminate() error { return p.do(p.terminate) }
func (p *badProcess) Kill() error      { return p.do(p.kill) }
func (p *badProcess) Wait() error      { return p.do(p.wait) }
func (p *badProcess) Pipes() (io.WriteCloser, io.ReadCloser, io.ReadCloser) {
	p.do(p.pipes)
	if p.Process == nil {
		return nil, nil, nil
	}
	return p.Process.Pipes()
}

// A process whose methods panic, give other pipes the second time, or which
// cannot be killed, is an error of its server, and is told. [R4] [Q1]
func TestStdioBadProcess(t *testing.T) {
	serve := func(p *memoryProcess) {
		_ = newEcho("t").Run(context.Background(), &mcp.IOTransport{Reader: p.inR, Writer: p.outW})
	}
	panics := func() { panic("s3cret") }
	for _, c := range []struct {
		name    string
		break_  func(*badProcess)
		connect bool // it does
		is      error
		text    string // of what closing says
	}{
		{"Wait panics", func(p *badProcess) { p.wait = panics; p.kill = func() { p.Process.Kill() } }, false, ErrServer, ""},
		{"Terminate panics", func(p *badProcess) {
			p.wait = func() { <-p.Process.(*memoryProcess).done }
			p.terminate = panics
			p.kill = func() { p.Process.Kill() }
		}, true, nil, ""},
		{"Kill panics", func(p *badProcess) { p.wait = func() { <-t.Context().Done() }; p.kill = panics }, true, ErrServer, "did not end when it was killed"},
		{"the second pipes are none", func(p *badProcess) {
			once := false
			p.wait = func() { <-p.Process.(*memoryProcess).done }
			p.pipes = func() {
				if once {
					panic("asked again")
				}
				once = true
			}
		}, true, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opts := testOptions(t)
			opts.GracePeriod = 20 * time.Millisecond
			opts.Launcher = launcherFunc(func(context.Context, Launch) (Process, error) {
				p := &badProcess{Process: newMemoryProcess(serve)}
				c.break_(p)
				return p, nil
			})
			s, err := Connect(t.Context(), testPlugin(t, "normal"), testID.Instance, "s", *opts)
			switch {
			case err != nil && c.connect:
				t.Fatal(err)
			case err == nil && !c.connect: // it was quicker than its end
				<-s.Done()
				err = s.Err()
				s.Close()
			case err == nil:
				err = s.Close()
			}
			if !errors.Is(err, c.is) || err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// [R2] A server behind another launcher, with pipes that have no deadlines.
func TestStdioMemoryLauncher(t *testing.T) {
	noLeaks(t)
	opts := testOptions(t)
	var launched Launch
	opts.Launcher = launcherFunc(func(_ context.Context, l Launch) (Process, error) {
		launched = l
		return newMemoryProcess(func(p *memoryProcess) {
			server := mcp.NewServer(&mcp.Implementation{Name: "memory", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
				Text string `json:"text"`
			}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
			})
			server.Run(context.Background(), &mcp.IOTransport{Reader: p.inR, Writer: p.outW})
		}), nil
	})
	l := open(t, "normal", opts, Credentials{Env: map[string]string{"TOKEN": "s3cret"}})
	if err := l.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.echo(t)
	if launched.Plan.Program != "testserver" || launched.Path == "" || "PATH="+launched.Path != opts.Environ[0] || !slices.Contains(launched.Environ, "TOKEN=s3cret") {
		t.Errorf("%+v", launched)
	}
	l.end(t)
}

// [R8] Printed, a launch shows neither variables nor arguments.
func TestLaunchIsMasked(t *testing.T) {
	l := Launch{ID: testID, Plan: plugin.LaunchPlan{Program: "p", Args: []string{"SECRET"}, Env: map[string]string{"A": "SECRET"}}, Environ: []string{"A=SECRET"}}
	logs, logger := newLog()
	logger.Info("x", "launch", l)
	for _, text := range []string{logs.String(), l.String(), sprint("%v", l), sprint("%+v", l), sprint("%#v", l), sprint("%s", l), sprint("%q", l), sprint("%+v", []Launch{l})} {
		if strings.Contains(text, "SECRET") || !strings.Contains(text, "demo") {
			t.Errorf("%s", text)
		}
	}
}

func TestExitErrorIs(t *testing.T) {
	e := &ExitError{Err: &exec.ExitError{ProcessState: &os.ProcessState{}}, Stderr: "a\nb"}
	var target *exec.ExitError
	if !errors.Is(e, ErrServer) || !errors.As(e, &target) || !strings.Contains(e.Error(), "its stderr ended: a | b") {
		t.Error(e)
	}
	if e := (&ExitError{}); !errors.Is(e, ErrServer) || strings.Contains(e.Error(), "stderr") || !strings.Contains(e.Error(), "success") {
		t.Error(e)
	}
}
