package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTooManyValues(t *testing.T) { // [R9]
	for _, tt := range []struct {
		text string
		n    int
	}{
		{``, 0},
		{`{"a": 1}`, 1},
		{`{"a": [1, 2, {"b": null}]}`, 5},
		{`{"a,[{": "],\"{,\\", "b": "\\"}`, 2},
		{`not, JSON "at all, [`, 1},
	} {
		var whole, pieces valueCounter
		for _, b := range []byte(tt.text) {
			pieces.add([]byte{b})
		}
		if n := whole.add([]byte(tt.text)); n != tt.n || pieces.n != tt.n {
			t.Errorf("%q has %d values, in pieces %d; want %d", tt.text, n, pieces.n, tt.n)
		}
	}
	if text := []byte("[" + strings.Repeat(`0,`, 99) + "0]"); tooManyValues(text, 100) || !tooManyValues(text, 99) {
		t.Error("the bound is not where it is said to be")
	}
}

// TestEventPace: a stream of many small events is slowed down and comes whole.
func TestEventPace(t *testing.T) { // [R9]
	event := "data: {}\n\n\r\n\n"
	const events = notifyBurst + 100
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	read := func(ctx context.Context, text string) (int, time.Duration) {
		r := &eventReader{r: strings.NewReader(text), ctx: ctx, max: 1 << 10, maxValues: 10}
		began := time.Now()
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		return b.Len(), time.Since(began)
	}
	text := strings.Repeat(event, events)
	if n, took := read(ctx, text); n != len(text) || took < 90*time.Millisecond {
		t.Errorf("%d bytes of %d after %v", n, len(text), took)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r := &eventReader{r: strings.NewReader(text), ctx: ended, max: 1 << 10, maxValues: 10}
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes of a request that has ended, error %v", n, err)
	}

	over := errors.New("over")
	r = &eventReader{r: strings.NewReader("data: [[[\n\ndata: [[[,\n\n"), ctx: ctx, max: 1 << 10, maxValues: 3, overValues: over}
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != over {
		t.Errorf("error %v", err)
	}
	if _, err := r.Read(make([]byte, 1)); err != over {
		t.Errorf("the next error %v", err)
	}
}
