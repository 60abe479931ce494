package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func joined(list [][]byte) string { return string(bytes.Join(list, []byte(" "))) }

// TestEvents: what a session keeps for a client that comes back, within its
// bound.
func TestEvents(t *testing.T) {
	after := func(t *testing.T, ev *events, id string, index int, want string) {
		t.Helper()
		got, err := ev.after(id, index)
		if err != nil || joined(got) != want {
			t.Errorf("after %q %d: %q %v, want %q", id, index, joined(got), err, want)
		}
	}
	t.Run("answers", func(t *testing.T) {
		ev := &events{limit: 1 << 20}
		ev.append("a", nil) // what the SDK primes a stream with
		ev.append("a", []byte("1"))
		ev.append("b", nil)
		ev.append("a", []byte("2"))
		after(t, ev, "a", 0, "1 2")
		after(t, ev, "a", 1, "2")
		after(t, ev, "a", 2, "")
		after(t, ev, "a", 1<<40, "")
		after(t, ev, "b", 0, "")
		if _, err := ev.after("c", 0); !errors.Is(err, mcp.ErrEventsPurged) {
			t.Errorf("a stream that never was: %v", err)
		}
	})
	t.Run("the oldest answers go first", func(t *testing.T) {
		ev := &events{limit: 10 * (1000 + 2*eventWeight)}
		for i := range 100 {
			id := fmt.Sprint("s", i)
			ev.append(id, nil)
			ev.append(id, bytes.Repeat([]byte{'x'}, 1000))
			if ev.size > ev.limit {
				t.Fatalf("%d bytes are kept", ev.size)
			}
		}
		if len(ev.answers) != 10 || len(ev.order) != 10 {
			t.Errorf("%d streams, %d in order", len(ev.answers), len(ev.order))
		}
		after(t, ev, "s99", 0, strings.Repeat("x", 1000))
		if _, err := ev.after("s89", 0); !errors.Is(err, mcp.ErrEventsPurged) {
			t.Errorf("%v", err)
		}
	})
	t.Run("one that is larger than all stays", func(t *testing.T) {
		ev := &events{limit: 100}
		ev.append("small", []byte("x"))
		ev.append("large", bytes.Repeat([]byte{'y'}, 1000))
		ev.append("large", []byte("z"))
		if got, err := ev.after("large", 0); err != nil || joined(got) != "z" {
			t.Errorf("%q %v", joined(got), err)
		}
		if len(ev.answers) != 1 || ev.size != ev.answers["large"].weight || ev.size > 1000 {
			t.Errorf("%d streams, %d bytes", len(ev.answers), ev.size)
		}
		ev.append("next", []byte("x"))
		if len(ev.answers) != 1 || ev.answers["next"] == nil {
			t.Errorf("%d streams", len(ev.answers))
		}
		if want := ev.answers["next"].weight; ev.size != want {
			t.Errorf("size %d, want %d", ev.size, want)
		}
	})
	t.Run("a stream that grows without end", func(t *testing.T) {
		ev := &events{limit: 100 * (1000 + eventWeight)}
		note := []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"` + strings.Repeat("x", 900) + `"}}`)
		answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		ev.append("a", nil)
		for range 10_000 {
			ev.append("a", note)
			if ev.size > ev.limit {
				t.Fatalf("%d bytes are kept", ev.size)
			}
		}
		ev.append("a", answer)
		// What was dropped was progress: the rest is numbered on from where the client was.
		got, err := ev.after("a", 5)
		if err != nil || len(got) < 90 || string(got[len(got)-1]) != string(answer) {
			t.Fatalf("%d events, %v", len(got), err)
		}
		after(t, ev, "a", 5+len(got)-1, string(answer))
		after(t, ev, "a", 5+len(got), "")
		for range 200 { // of a batch, whose first answer is gone now
			ev.append("a", note)
		}
		if _, err := ev.after("a", 5); !errors.Is(err, mcp.ErrEventsPurged) {
			t.Errorf("an answer was dropped: %v", err)
		}
		if total := ev.answers["a"].weight; ev.size != total || total > ev.limit {
			t.Errorf("%d bytes are kept, of %d", ev.size, ev.limit)
		}
	})
	t.Run("an old stream that grows", func(t *testing.T) {
		ev := &events{limit: 2 * (1000 + 2*eventWeight)}
		big := bytes.Repeat([]byte{'x'}, 1000)
		ev.append("old", nil)
		for i := range 5 {
			ev.append(fmt.Sprint(i), big)
		}
		if ev.answers["old"] != nil {
			t.Fatal("it was kept before all others")
		}
		ev.append("old", big) // what was dropped begins anew, and is then the newest
		if _, err := ev.after("old", 0); err != nil {
			t.Error(err)
		}
		ev.append("other", nil)
		ev.append("old", big) // grows while it is not the newest
		total := 0
		for _, s := range ev.answers {
			total += s.weight
		}
		if ev.answers["old"] == nil || ev.size != total || len(ev.order) != len(ev.answers) {
			t.Errorf("size %d of %d, %d of %d in order", ev.size, total, len(ev.order), len(ev.answers))
		}
	})
	t.Run("standing stream", func(t *testing.T) {
		ev := &events{limit: 1 << 20}
		for i := range 5 {
			ev.append("", []byte(fmt.Sprint(i)))
		}
		after(t, ev, "", 2, "3 4")
		after(t, ev, "", 4, "")
		for i := range 200 {
			ev.append("", []byte(fmt.Sprint(100+i)))
		}
		// The SDK numbers on from where the client was, whatever was dropped.
		got, err := ev.after("", 4)
		if err != nil || len(got) != maxStanding || string(got[maxStanding-1]) != "299" {
			t.Fatalf("%d events, %v", len(got), err)
		}
		after(t, ev, "", 4+maxStanding-1, "299")
		ev.append("", []byte("new"))
		after(t, ev, "", 4+maxStanding, "new")
	})
	t.Run("numbers that no event had", func(t *testing.T) {
		ev := &events{limit: 1 << 20}
		for range 3 * maxStanding {
			ev.append("", []byte("x"))
		}
		for _, index := range []int{math.MaxInt, 0, math.MaxInt - 1, math.MaxInt / 2, 5, -1, math.MaxInt, -1} {
			if _, err := ev.after("", index); (err != nil) != (index > math.MaxInt/2) {
				t.Errorf("%d: %v", index, err)
			}
			for range maxStanding {
				ev.append("", []byte("y"))
			}
		}
	})
	t.Run("standing stream begun anew", func(t *testing.T) {
		ev := &events{limit: 1 << 20}
		for range 10 {
			ev.append("", []byte("changed"))
		}
		ev.append("", []byte("other"))
		ev.append("", []byte("changed"))
		after(t, ev, "", -1, "changed other changed")
		ev.append("", []byte("last"))
		after(t, ev, "", 2, "last") // numbered as the SDK numbers
		after(t, ev, "", -1, "changed other changed last")
	})
	t.Run("standing stream within its bytes", func(t *testing.T) {
		ev := &events{limit: 1000}
		for range 10 {
			ev.append("", bytes.Repeat([]byte{'x'}, 400))
		}
		if len(ev.standing.list) != 2 || ev.standing.weight != 800 {
			t.Errorf("%d events, %d bytes", len(ev.standing.list), ev.standing.weight)
		}
		ev.append("", bytes.Repeat([]byte{'x'}, 4000))
		if len(ev.standing.list) != 1 {
			t.Errorf("%d events", len(ev.standing.list))
		}
	})
}
