package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
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
		if err := tell(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("got\n%s\nwant\n%s", out.Bytes(), want)
		}
	}
}

// TestUsage: the program takes nothing, and says so.
func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		arg    string
		status int
	}{{"-h", statusOK}, {"-x", statusFailed}, {"extra", statusFailed}} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{tt.arg}, &stdout, &stderr); status != tt.status || stdout.Len() > 0 || !strings.Contains(stderr.String(), "usage: catalog") {
			t.Errorf("%s: status %d, %q, %q", tt.arg, status, &stdout, &stderr)
		}
	}
}

// TestStoryInterrupted: the program ends with its context, and with its output.
func TestStoryInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tell(ctx, new(bytes.Buffer)); err == nil {
		t.Error("it did its work without a context")
	}
	full := errors.New("full")
	if err := tell(t.Context(), failing{full}); !errors.Is(err, full) {
		t.Errorf("the output fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
