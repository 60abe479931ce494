package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// source makes a source in memory with skills of those names.
func source(t testing.TB, kind skills.Kind, name, version string, names ...string) skills.Source {
	t.Helper()
	files := fstest.MapFS{}
	for _, n := range names {
		files[n+"/SKILL.md"] = &fstest.MapFile{Data: []byte(skillMD(n))}
	}
	root, err := paths.New(files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := skills.Load(context.Background(), root, ".", skills.Options{})
	if err != nil || len(l.Skills) != len(names) {
		t.Fatal(l, err)
	}
	return skills.Source{Origin: skills.Origin{Kind: kind, Package: name, Version: version}, Skills: l.Skills}
}

func newSet(t testing.TB, opts skills.SetOptions, sources ...skills.Source) *skills.Set {
	t.Helper()
	set, err := skills.NewSet(opts, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func entriesOf(set *skills.Set) string {
	var out []string
	for _, e := range set.Entries() {
		out = append(out, e.Name()+"@"+e.Origin.Package)
	}
	return strings.Join(out, " ")
}

func shadowed(set *skills.Set) string {
	var out []string
	for _, s := range set.Shadowed() {
		out = append(out, s.Name()+"@"+s.Origin.Package+"<"+s.By.Origin.Package)
	}
	return strings.Join(out, " ")
}

func TestSetPrecedence(t *testing.T) {
	p1 := source(t, skills.KindPackage, "p1", "1.0", "a", "b", "c")
	p2 := source(t, skills.KindPackage, "p2", "", "a", "d")
	user := source(t, skills.KindDirectory, "user", "", "b", "e")
	project := source(t, skills.KindDirectory, "project", "", "b", "z")
	own := source(t, skills.KindEmbedded, "own", "7", "c", "e")
	not := func(drop ...string) skills.SetOptions {
		return skills.SetOptions{Filter: func(e skills.Entry) bool { return !slices.Contains(drop, e.Name()+"@"+e.Origin.Package) }}
	}
	for name, tt := range map[string]struct {
		opts           skills.SetOptions
		sources        []skills.Source
		want, shadowed string
	}{
		"nothing":                 {skills.SetOptions{}, nil, "", ""},
		"one source":              {skills.SetOptions{}, []skills.Source{p1}, "a@p1 b@p1 c@p1", ""},
		"packages in their order": {skills.SetOptions{}, []skills.Source{p1, p2}, "a@p1 b@p1 c@p1 d@p2", "a@p2<p1"},
		"the other order":         {skills.SetOptions{}, []skills.Source{p2, p1}, "a@p2 b@p1 c@p1 d@p2", "a@p1<p2"},
		"a package comes last, wherever it stands": {skills.SetOptions{}, []skills.Source{p1, p2, user, own, project},
			"a@p1 b@user c@own d@p2 e@user z@project", "a@p2<p1 b@project<user b@p1<user c@p1<own e@own<user"},
		"directories and embedded in the order given": {skills.SetOptions{}, []skills.Source{own, project, user, p1},
			"a@p1 b@project c@own e@own z@project", "b@user<project b@p1<project c@p1<own e@user<own"},
		"what is filtered out shadows nothing": {not("b@user", "a@p1", "z@project"), []skills.Source{p1, p2, user, own, project},
			"a@p2 b@project c@own d@p2 e@user", "b@p1<project c@p1<own e@own<user"},
		"all filtered out": {skills.SetOptions{Filter: func(skills.Entry) bool { return false }}, []skills.Source{p1, own}, "", ""},
		"a source twice":   {skills.SetOptions{}, []skills.Source{p2, p2}, "a@p2 d@p2", "a@p2<p2 d@p2<p2"},
		"no skills":        {skills.SetOptions{}, []skills.Source{{}, {Skills: []*skills.Skill{nil}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := newSet(t, tt.opts, tt.sources...)
			if got := entriesOf(set); got != tt.want {
				t.Errorf("offered %q, want %q", got, tt.want)
			}
			if got := shadowed(set); got != tt.shadowed {
				t.Errorf("shadowed %q, want %q", got, tt.shadowed)
			}
			if !reflect.DeepEqual(set, newSet(t, tt.opts, tt.sources...)) {
				t.Error("another set of the same sources differs")
			}
			if len(set.Findings()) != len(set.Shadowed()) || len(set.Offers()) != len(set.Entries()) {
				t.Errorf("%d findings, %d offers", len(set.Findings()), len(set.Offers()))
			}
			for i, f := range set.Findings() {
				one := set.Shadowed()[i]
				if f.Code != finding.SkillShadowed || f.Layer != finding.LayerPolicy || f.Severity != finding.SeverityWarning || f.Subject != one.Skill.Directory() || f.File != one.Skill.Location() {
					t.Errorf("finding %+v", f)
				}
				for _, part := range []string{`"` + one.Name() + `" of ` + one.Origin.String(), one.By.Origin.String() + " has one"} {
					if !strings.Contains(f.Message, part) {
						t.Errorf("message %q lacks %q", f.Message, part)
					}
				}
			}
			for i, e := range set.Entries() {
				if got, ok := set.Lookup(e.Name()); !ok || got != e || set.Offers()[i].Skill != e.Skill {
					t.Errorf("Lookup(%q) = %v, %v", e.Name(), got, ok)
				}
			}
			if e, ok := set.Lookup("no-such"); ok || e != (skills.Entry{}) {
				t.Errorf("Lookup of what is not there: %v", e)
			}
		})
	}
}

func TestSetIsImmutable(t *testing.T) {
	p := source(t, skills.KindPackage, "p", "", "a", "b")
	set := newSet(t, skills.SetOptions{}, p, p)
	p.Skills[0] = nil
	set.Entries()[0] = skills.Entry{}
	set.Entries()[0] = skills.Entry{}
	set.Shadowed()[0] = skills.Shadow{}
	set.Findings()[0] = finding.Finding{}
	if entriesOf(set) != "a@p b@p" || shadowed(set) != "a@p<p b@p<p" || set.Findings()[0].Code != finding.SkillShadowed || set.Entries()[0].Skill == nil {
		t.Error("a caller changed the set")
	}
}

func TestUnknownKind(t *testing.T) {
	if set, err := skills.NewSet(skills.SetOptions{}, skills.Source{Origin: skills.Origin{Kind: 3}}); err == nil || set != nil {
		t.Errorf("%v, %v", set, err)
	}
	for kind, want := range map[skills.Kind]string{skills.KindPackage: "package", skills.KindDirectory: "directory", skills.KindEmbedded: "embedded", 3: "kind 3"} {
		if kind.String() != want {
			t.Errorf("%d: %q", kind, kind)
		}
		text, err := kind.MarshalText()
		if (err == nil) != (kind < 3) {
			t.Errorf("%v: %q, %v", kind, text, err)
		}
	}
	var kind skills.Kind
	if err := kind.UnmarshalText([]byte("kind 3")); err == nil {
		t.Error("an unknown kind was read")
	}
	o := skills.Origin{Package: "a\x1b\u202e", Version: "\x1b[2J"}
	if got := o.String(); got != `the package "a\x1b\u202e" \x1b[2J` {
		t.Errorf("%q", got)
	}
}

// A reload is told from what was there before, by content.
func TestSnapshotCompare(t *testing.T) {
	at := dir(t, map[string]string{
		"skills/a/SKILL.md": skillMD("a"), "skills/b/SKILL.md": skillMD("b"), "skills/c/SKILL.md": skillMD("c"), "skills/c/x": "1", "skills/d/SKILL.md": skillMD("d"),
	})
	snapshot := func(origin skills.Origin) skills.Snapshot {
		t.Helper()
		set := newSet(t, skills.SetOptions{}, skills.Source{Origin: origin, Skills: load(t, open(t, at), skills.Options{}).Skills})
		snap, err := set.Snapshot(context.Background(), skills.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	names := func(c skills.Changes) string {
		var out []string
		for _, s := range c.Added {
			out = append(out, "+"+s.Name)
		}
		for _, s := range c.Removed {
			out = append(out, "-"+s.Name)
		}
		for _, ch := range c.Changed {
			if ch.Old.Name != ch.New.Name {
				t.Errorf("%+v", ch)
			}
			out = append(out, "~"+ch.New.Name)
		}
		return strings.Join(out, " ")
	}
	origin := skills.Origin{Kind: skills.KindDirectory, Package: ".agents/skills"}
	before := snapshot(origin)
	if again := snapshot(origin); !again.Compare(before).Empty() || !reflect.DeepEqual(again, before) {
		t.Errorf("nothing changed, but %v", again.Compare(before))
	}
	// It survives JSON.
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var kept skills.Snapshot
	if err := json.Unmarshal(text, &kept); err != nil || !reflect.DeepEqual(kept, before) {
		t.Errorf("%s became %+v, %v", text, kept, err)
	}
	if !strings.Contains(string(text), `{"name":"a","origin":{"kind":"directory","package":".agents/skills"},"digest":"sha256:`) {
		t.Errorf("JSON %s", text)
	}

	fill(t, at, map[string]string{"skills/c/x": "2", "skills/e/SKILL.md": skillMD("e")})
	for _, gone := range []string{"b", "d/SKILL.md"} {
		if err := os.RemoveAll(filepath.Join(at, "skills", filepath.FromSlash(gone))); err != nil {
			t.Fatal(err)
		}
	}
	after := snapshot(origin)
	if got := names(after.Compare(kept)); got != "+e -b -d ~c" {
		t.Errorf("changes %q", got)
	}
	if got := names(kept.Compare(after)); got != "+b +d -e ~c" {
		t.Errorf("changes back %q", got)
	}
	newer := origin
	newer.Version = "2"
	if got := names(snapshot(newer).Compare(after)); got != "" {
		t.Errorf("another version of the same: %q", got)
	}
	if got := names(snapshot(skills.Origin{Package: ".agents/skills"}).Compare(after)); got != "~a ~c ~e" {
		t.Errorf("another kind of source: %q", got)
	}
	if got := names(skills.Snapshot{}.Compare(after)); got != "-a -c -e" {
		t.Errorf("nothing left: %q", got)
	}

	// What cannot be read whole is never taken for unchanged.
	set := newSet(t, skills.SetOptions{}, skills.Source{Origin: origin, Skills: load(t, open(t, at), skills.Options{}).Skills})
	cut, err := set.Snapshot(context.Background(), skills.Bounds{Files: 1})
	if err != nil || cut.Skills[1].Digest != "" || cut.Skills[0].Digest == "" {
		t.Fatalf("%+v, %v", cut, err)
	}
	if got := names(cut.Compare(cut)); got != "~c" {
		t.Errorf("cut: %q", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if snap, err := set.Snapshot(ctx, skills.Bounds{}); !errors.Is(err, context.Canceled) || len(snap.Skills) > 0 {
		t.Errorf("%v, %v", snap, err)
	}
	var zero skills.Set
	if snap, err := zero.Snapshot(context.Background(), skills.Bounds{}); err != nil || len(snap.Skills) > 0 || zero.Entries() != nil {
		t.Errorf("the zero set: %v, %v", snap, err)
	}
}
