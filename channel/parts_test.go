package channel_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/channel"
)

func offered(p channel.Parts) string {
	var s strings.Builder
	for _, part := range []struct {
		name    string
		offered bool
	}{
		{"a", p.Asker != nil}, {"s", p.Summarizer != nil}, {"w", p.Spawner != nil}, {"r", p.Recorder != nil},
	} {
		if part.offered {
			s.WriteString(part.name)
		}
	}
	return s.String()
}

// [H1] A host that implements fewer offers fewer.
func TestOf(t *testing.T) {
	b := channel.NewBuffered(new(channel.MemoryStore))
	live := channel.NewLive(channel.LiveOptions{})
	for _, tt := range []struct {
		host any
		want string
	}{
		{nil, ""},
		{"a string", ""},
		{b, "aswr"},
		{channel.AgentChannel(b), "aswr"},
		{live, "a"},
		{new(channel.MemoryStore), ""}, // a store is no channel
		{struct{ channel.Summarizer }{b}, "s"},
		{struct{ channel.Spawner }{b}, "w"},
		{&struct {
			channel.Asker
			channel.Recorder
		}{live, b}, "ar"},
		{channel.Parts{}, ""},
		{channel.Parts{Asker: live, Spawner: b}, "aw"},
		{&channel.Parts{Asker: live, Spawner: b}, "aw"},
		{(*channel.Parts)(nil), ""},
	} {
		if got := offered(channel.Of(tt.host)); got != tt.want {
			t.Errorf("Of(%T) offers %q, want %q", tt.host, got, tt.want)
		}
	}
	if p := channel.Of(channel.Parts{Asker: live}); p.Asker != channel.Asker(live) {
		t.Error("Of changed the parts")
	}
	// What carries the parts cannot itself pass for a channel.
	if _, ok := any(channel.Parts{}).(channel.Asker); ok {
		t.Error("Parts is an Asker")
	}
}

// [H1] [H5] No decorator adds a part that is not there, for all 16 choices.
func TestDecoratorsOfferNoMore(t *testing.T) {
	b := channel.NewBuffered(new(channel.MemoryStore))
	seen := map[string]bool{}
	for bits := range 16 {
		var p channel.Parts
		if bits&1 != 0 {
			p.Asker = b
		}
		if bits&2 != 0 {
			p.Summarizer = b
		}
		if bits&4 != 0 {
			p.Spawner = b
		}
		if bits&8 != 0 {
			p.Recorder = b
		}
		want := offered(p)
		seen[want] = true
		limited := channel.Limit(p, channel.Limits{})
		observed := channel.Observe(p, channel.ObserveOptions{})
		both := channel.Observe(limited, channel.ObserveOptions{})
		for _, got := range []channel.Parts{limited, observed, both, channel.Of(both)} {
			if offered(got) != want {
				t.Errorf("of %q, %q is offered", want, offered(got))
			}
		}
	}
	if len(seen) != 16 {
		t.Fatalf("%d choices were tried", len(seen))
	}
}

// [H1] The package knows no protocol: it imports the standard library alone.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	noError(t, err)
	count := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		noError(t, err)
		for _, imp := range f.Imports {
			count++
			if first, _, _ := strings.Cut(strings.Trim(imp.Path.Value, `"`), "/"); strings.Contains(first, ".") || first == "net" {
				t.Errorf("%s imports %s", file, imp.Path.Value)
			}
		}
	}
	if count == 0 {
		t.Fatal("no import was looked at")
	}
}
