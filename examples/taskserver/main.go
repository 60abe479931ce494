// Taskserver serves agents, each for a task of its own, and shows what they say.
//
// Usage:
//
//	taskserver [-addr HOST:PORT] [-task ID]... [-live] [-ttl D]
//
// It prints one JSON document a line: first where it listens and the grants,
// with the configuration that the program of each agent needs, then what
// happens. Standard input takes lines:
//
//	answer TASK TEXT   answers the question of that task that waits longest
//	revoke TASK        ends the access of that task
//	quit               ends the server, after the calls in flight
//
// Without -live a question is recorded and the agent is told to end its turn;
// asked again after it was answered, it gets the answer. With -live the agent's
// call waits for the answer, for five minutes, and is recorded then.
//
// The first line holds tokens: send it to a file of mode 0600 or read it from a
// pipe, and hand an agent its configuration in a file or its environment, never
// in an argument list.
//
// The exit status is 0, or 2 when the program could not do its work, with the
// reason on standard error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK     = 0
	statusFailed = 2
)

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("taskserver", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: taskserver [-addr HOST:PORT] [-task ID]... [-live] [-ttl D]")
		flags.PrintDefaults()
	}
	addr := flags.String("addr", "127.0.0.1:8787", "listen on `HOST:PORT`, port 0 for any that is free")
	live := flags.Bool("live", false, "let questions wait for an answer")
	ttl := flags.Duration("ttl", time.Hour, "how long a token is valid")
	var ids []string
	flags.Func("task", "serve the task `ID`; several can be given (default demo)", func(id string) error {
		if id == "" || strings.ContainsAny(id, " \t\r\n") || slices.Contains(ids, id) {
			return errors.New("a task is one word, given once")
		}
		ids = append(ids, id)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusFailed
	}
	if flags.NArg() > 0 || *ttl <= 0 {
		flags.Usage()
		return statusFailed
	}
	if len(ids) == 0 {
		ids = []string{"demo"}
	}
	s := &server{out: stdout, stderr: stderr, tasks: make(map[string]*task)}
	if err := s.serve(ctx, *addr, ids, *live, *ttl, stdin); err != nil {
		fmt.Fprintln(stderr, "taskserver:", err)
		return statusFailed
	}
	return statusOK
}

// server is the host: it owns the registry and the tasks.
type server struct {
	registry *mcpserver.Registry
	tasks    map[string]*task
	backlog  channel.Backlog // events that are not printed yet
	stderr   io.Writer

	mu  sync.Mutex // guards out
	out io.Writer
}

// task is what the host knows of a task.
type task struct {
	buffered *channel.Buffered
	live     *channel.Live // nil where questions do not wait
}

// grant is how the first line shows one.
type grant struct {
	Task   string          `json:"task"`
	Token  string          `json:"token"`
	Config json.RawMessage `json:"config"`
}

func (s *server) serve(ctx context.Context, addr string, ids []string, live bool, ttl time.Duration, stdin io.Reader) error {
	registry, err := mcpserver.New(mcpserver.Options{
		Logger:   slog.New(slog.NewTextHandler(s.stderr, nil)),
		Observer: s,
		Name:     "taskserver",
	})
	if err != nil {
		return err
	}
	s.registry = registry

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	url := "http://" + reachable(listener.Addr()) + "/mcp"

	// What is printed first; nothing can happen before an agent has a token.
	first := struct {
		URL    string  `json:"url"`
		Grants []grant `json:"grants"`
	}{URL: url}
	listening, stopListening := context.WithCancel(ctx)
	defer stopListening()
	for _, id := range ids {
		minted, err := registry.Mint(mcpserver.Grant{
			Identity: mcpserver.Identity{Task: id},
			Channel:  s.channel(listening, id, live),
			TTL:      ttl,
		})
		if err != nil {
			return err
		}
		config, err := minted.Config(url)
		if err != nil {
			return err
		}
		first.Grants = append(first.Grants, grant{id, minted.Token.Reveal(), config})
	}
	s.print(first)

	mux := http.NewServeMux()
	mux.Handle("/mcp", registry)
	web := &http.Server{
		Handler: mux,
		// A client that sends its headers slowly would hold a connection for
		// nothing. There is no ReadTimeout and no WriteTimeout: both count from
		// the beginning of a request, and the streams of an agent stay open for
		// hours. The registry bounds the time to receive a body and each single
		// write.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.NewTextHandler(s.stderr, nil), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	quit := make(chan struct{})
	go func() {
		if s.commands(ctx, stdin) {
			close(quit)
		}
	}()
	select {
	case err = <-failed:
	case <-ctx.Done():
	case <-quit:
	}

	// The agents first: their calls get a moment to end, and their streams would
	// keep the HTTP server from shutting down.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := registry.Shutdown(end); err != nil {
		fmt.Fprintln(s.stderr, "taskserver: calls in flight were cut off")
	}
	stopListening()
	if s.backlog.Wait(end) != nil {
		fmt.Fprintln(s.stderr, "taskserver: not all that happened was printed")
	}
	end, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if web.Shutdown(end) != nil {
		// A client that connects ahead and has sent nothing yet counts as busy.
		err = errors.Join(err, web.Close())
	}
	return err
}

// reachable is the address under which a listener can be reached from here.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", fmt.Sprint(tcp.Port))
	}
	return addr.String()
}

// channel is how the agent of a task reaches the host: what it says is kept in
// memory, within limits, and shown.
func (s *server) channel(ctx context.Context, id string, live bool) channel.Parts {
	t := &task{buffered: channel.NewBuffered(new(channel.MemoryStore))}
	s.tasks[id] = t
	parts := channel.Of(t.buffered)
	if live {
		t.live = channel.NewLive(channel.LiveOptions{Fallback: t.buffered})
		parts.Asker = t.live
		go func() {
			for {
				q, err := t.live.Next(ctx)
				if err != nil {
					return
				}
				s.print(questionEvent(id, q, false))
			}
		}()
	}
	parts = channel.Limit(parts, channel.Limits{})
	return channel.Observe(parts, channel.ObserveOptions{Backlog: &s.backlog, Observers: []channel.Observer{
		channel.ObserverFunc(func(ev channel.Event) { s.said(id, ev) }),
	}})
}

// commands reads standard input and reports whether it said quit. At its end
// the server goes on.
func (s *server) commands(ctx context.Context, stdin io.Reader) (quit bool) {
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		verb, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		id, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
		var err error
		switch verb {
		case "":
		case "quit":
			return true
		case "revoke":
			if s.registry.RevokeTask(id) == 0 {
				err = errors.New("this task has no access")
			}
		case "answer":
			err = s.answer(ctx, id, strings.TrimSpace(text))
		default:
			err = errors.New("commands are: answer TASK TEXT, revoke TASK, quit")
		}
		if err != nil {
			fmt.Fprintln(s.stderr, "taskserver:", err)
		}
	}
	return false
}

// answer answers the question that waits longest.
func (s *server) answer(ctx context.Context, id, text string) error {
	t := s.tasks[id]
	if t == nil {
		return errors.New("there is no such task")
	}
	if t.live != nil {
		if waiting := t.live.Waiting(); len(waiting) > 0 {
			return t.live.Answer(ctx, waiting[0].ID, text)
		}
	}
	q, ok, err := t.buffered.PendingQuestion(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("no question of this task waits for an answer")
	}
	return t.buffered.Answer(ctx, q.ID, text)
}
