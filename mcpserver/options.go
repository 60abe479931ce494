package mcpserver

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// Options configure a [Registry]. The zero Options are ready to use.
type Options struct {
	// Logger gets one record a call, with identity, tool, duration and outcome,
	// and one for each end and extension of a grant. Requests that are refused
	// before they are calls, with 401, 403, 413 or 429, are a warning with the
	// reason at most once a minute and reason, and a debug record each. No record
	// holds a token, an argument or a result. nil is silent.
	Logger *slog.Logger
	// Observer, if set, gets what the logger gets of calls and grants, as data.
	Observer Observer
	// Limits bound what one grant may use. A zero field is its default.
	Limits Limits
	// Hosts are the Host headers that are accepted, as "name" for any port or
	// "name:port": for a registry behind a proxy. Of "name:443" and "name:80" the
	// name alone is accepted too, since clients leave out the port that the scheme
	// means, with TLS for 443 only. There are no wildcards, and an entry that can
	// match nothing is an error of [New]. Loopback names stay accepted on loopback
	// addresses. If empty, any Host is accepted, except that a request that came in
	// on a loopback address must name a loopback host.
	Hosts []string
	// Origins are the origins of web pages that may use the registry, each as
	// "scheme://host[:port]"; preflight requests of these are answered. If
	// empty, every request that a browser says comes from another site is
	// refused.
	Origins []string
	// Catalog, if set, is the catalog of plugins' tools that agents see as far as
	// their surface allows. The registry follows it until [Registry.Shutdown]. A
	// registry whose catalog is in another process gets snapshots by
	// [Registry.Push] instead.
	Catalog *catalog.Catalog
	// Invokers carry out the calls of the catalog's tools.
	Invokers *Invokers
	// Authorizer decides on each of these calls, [CatalogAuthorizer] if nil.
	Authorizer Authorizer
	// Name is the name of the server for agents: in the configurations of grants
	// ([Minted.Config]), where programs often show it in the names of tools, such as
	// mcp__NAME__ask_user, and in the handshake. It is 1 to 64 characters of
	// A-Z a-z 0-9 _ -; empty means [DefaultServerName] in configurations and
	// "plugberth" in the handshake.
	Name string
	// Version is the server's in the handshake, "1.0.0" where it is empty.
	Version string
}

// Limits bound what one grant may use. Zero means the default, a negative value
// is an error of [New]. Besides, the arguments of a call have at most 20,000
// values.
type Limits struct {
	Body        int           // bytes of one request body, default 1 MiB
	Result      int           // bytes of one result, its text copy of structured content included, default 1 MiB
	Sessions    int           // sessions open at once, default 16
	Calls       int           // calls in flight at once, those of plugins' tools apart, default 16
	PluginCalls int           // calls in flight at once of the tools of one plugin, default 8
	Requests    int           // HTTP requests open at once, listening streams included, default 64
	Rate        int           // requests a second, default 50
	Burst       int           // requests at once above the rate, default 100
	Replay      int           // bytes of events a session keeps for clients that come back, default 256 KiB
	Call        time.Duration // one call of a tool that names no timeout, default 2 minutes
	Invoke      time.Duration // one call of a plugin's tool that names no timeout, default 30 seconds
	Ask         time.Duration // one ask_user; by default only the channel's own deadline and the end of the grant count
	Idle        time.Duration // a session without request and call, default 30 minutes
	BodyTime    time.Duration // to receive a body, default 30 seconds
	Write       time.Duration // to write 32 KiB, default 5 seconds
	Comment     time.Duration // between comments on an idle stream, default 15 seconds
	Revoke      time.Duration // for answers to leave when a grant ends, default 1 second
	Lifetime    time.Duration // of a grant from Mint to its end, extensions included, default 7 days
}

func (l *Limits) fill() error {
	for _, f := range []struct {
		name  string
		value *int
		dflt  int
	}{
		{"Body", &l.Body, 1 << 20},
		{"Result", &l.Result, 1 << 20},
		{"Sessions", &l.Sessions, 16},
		{"Calls", &l.Calls, 16},
		{"PluginCalls", &l.PluginCalls, 8},
		{"Requests", &l.Requests, 64},
		{"Rate", &l.Rate, 50},
		{"Burst", &l.Burst, 100},
		{"Replay", &l.Replay, 256 << 10},
	} {
		if *f.value < 0 {
			return fmt.Errorf("mcpserver: Limits.%s is negative", f.name)
		}
		if *f.value == 0 {
			*f.value = f.dflt
		}
	}
	for _, f := range []struct {
		name  string
		value *time.Duration
		dflt  time.Duration
	}{
		{"Call", &l.Call, 2 * time.Minute},
		{"Invoke", &l.Invoke, 30 * time.Second},
		{"Ask", &l.Ask, 0},
		{"Idle", &l.Idle, 30 * time.Minute},
		{"BodyTime", &l.BodyTime, 30 * time.Second},
		{"Write", &l.Write, 5 * time.Second},
		{"Comment", &l.Comment, 15 * time.Second},
		{"Revoke", &l.Revoke, time.Second},
		{"Lifetime", &l.Lifetime, 7 * 24 * time.Hour},
	} {
		if *f.value < 0 {
			return fmt.Errorf("mcpserver: Limits.%s is negative", f.name)
		}
		if *f.value == 0 {
			*f.value = f.dflt
		}
	}
	return nil
}

// Errors of this package, to be matched with errors.Is.
var (
	// ErrClosed: the registry is shut down or about to be.
	ErrClosed = errors.New("mcpserver: the registry is shut down")
	// ErrGrant: a grant that cannot be minted, extended or moved as asked, or that
	// is not live.
	ErrGrant = errors.New("mcpserver: invalid grant")
	// ErrTool: a tool that cannot be offered as it stands.
	ErrTool = errors.New("mcpserver: invalid tool")
)
