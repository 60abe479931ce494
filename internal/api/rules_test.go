package api

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The rules find what is wrong in a small module that breaks all of them.
func TestRules(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("testdata", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := load(dir, "example.test/sample")
	if err != nil {
		t.Fatal(err)
	}
	all := m.surface()
	keys := func(which func(identifier) bool) []string {
		var out []string
		for _, id := range all {
			if which(id) {
				out = append(out, id.key)
			}
		}
		return out
	}

	t.Run("surface", func(t *testing.T) {
		var got []string
		for _, id := range all {
			got = append(got, id.line())
		}
		same(t, got, []string{
			"other.Used  func()",
			"thing.Alias  type = time.Duration",
			"thing.BadConst  const untyped int = 8",
			"thing.BadEmbeds  type struct, with unexported fields",
			"thing.BadParam  func(func(unexported))",
			"thing.BadResult  func() map[string]*hidden.T",
			"thing.Base  type struct",
			"thing.Base.Depth  field int",
			"thing.Error  type struct",
			"thing.Error.Error()  (*Error) func() string",
			"thing.Getter  type interface",
			"thing.Getter.Get()  method func() *Options",
			"thing.GetterFunc  type func() *Options",
			"thing.GetterFunc.Get()  (GetterFunc) func() *Options",
			"thing.Kind  type string",
			"thing.List  type[T any] struct",
			"thing.List.Add()  (*List[T]) func(item T)",
			"thing.List.Base  embedded Base",
			"thing.List.Items  field []T",
			"thing.List.String()  (List[T]) func() string",
			"thing.New  func() *Options",
			"thing.One  const Kind = \"one\"",
			"thing.Options  type struct, with unexported fields",
			"thing.Options.BadField  field int",
			"thing.Options.High  field int `json:\"high,omitempty\"`",
			"thing.Options.Kind  field Kind",
			"thing.Options.Low  field int `json:\"low\"`",
			"thing.Options.Note  field string",
			"thing.Options.Size  field int",
			"thing.Rare  func()",
			"thing.Store  type interface",
			"thing.Store.BadGet()  method func(name string) (time.Time, bool)",
			"thing.Store.Put()  method func(ctx context.Context, name string) error",
			"thing.Two  const Kind = \"two\"",
			"thing.Unused  func()",
			"thing.Wide  type interface, with Store, with fmt.Stringer",
		})
	})

	t.Run("documented", func(t *testing.T) {
		same(t, keys(func(id identifier) bool { return !id.documented }), []string{
			"thing.BadConst", "thing.Error.Error()", "thing.Options.BadField", "thing.Store.BadGet()",
		})
		contain(t, m.undocumented(all), 7,
			"thing.BadConst has no doc comment",
			"other: a package comment stands in other.go",
			"other: there is no doc.go",
			"other: no Example function is run",
		)
	})

	t.Run("nameable", func(t *testing.T) {
		contain(t, m.unnameable(all), 3,
			"thing.BadEmbeds has exported members by way of unexported, which users cannot name",
			"thing.BadParam needs unexported, which users cannot name",
			"thing.BadResult needs T, which users cannot name",
		)
	})

	t.Run("systems", func(t *testing.T) {
		got, err := m.differing()
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, []string{
			"thing: BadSystem is declared in thing_windows.go, which only some systems build",
			"thing: BadMethod is declared in thing_windows.go, which only some systems build",
		})
	})

	t.Run("links", func(t *testing.T) {
		contain(t, m.brokenLinks(), 5, "[Nowhere] leads nowhere", "[Options.Nothing] leads nowhere",
			"[hidden.Gone] leads nowhere", "[List]s is no link: a letter follows it", "[unknown.Thing] leads nowhere")
	})

	u, err := m.used()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("used", func(t *testing.T) {
		same(t, keys(func(id identifier) bool { return u.named[id.obj] }), []string{
			"other.Used", "thing.Base.Depth", "thing.List", "thing.List.Add()", "thing.List.Base", "thing.New",
			"thing.Options", "thing.Options.Low", "thing.Two",
		})
		same(t, keys(func(id identifier) bool { return u.met[id.obj] && !u.named[id.obj] }), []string{
			"thing.Kind", "thing.Store", "thing.Store.BadGet()", "thing.Store.Put()",
		})
	})

	t.Run("needed", func(t *testing.T) {
		needs, err := readNeeds(fstest.MapFS{"some.txt": {Data: []byte(strings.Join([]string{
			"# A comment.",
			"",
			"thing.Rare   Someone needs it.",
			"thing.Ba*  The bad ones and the base.",
			"thing.Options.*  Fields that hosts set.",
			"thing.Kind  Tolerated: an example has a value of it, but does not name it.",
			"thing.Add  It went away.",
			"thing.Gone*  All went away.",
			"thing.List.Add()  An example uses it.",
			"thing.List.String()  It goes without saying.",
			"thing.GetterFunc.*  It goes without saying.",
		}, "\r\n"))}})
		if err != nil {
			t.Fatal(err)
		}
		var missing, useless []string
		for _, fault := range m.judgeNeeds(all, u, needs) {
			if before, _, ok := strings.Cut(fault, " is used by no example"); ok {
				missing = append(missing, before[strings.LastIndex(before, " ")+1:])
			} else {
				useless = append(useless, fault)
			}
		}
		same(t, missing, []string{
			"thing.Alias", "thing.Error", "thing.Getter", "thing.GetterFunc", "thing.List.Items", "thing.One", "thing.Unused", "thing.Wide",
		})
		same(t, useless, []string{
			"some.txt:7: thing.Add is not in the API",
			"some.txt:8: thing.Gone* is not in the API",
			"some.txt:9: thing.List.Add() needs no need: an example uses it, or it goes without saying",
			"some.txt:10: thing.List.String() needs no need: an example uses it, or it goes without saying",
			"some.txt:11: thing.GetterFunc.* needs no need: an example uses it, or it goes without saying",
		})
	})
}

func TestNeedLines(t *testing.T) {
	for _, line := range []string{
		"thing.Rare", "thing.Rare One blank.", "thing.Rare  ", "  thing.Rare  Indented.",
	} {
		if _, err := readNeeds(fstest.MapFS{"a.txt": {Data: []byte("# a\n" + line + "\n")}}); err == nil || !strings.HasPrefix(err.Error(), "a.txt:2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestChanges(t *testing.T) {
	same(t, changes([]string{"a", "b", "d"}, []string{"b", "c", "d", "e"}), []string{"- a", "+ c", "+ e"})
	same(t, changes([]string{"a", "b"}, []string{"a", "b"}), nil)
	same(t, changes([]string{"a", "b"}, nil), []string{"- a", "- b"})
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// contain holds that a list of n faults has the ones that end so.
func contain(t *testing.T, got []string, n int, want ...string) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%d faults, want %d:\n  %s", len(got), n, strings.Join(got, "\n  "))
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasSuffix(g, w) }) {
			t.Errorf("no fault %q in\n  %s", w, strings.Join(got, "\n  "))
		}
	}
}
