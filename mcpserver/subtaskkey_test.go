package mcpserver_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

// TestDerivedKey: the key of a subtask depends on all of what is asked for, and
// on nothing else. [H4]
func TestDerivedKey(t *testing.T) {
	keys := []string{
		mcpserver.DerivedKey("a", "b"), mcpserver.DerivedKey("ab", ""), mcpserver.DerivedKey("", "ab"),
		mcpserver.DerivedKey("a", "c"), mcpserver.DerivedKey("b", "a"), mcpserver.DerivedKey("a\x00", "b"),
	}
	if mcpserver.DerivedKey("a", "b") != keys[0] {
		t.Error("the same gives another key")
	}
	slices.Sort(keys)
	if n := len(slices.Compact(keys)); n != 6 {
		t.Errorf("%d different keys", n)
	}
}

// TestSpawnTwice: an agent that repeats a request, in this grant or a later one
// of the task, gets the same subtask; with another key it gets another. [H4]
func TestSpawnTwice(t *testing.T) {
	h := serve(t, mcpserver.Options{})
	r := &run{}
	id := func(cs *mcp.ClientSession, a args) string {
		data, _ := json.Marshal(structured(t, call(t, cs, "spawn_subtask", a)))
		return string(data)
	}
	work := args{"title": "Docs", "prompt": "Write."}
	keyed := args{"title": "Docs", "prompt": "Write.", "key": "again"}
	var cs *mcp.ClientSession
	for i, want := range []string{`{"existing":false,"subtask_id":"sub-0"}`, `{"existing":true,"subtask_id":"sub-0"}`} {
		cs = h.connect(t, h.mint(t, mcpserver.Grant{Channel: channel.Of(r)}).Token.Reveal(), eras[i], nil)
		if got := id(cs, work); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := id(cs, keyed); got != `{"existing":false,"subtask_id":"sub-1"}` {
		t.Error(got)
	}
	if got := id(cs, keyed); got != `{"existing":true,"subtask_id":"sub-1"}` {
		t.Error(got)
	}
}
