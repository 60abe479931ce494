package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
)

// TestStory: what the program says is the same each time, and is what its user
// should read. [K4] [K5] [K7]
func TestStory(t *testing.T) {
	want, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	for range 3 {
		var out bytes.Buffer
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("got\n%s\nwant\n%s", out.Bytes(), want)
		}
	}
}

// TestStoryInterrupted: the program ends with its context, and with its output.
func TestStoryInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, new(bytes.Buffer)); err == nil {
		t.Error("it did its work without a context")
	}
	full := errors.New("full")
	if err := run(t.Context(), failing{full}); !errors.Is(err, full) {
		t.Errorf("the output fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
