package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// stormTime is how long TestStorm goes on: 5 seconds, or what the environment
// says, such as PLUGBERTH_STORM=60s.
func stormTime(t testing.TB) time.Duration {
	if s := os.Getenv("PLUGBERTH_STORM"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if testing.Short() {
		return time.Second
	}
	return 5 * time.Second
}

// own is the channel of one grant in a storm. It knows whose calls it may get.
type own struct {
	t    testing.TB
	task string
	id   atomic.Pointer[string]
	hold bool // answer only when the call is canceled
}

func (o *own) check(ctx context.Context, said string) {
	who, ok := mcpserver.RunFromContext(ctx)
	id := o.id.Load()
	if !ok || who.Identity.Task != o.task || id != nil && who.GrantID != *id || !strings.HasSuffix(said, " of "+o.task) {
		o.t.Errorf("crossed: %q came to %s as %+v", said, o.task, who)
	}
}

func (o *own) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	o.check(ctx, q.Text)
	if o.hold {
		<-ctx.Done()
		return channel.Answer{}, ctx.Err()
	}
	return channel.Answer{Text: "answer to " + o.task}, nil
}

func (o *own) ReportSummary(ctx context.Context, s channel.Summary) error {
	o.check(ctx, s.Text)
	return nil
}

// TestStorm mints, connects, calls, revokes and expires at random from 64
// goroutines. No call ever reaches a run that is not its own, a session never
// answers to another token, and nothing is left. [T1] [T2] [T3] [T5]
func TestStorm(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	h := serve(t, mcpserver.Options{
		Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
		Limits: mcpserver.Limits{Comment: 20 * time.Millisecond, Revoke: 2 * time.Second},
	})
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	client := &http.Client{Transport: transport}
	var counts struct{ calls, ended, refused, foreign atomic.Int64 }

	// Sessions that others may try to steal.
	var sessions sync.Map
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(worker)))
			for n := 0; ctx.Err() == nil; n++ {
				task := fmt.Sprintf("task-%d-%d", worker, n)
				o := &own{t: t, task: task, hold: rng.IntN(4) == 0}
				ttl := time.Hour
				if rng.IntN(3) == 0 {
					ttl = time.Duration(1+rng.IntN(50)) * time.Millisecond
				}
				m, err := h.Mint(mcpserver.Grant{Identity: mcpserver.Identity{Task: task}, Channel: channel.Of(o), TTL: ttl})
				if err != nil {
					t.Error(err)
					return
				}
				o.id.Store(&m.ID)
				storm{h: h, t: t, ctx: ctx, rng: rng, task: task, client: client, sessions: &sessions, hold: o.hold, token: m.Token.Reveal(),
					calls: &counts.calls, ended: &counts.ended, refused: &counts.refused, foreign: &counts.foreign}.run()
				if rng.IntN(2) == 0 {
					h.Revoke(m.ID)
				} else {
					h.RevokeTask(task)
				}
				if _, ok := h.LookupToken(m.Token.Reveal()); ok {
					t.Error("a revoked token is good")
				}
			}
		})
	}
	time.Sleep(stormTime(t))
	// On a machine that is busy with other things it takes longer until all has
	// happened.
	eventually(t, "everything happens", func() bool {
		return counts.calls.Load() > 0 && counts.ended.Load() > 0 && counts.refused.Load() > 0 && counts.foreign.Load() > 0
	})
	stop()
	wg.Wait()
	down, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := h.Shutdown(down); err != nil {
		t.Error(err)
	}
	if n := h.Left(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	transport.CloseIdleConnections()
	h.server.Close()
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	t.Logf("%d calls were answered, %d ended with their grant, %d tokens were refused, %d foreign sessions were tried",
		counts.calls.Load(), counts.ended.Load(), counts.refused.Load(), counts.foreign.Load())
}

type storm struct {
	h        *host
	t        testing.TB
	ctx      context.Context
	rng      *rand.Rand
	task     string
	token    string
	hold     bool
	client   *http.Client
	sessions *sync.Map

	calls, ended, refused, foreign *atomic.Int64
}

// send sends one request and returns what came, and false if the token is no
// longer good or the connection broke.
func (s storm) send(r raw, method, body string) (reply, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	resp, err := r.open(ctx, method, body)
	if err != nil {
		if ctx.Err() != nil {
			s.t.Errorf("%s hangs", s.task)
		}
		return reply{}, false
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	if resp.StatusCode == 401 {
		s.refused.Add(1)
		return reply{}, false
	}
	return reply{resp.StatusCode, resp.Header, string(data)}, true
}

func (s storm) run() {
	r := raw{url: s.h.url, token: s.token, client: s.client}
	version := eras[s.rng.IntN(2)]
	if version == stateful {
		got, ok := s.send(r, "POST", initialize)
		if !ok {
			return
		}
		r.session, r.version = got.header.Get("Mcp-Session-Id"), stateful
		if r.session == "" {
			return // the grant ended meanwhile
		}
		s.sessions.Store(s.rng.IntN(100), r.session)
		if s.rng.IntN(2) == 0 { // a stream that hangs
			ctx, cancel := context.WithCancel(s.ctx)
			defer cancel()
			if resp, err := r.open(ctx, "GET", ""); err == nil {
				defer resp.Body.Close()
			}
		}
	}
	r.version = version
	var wg sync.WaitGroup
	for i := range 1 + s.rng.IntN(5) {
		switch kind := s.rng.IntN(6); {
		case kind == 0: // another's session
			session, ok := s.sessions.Load(s.rng.IntN(100))
			if !ok || session == r.session {
				continue
			}
			foreign := r
			foreign.session, foreign.version = session.(string), stateful
			if got, ok := s.send(foreign, "POST", toolCall(stateful, i+1, "report_summary", args{"summary": "theft of " + s.task})); ok {
				s.foreign.Add(1)
				if got.status != 404 {
					s.t.Errorf("another's session: %+v", got)
				}
			}
		case kind == 1 && s.hold: // a call in flight when the grant ends
			body := toolCall(version, i+1, "ask_user", args{"question": fmt.Sprintf("question %d of %s", i, s.task)})
			end := time.Duration(s.rng.IntN(20)) * time.Millisecond
			wg.Go(func() {
				got, ok := s.send(r, "POST", body)
				if ok && strings.Contains(got.body, "revoked") || strings.Contains(got.body, "expired") {
					s.ended.Add(1)
				} else if ok && strings.Contains(got.body, "answer to") {
					s.t.Errorf("an answer came: %+v", got)
				}
			})
			wg.Go(func() {
				time.Sleep(end) // any moment will do
				s.h.RevokeTask(s.task)
			})
		case kind == 2 && !s.hold:
			got, ok := s.send(r, "POST", toolCall(version, i+1, "ask_user", args{"question": fmt.Sprintf("question %d of %s", i, s.task)}))
			if ok && strings.Contains(got.body, "answer to ") && !strings.Contains(got.body, "answer to "+s.task) {
				s.t.Errorf("crossed: %+v", got)
			}
			if ok {
				s.calls.Add(1)
			}
		default:
			got, ok := s.send(r, "POST", toolCall(version, i+1, "report_summary", args{"summary": "summary of " + s.task, "task_id": "another"}))
			if ok && strings.Contains(got.body, "recorded") {
				s.calls.Add(1)
			}
		}
	}
	wg.Wait()
	if version == stateful && s.rng.IntN(3) == 0 {
		s.send(r, "DELETE", "")
	}
}
