package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// TestSchemaSurvivesJSON: what was declared can be read from a snapshot's JSON,
// whatever characters and numbers its schemas hold, and is the same. [K3]
func TestSchemaSurvivesJSON(t *testing.T) {
	for name, schema := range map[string]string{
		"characters that Go escapes": `{"type":"object","description":"` + strings.Repeat("<&>", 20_000) + strings.Repeat("\u2028", 500) + `"}`,
		"numbers in short form":      `{"type":"object","x-numbers":[` + strings.Repeat("1e20,", 2_500) + `1]}`,
		"close to the limit":         `{"type":"object","description":"` + strings.Repeat("x", catalog.MaxSchema-40) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := catalog.New(catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Declare("p", catalog.Tool{Name: "a", Description: "A.", InputSchema: json.RawMessage(schema), Surfaces: []string{"chat"}}); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(c.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			var read catalog.Snapshot
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			if !read.Entries()[0].Equal(c.Snapshot().Entries()[0]) {
				t.Error("it is another tool")
			}
		})
	}
	t.Run("too large in the form that is kept", func(t *testing.T) {
		c, err := catalog.New(catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Declare("p", catalog.Tool{Name: "a", Description: "A.", Surfaces: []string{"chat"},
			InputSchema: json.RawMessage(`{"type":"object","x-numbers":[` + strings.Repeat("1e20,", 12_000) + `1]}`)})
		if !errors.Is(err, catalog.ErrDeclaration) {
			t.Error(err)
		}
	})
}

// TestArgumentsAreObjects: arguments that are no object do not fit, also where the
// draft of the schema ignores the type beside a reference. [K1] [K5]
func TestArgumentsAreObjects(t *testing.T) {
	c, err := catalog.New(catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	schema := json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","$ref":"#/definitions/any","definitions":{"any":{}}}`)
	if err := c.Declare("p", catalog.Tool{Name: "a", Description: "A.", Surfaces: []string{"chat"}, InputSchema: schema, OutputSchema: schema}); err != nil {
		t.Fatal(err)
	}
	e, _ := c.Snapshot().Lookup("plugin_p_a")
	for _, arguments := range []string{`[]`, `"x"`, `1`, `null`, `[{}]`} {
		if err := e.CheckInput(json.RawMessage(arguments)); err == nil || !strings.Contains(err.Error(), "has to be an object") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if err := e.CheckInput(json.RawMessage(`{"x":1}`)); err != nil {
		t.Error(err)
	}
	if err := e.CheckOutput([]any{}); err == nil {
		t.Error("an array is taken for structured content")
	}
}

// TestNullSnapshot: JSON's null is no snapshot and changes none. [K3]
func TestNullSnapshot(t *testing.T) {
	var c catalog.Catalog
	text, err := json.Marshal(c.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var s catalog.Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if err := s.UnmarshalJSON([]byte("null")); err != nil || s.Revision() != 1 {
		t.Errorf("%v, revision %d", err, s.Revision())
	}
}

// brittleHandler is a log handler that panics.
type brittleHandler struct{}

func (brittleHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (brittleHandler) Handle(context.Context, slog.Record) error { panic("no disk") }
func (h brittleHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h brittleHandler) WithGroup(string) slog.Handler           { return h }

// TestRefresherBadPlugIns: a target that fails, panics or ends its goroutine, and a
// logger that panics, stop neither the refresher nor the process: the next signal
// tries again. [K6] [Q1]
func TestRefresherBadPlugIns(t *testing.T) {
	for name, fail := range map[string]func() error{
		"fails":               func() error { return errors.New("no") },
		"panics":              func() error { panic("no") },
		"panics with nothing": func() error { panic(nil) },
		"ends its goroutine":  func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := catalog.New(catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := catalog.NewRefresher(c, catalog.RefresherOptions{Logger: slog.New(brittleHandler{})})
			bad := true
			pushed := 0
			if err := r.Add("a", catalog.TargetFunc(func(context.Context, *catalog.Snapshot) error {
				if pushed++; bad {
					return fail()
				}
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			failed, err := r.Flush(ctx)
			if err != nil || failed["a"] == nil {
				t.Fatalf("%v, %v", failed, err)
			}
			bad = false
			if failed, err := r.Flush(ctx); err != nil || len(failed) != 0 {
				t.Errorf("%v, %v", failed, err)
			}
			if err := r.Close(ctx); err != nil {
				t.Error(err)
			}
			if _, err := r.Flush(ctx); !errors.Is(err, catalog.ErrClosed) {
				t.Errorf("flushed after the end: %v", err)
			}
		})
	}
}
