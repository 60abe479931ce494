package mcpclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/plugberth/plugberth/plugin"
)

// Pins remember which tools a host, or its user, has accepted as they were.
// With [HostOptions].Pins a tool that is new, or that has changed since, is held
// back until it is accepted: a server cannot turn a harmless tool into another one
// behind the host's back, and an update of the plugin cannot give its tools to
// another server.
//
// Two digests are compared. That of the tool is the SHA-256 of a JSON object
// without spaces with the members name, title, description, inputSchema,
// outputSchema and annotations in this order, as the server sent them, absent ones
// as an empty text or null, and the members of a schema sorted by name. That of the
// server's entry in mcp.json is [plugin.Server.Digest]: with another url, header,
// command or argument in it all tools of the server are held back.
//
// [Host.Accept] fills them. The zero value has accepted nothing and is ready.
// Pins are safe for concurrent use; as JSON they are an array, and can be stored
// and read back before a host uses them. A stored pin without an entry says
// nothing of the server, so its tool is held back and [Pins.Known].
type Pins struct {
	mu      sync.RWMutex
	digests map[pin]pinned
}

// pinned is how a tool was accepted.
type pinned struct{ tool, entry string }

type pin struct{ tenant, instance, plugin, server, tool string }

func pinOf(t Tool) pin {
	return pin{t.Server.Instance.Tenant, t.Server.Instance.ID, t.Server.Plugin, t.Server.Server, t.Local}
}

// accept remembers tools as they are now.
func (p *Pins) accept(tools ...Tool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.digests == nil {
		p.digests = map[pin]pinned{}
	}
	for _, t := range tools {
		p.digests[pinOf(t)] = pinned{t.Digest, t.Entry}
	}
}

// Forget drops what was accepted of an instance, for when the plugin is
// uninstalled: one that is installed again is held back until it is accepted
// again. [Host.Remove] comes first.
func (p *Pins) Forget(instance plugin.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.digests, func(k pin, _ pinned) bool { return k.tenant == instance.Tenant && k.instance == instance.ID })
}

// accepted reports whether the tool was accepted as it is now.
func (p *Pins) accepted(t Tool) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return t.Digest != "" && t.Entry != "" && p.digests[pinOf(t)] == pinned{t.Digest, t.Entry}
}

// Known reports whether the tool was accepted before, as it is now or otherwise.
// Of one that [Host.Held] returns it says that it has changed, or its server's
// entry, and is not new.
func (p *Pins) Known(t Tool) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, known := p.digests[pinOf(t)]
	return known
}

// pinJSON is one pin as it is stored.
type pinJSON struct {
	Tenant   string `json:"tenant,omitempty"`
	Instance string `json:"instance"`
	Plugin   string `json:"plugin"`
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Digest   string `json:"digest"`
	Entry    string `json:"entry,omitempty"`
}

// MarshalJSON writes the pins as an array, in a stable order.
func (p *Pins) MarshalJSON() ([]byte, error) {
	p.mu.RLock()
	digests := maps.Clone(p.digests)
	p.mu.RUnlock()
	out := make([]pinJSON, 0, len(digests))
	for k, digest := range digests {
		out = append(out, pinJSON{k.tenant, k.instance, k.plugin, k.server, k.tool, digest.tool, digest.entry})
	}
	slices.SortFunc(out, func(a, b pinJSON) int {
		return cmp.Or(
			strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Instance, b.Instance),
			strings.Compare(a.Plugin, b.Plugin), strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool),
		)
	})
	return json.Marshal(out)
}

// UnmarshalJSON reads pins, in place of those that were there.
func (p *Pins) UnmarshalJSON(text []byte) error {
	var in []pinJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("mcpclient: not a list of pins: %w", err)
	}
	digests := make(map[pin]pinned, len(in))
	for _, k := range in {
		digests[pin{k.Tenant, k.Instance, k.Plugin, k.Server, k.Tool}] = pinned{k.Digest, k.Entry}
	}
	p.mu.Lock()
	p.digests = digests
	p.mu.Unlock()
	return nil
}
