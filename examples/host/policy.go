package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
)

// policy is what is the user's to decide.
type policy struct {
	dataRoot    string // below which plugins keep data
	consent     mcpclient.Consent
	credentials credentials
	observer    mcpserver.Observer // hears of the agents' calls
}

// policy is what the command line has decided.
func (set *settings) policy(s *story, dataRoot string) policy {
	allow, why := set.allowStdio, "-allow-stdio was not given"
	switch {
	case set.plugins == nil:
		allow, why = true, "this demo consents by itself; your host asks its user"
	case allow:
		why = "-allow-stdio was given"
	}
	p := policy{dataRoot: dataRoot, consent: consent(s, allow, why), credentials: set.credentials}
	if set.agent != "" { // the scripted one tells of its calls itself
		p.observer = observer{s}
	}
	return p
}

// consent shows what a server would start, and decides on it. A host asks its user
// here, and stores the digest of a plan that was allowed.
func consent(s *story, allow bool, why string) mcpclient.Consent {
	var one sync.Mutex // servers start side by side, and people decide on one thing at a time
	return func(_ context.Context, req mcpclient.ConsentRequest) error {
		one.Lock()
		defer one.Unlock()
		line := shown(req.Plan.Program)
		for _, arg := range req.Plan.Args {
			line += " " + shown(arg)
		}
		s.say(theHost, "%s wants to start %s", req.ID, line)
		// Names alone: a value may be a secret.
		s.say(theHost, "  with the variables %s; plan %.19s…", strings.Join(slices.Sorted(maps.Keys(req.Plan.Env)), ", "), req.Digest)
		for _, f := range req.Findings {
			s.say(theHost, "  beware: %s", f.Message)
		}
		if !allow {
			s.say(theUser, "no: %s", why)
			return errors.New(why)
		}
		s.say(theUser, "yes: %s", why)
		return nil
	}
}

// shown is a word of a command line, in quotes where it could pass for several or for
// none.
func shown(word string) string {
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\'' }) {
		return strconv.Quote(word)
	}
	return word
}

// observer tells of the calls of an agent.
type observer struct{ story *story }

func (o observer) Observe(e mcpserver.Event) {
	if e.Kind == mcpserver.EventCall {
		o.story.say(theAgent, "→ %s: %s", oneLine(e.Tool, 64), e.Outcome)
	}
}
