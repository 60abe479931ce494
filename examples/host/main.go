// Host is a whole host of agents in one command: it runs plugins, serves an agent
// their tools and skills, and hears what the agent has to say.
//
// Usage:
//
//	host [-ask] [-resume] [-agent CMD] [-plugins DIR]... [-allow-stdio] [-credentials FILE]
//
// Without flags it installs a demo package into a temporary directory, starts the
// package's MCP server, and runs a scripted agent as a process of its own, which
// loads a skill, calls a tool, asks the user and reports. It tells what happens
// between host, agent and plugin, and ends by itself.
//
// With -ask you answer the agent's question. With -resume the question is recorded
// and the agent's turn ends; once there is an answer, a second process goes on.
//
// With -plugins there are packages of your own in place of the demo: DIR is one, or
// holds some. Their programs are started with -allow-stdio only, and keep their data
// for this run. Remote servers may be public ones, and those on this machine whose
// URL says so. FILE holds headers for them, and nobody else may read it:
//
//	{"PLUGIN/SERVER": {"origin": "https://mcp.example.com", "headers": {"Authorization": "Bearer …"}}}
//
// They go to that origin only.
//
// With -agent the shell runs a program of your own as the agent, in a directory with
// the configuration .mcp.json and the skills in .agents/skills. The environment
// variable PLUGBERTH_MCP_CONFIG is the path of the former, and PLUGBERTH_TURN is 1,
// or more where the agent is resumed; the rest of the environment is yours. You
// answer its questions.
//
// The exit status is 0, 1 when the agent failed, and 2 when the host could not do
// its work.
//
// Read tell below first. What a host needs is in host.go, policy.go and turn.go; the
// demo's own are install.go, server.go for the package's server, and agent.go and
// script.go for the agent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/plugberth/plugberth/plugin/finding"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(start(ctx, os.Args[1:]))
}

// start is what this program does. The demo needs two other programs, the server of
// its package and the agent: that is this one too, started with one word.
func start(ctx context.Context, args []string) int {
	var err error
	switch {
	case len(args) == 2 && args[0] == "serve":
		err = serve(ctx, args[1])
	case len(args) == 1 && args[0] == "agent":
		err = work(ctx, os.Stdin, os.Stdout)
	default:
		return run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", args[0], finding.Escape(err.Error()))
		return statusFailed
	}
	return statusOK
}

// The exit statuses.
const (
	statusOK = iota
	statusFailed
	statusUnable
)

// settings are what the command line says.
type settings struct {
	ask, resume, allowStdio bool
	agent                   string
	plugins                 []string
	credentials             credentials
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var set settings
	flags := flag.NewFlagSet("host", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: host [-ask] [-resume] [-agent CMD] [-plugins DIR]... [-allow-stdio] [-credentials FILE]")
		flags.PrintDefaults()
	}
	flags.BoolVar(&set.ask, "ask", false, "answer the agent's question yourself")
	flags.BoolVar(&set.resume, "resume", false, "record the question, end the turn, and resume the agent with the answer")
	flags.StringVar(&set.agent, "agent", "", "run the shell command `CMD` as the agent; you answer its questions")
	flags.Func("plugins", "use the package in `DIR`, or those below it; can be given again", func(dir string) error {
		set.plugins = append(set.plugins, dir)
		return nil
	})
	flags.BoolVar(&set.allowStdio, "allow-stdio", false, "start the programs of these packages")
	flags.Func("credentials", "give remote servers the headers in `FILE`", func(file string) (err error) {
		set.credentials, err = readCredentials(file)
		return err
	})
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusUnable
	}
	if flags.NArg() > 0 {
		flags.Usage()
		return statusUnable
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newStory(stdout)
	err := tell(ctx, &set, s, stdin)
	if s.err != nil {
		err = s.err
	}
	switch {
	case err == nil:
		return statusOK
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "host: %s\n", finding.Escape(err.Error()))
	if errors.Is(err, errAgent) {
		return statusFailed
	}
	return statusUnable
}

// tell is the story, from the installation of a package to its end.
func tell(ctx context.Context, set *settings, s *story, stdin io.Reader) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s.note("Three processes: a host, an agent, and the MCP server of a plugin.")

	s.chapter("The host loads plugins and starts their servers, with consent")
	s.say(theHost, "works in %s, shown as … from here on", dir)
	s.shorten(dir)
	workspace := filepath.Join(dir, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return err
	}
	h, err := newHost(ctx, s, set.policy(s, filepath.Join(dir, "data")))
	if err != nil {
		return err
	}
	defer h.close()
	packages, err := set.packages(ctx, dir)
	if err != nil {
		return err
	}
	if err := h.load(ctx, packages); err != nil {
		return err
	}
	set.credentials.unused(s, h.plugins)
	if err := h.run(ctx); err != nil {
		return err
	}

	s.chapter("An agent gets an endpoint and a token of its own, and works")
	s.say(theHost, "serves %s, with %s of plugins beside its own", h.url, count(h.offered(), "tool"))
	r := &runner{host: h, user: scriptedUser{s}, program: set.agent, workspace: workspace, live: !set.resume}
	if set.ask || set.agent != "" {
		r.user = newRealUser(ctx, s, stdin)
	}
	if set.agent != "" {
		if err := h.stage(ctx, workspace); err != nil {
			return err
		}
	}
	failed := r.turns(ctx)
	if failed != nil && !errors.Is(failed, errAgent) {
		return failed
	}

	s.chapter("The host keeps what came of it")
	if err := r.report(ctx); err != nil {
		return err
	}
	if err := h.kept(); err != nil {
		return err
	}
	h.close()
	if err := errors.Join(h.uninstall(), os.RemoveAll(dir)); err != nil {
		return err
	}
	s.say(theHost, "ends the plugins' servers and removes its directory: nothing is left")
	if set.plugins == nil && set.agent == "" {
		s.note("Next: -ask, -resume, -plugins DIR for packages and -agent CMD for an agent of your own; see -h.")
	}
	return failed
}
