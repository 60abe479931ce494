package mcpclient

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

// TestPinnedPlace: tools that were accepted are held back when an update takes
// them from another server, and where it was not stored which one it was.
func TestPinnedPlace(t *testing.T) { // [R13]
	var m memory
	m.set("s", echo("a"))
	var pins Pins
	h := newMemoryHost(t, &m, HostOptions{Pins: &pins})
	use := func(p *plugin.Plugin) {
		t.Helper()
		if err := errors.Join(h.Add(one, p), h.Ready(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	at := func(url string) *plugin.Plugin {
		return loadServers(t, map[string]any{"s": remoteEntry(url)})
	}
	use(at("https://good.example/mcp"))
	if held := h.Held(); len(held) != 1 || pins.Known(held[0]) || held[0].Entry != at("https://good.example/mcp").Server("s").Digest() {
		t.Fatalf("a new tool: %+v", held)
	}
	h.Accept(h.Held()...)
	use(at("https://good.example/mcp"))
	if len(h.Tools()) != 1 {
		t.Error("held back in the same place")
	}
	seen := h.Tools()[0]

	use(at("https://evil.example/mcp"))
	held := h.Held()
	if len(h.Tools()) != 0 || len(held) != 1 || !pins.Known(held[0]) || held[0].Digest != seen.Digest {
		t.Fatalf("from another server: tools %v, held %v", h.Tools(), held)
	}
	_, err := h.Call(t.Context(), held[0].Name, nil, CallOptions{})
	if !errors.Is(err, ErrHeld) || !errors.Is(err, ErrNotSent) {
		t.Errorf("a held tool: %v", err)
	}
	v := h.View(func(ServerID) bool { return false })
	defer v.Close()
	if _, err := v.Call(t.Context(), held[0].Name, nil, CallOptions{}); errors.Is(err, ErrHeld) || !errors.Is(err, ErrUnknownTool) {
		t.Errorf("one that the view does not see: %v", err)
	}
	if h.Accept(seen); len(h.Tools()) != 0 {
		t.Error("what was seen in one place was accepted in another")
	}
	if h.Accept(held...); len(h.Tools()) != 1 {
		t.Error("what was accepted is held back")
	}

	stored, err := json.Marshal(&pins)
	if err != nil {
		t.Fatal(err)
	}
	var old []map[string]string
	if err := json.Unmarshal(stored, &old); err != nil || len(old) != 1 || old[0]["entry"] != held[0].Entry {
		t.Fatalf("%s: %v", stored, err)
	}
	delete(old[0], "entry")
	if stored, err = json.Marshal(old); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, &pins); err != nil {
		t.Fatal(err)
	}
	if pins.accepted(held[0]) || !pins.Known(held[0]) {
		t.Errorf("without a place: accepted %t, known %t", pins.accepted(held[0]), pins.Known(held[0]))
	}
}
