package safelog_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/internal/safelog"
)

// bad is a log handler one of whose methods panics.
type bad string

func (b bad) Enabled(context.Context, slog.Level) bool  { b.do("Enabled"); return true }
func (b bad) Handle(context.Context, slog.Record) error { b.do("Handle"); return nil }
func (b bad) WithAttrs([]slog.Attr) slog.Handler        { b.do("WithAttrs"); return b }
func (b bad) WithGroup(string) slog.Handler             { b.do("WithGroup"); return b }

func (b bad) do(method string) {
	if method == string(b) {
		panic("no disk")
	}
}

// TestNew: no method of a handler that panics reaches whoever logs. [Q1]
func TestNew(t *testing.T) {
	for _, method := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		t.Run(method, func(t *testing.T) {
			l := safelog.New(slog.New(bad(method)))
			l.Info("a")
			l.With("b", 1).WithGroup("c").With("d", 2).Error("e")
		})
	}
	t.Run("good", func(t *testing.T) { // [Q3]
		var b bytes.Buffer
		safelog.New(slog.New(slog.NewTextHandler(&b, nil))).With("a", 1).Info("hello")
		if !strings.Contains(b.String(), "msg=hello a=1") {
			t.Errorf("%q", b.String())
		}
		safelog.New(nil).Error("hello")
	})
}
