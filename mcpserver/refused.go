package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/plugberth/plugberth/internal/printable"
)

// The reasons for which a request reaches no call, as they stand in the log.
const (
	forHost     = "host"     // 403: the Host header
	forOrigin   = "origin"   // 403: a web page of another site
	forToken    = "token"    // 401
	forBody     = "body"     // 413: too large
	forRate     = "rate"     // 429
	forRequests = "requests" // 429: too many are open
	forSessions = "sessions" // 429: too many are open and busy
)

// loudEvery is the least time between two warnings for one reason: anyone can send
// requests that are refused.
const loudEvery = time.Minute

// refusals are the requests of a registry that reached no call.
type refusals struct {
	mu   sync.Mutex
	last map[string]time.Time // of the last warning, by reason
}

// note writes a record of one: a warning, if there was none for the reason lately,
// and for debugging otherwise.
func (r *refusals) note(log *slog.Logger, req *http.Request, reason string, status int) {
	level := slog.LevelDebug
	now := time.Now()
	r.mu.Lock()
	if last, ok := r.last[reason]; !ok || now.Sub(last) >= loudEvery {
		if r.last == nil {
			r.last = map[string]time.Time{}
		}
		r.last[reason] = now
		level = slog.LevelWarn
	}
	r.mu.Unlock()
	log.LogAttrs(context.Background(), level, "request refused",
		slog.Int("status", status), slog.String("reason", reason), slog.String("host", printable.Escape(cut(req.Host, maxHost))))
}

// maxHost is how many bytes of a Host header are logged, those of the longest name.
const maxHost = 253
