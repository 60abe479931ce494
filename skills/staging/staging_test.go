package staging_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
	"github.com/plugberth/plugberth/skills/staging"
)

func TestStageCopies(t *testing.T) { // [P6]
	root := source(t, map[string]string{
		"references/rules.md":     "Be kind.\n",
		"references/sub/run.sh":   "x:#!/bin/sh\n",
		"references/.hidden":      "h",
		"references/.git/config":  "[core]",
		"assets/logo.png":         "\x89PNG",
		"scripts/run.sh":          "x:#!/bin/sh\n",
		"scripts/.env":            "e",
		"scripts/lib/util.py":     "def f(): pass\n",
		"forms.md":                "Forms.\n",
		"core/module.py":          "def g(): pass\n",
		"core/tool":               "x:text\n",
		"core/guide.md":           "x:Guide.\n",
		"core/shebang":            "#!/usr/bin/env python\n",
		"core/elf":                "\x7fELF\x02",
		"start.BAT":               "@echo off\n",
		".env":                    "SECRET=1",
		".GIT/config":             "[core]",
		".github/workflows/a.yml": "on: push",
		"in.md":                   "-> references/rules.md",
		"linked":                  "-> references/sub",
		"../../shared/text.md":    "Shared.\n",
		"assets/shared":           "-> ../../../shared",
		"empty/":                  "",
	}, "review")
	item := items(t, root)[0]
	target := staging.Target{Workspace: t.TempDir(), Dir: ".agents/skills"}
	plain := map[string]string{
		"SKILL.md":              skillMD("review"),
		"references/rules.md":   "Be kind.\n",
		"references/sub/run.sh": "#!/bin/sh\n",
		"references/.hidden":    "h",
		"assets/logo.png":       "\x89PNG",
		"forms.md":              "Forms.\n",
		"core/module.py":        "def g(): pass\n",
		"core/guide.md":         "Guide.\n",
		"in.md":                 "Be kind.\n",
		"assets/shared/text.md": "Shared.\n",
	}
	if runtime.GOOS == "windows" {
		plain["core/tool"] = "text\n" // nothing there says that it is a program
	}

	r := staged(t, target, item, staging.OutcomeStaged)
	if got := files(t, target, "review"); !maps.Equal(got, plain) {
		t.Errorf("without scripts: %q", differ(plain, got))
	}
	var left []string
	for _, l := range r.LeftOut {
		left = append(left, l.Path+": "+string(l.Reason))
	}
	wantLeft := []string{
		".GIT: it belongs to a version control system", ".env: its name begins with a period", ".github: its name begins with a period",
		"core/elf: scripts are not allowed", "core/shebang: scripts are not allowed", "core/tool: scripts are not allowed",
		"linked/run.sh: scripts are not allowed", "references/.git: it belongs to a version control system",
		"scripts: scripts are not allowed", "start.BAT: scripts are not allowed",
	}
	if runtime.GOOS == "windows" {
		wantLeft = slices.DeleteFunc(wantLeft, func(s string) bool { return strings.HasPrefix(s, "core/tool") })
	}
	if !slices.Equal(left, wantLeft) {
		t.Errorf("left out:\n%s", strings.Join(left, "\n"))
	}
	if r.Files != len(plain) || r.Bytes == 0 {
		t.Errorf("%+v", r)
	}
	executable := func() (names []string) {
		must(t, filepath.WalkDir(target.Workspace, func(p string, d fs.DirEntry, err error) error {
			if info, infoErr := d.Info(); err == nil && infoErr == nil && d.Type().IsRegular() && info.Mode()&0o111 != 0 {
				names = append(names, d.Name())
			}
			return err
		}))
		return names
	}
	if got := executable(); got != nil {
		t.Errorf("executable without leave: %q", got)
	}

	item.Scripts = true
	staged(t, target, item, staging.OutcomeUpdated)
	all := maps.Clone(plain)
	maps.Copy(all, map[string]string{
		"scripts/run.sh": "#!/bin/sh\n", "scripts/.env": "e", "scripts/lib/util.py": "def f(): pass\n", "core/tool": "text\n",
		"core/shebang": "#!/usr/bin/env python\n", "core/elf": "\x7fELF\x02", "start.BAT": "@echo off\n", "linked/run.sh": "#!/bin/sh\n",
	})
	if got := files(t, target, "review"); !maps.Equal(got, all) {
		t.Errorf("with scripts: %q", differ(all, got))
	}
	if got := executable(); runtime.GOOS != "windows" && !slices.Equal(got, []string{"guide.md", "tool", "run.sh", "run.sh", "run.sh"}) {
		t.Errorf("executable: %q", got)
	}

	item.Scripts = false
	staged(t, target, item, staging.OutcomeUpdated)
	if got := files(t, target, "review"); !maps.Equal(got, plain) || executable() != nil {
		t.Errorf("without scripts again: %q", differ(plain, got))
	}
}

// TestStagedSkillsLoad: what is staged is the same skill to its reader.
func TestStagedSkillsLoad(t *testing.T) {
	root := source(t, map[string]string{"references/rules.md": "Be kind.\n"}, "review", "notes")
	target := staging.Target{Workspace: t.TempDir(), Dir: "skills"}
	all := items(t, root)
	stage(t, target, all...)
	for i, item := range items(t, target.Workspace) {
		was, is := all[i].Skill, item.Skill
		body, err := is.Body()
		must(t, err)
		list, more, err := is.Resources(context.Background(), 10)
		must(t, err)
		before, _, err := was.Resources(context.Background(), 10)
		must(t, err)
		if is.Name() != was.Name() || is.Frontmatter() != was.Frontmatter() || body != "Body of "+is.Name()+".\n" || more || !slices.Equal(list, before) {
			t.Errorf("%s: %q %v", is.Name(), body, list)
		}
	}
}

// TestRound: after a full round the workspace is byte for byte as before.
func TestRound(t *testing.T) {
	for name, entries := range map[string]map[string]string{
		"nothing there": {"README.md": "mine"},
		"parent there":  {".agents/": "", ".agents/AGENTS.md": "mine"},
		"empty target":  {".agents/skills/": ""},
		"other skills":  {".agents/skills/mine/SKILL.md": "mine", ".agents/skills/file": "mine", ".agents/skills/.hidden/x": "x", ".agents/skills/mine/run.sh": "x:#!/bin/sh\n"},
	} {
		t.Run(name, func(t *testing.T) {
			target := staging.Target{Workspace: t.TempDir(), Dir: ".agents/skills"}
			fill(t, target.Workspace, entries)
			before := tree(t, target.Workspace)
			root := source(t, map[string]string{"references/a/b/c.md": "c", "references/old.md": "old", "scripts/run.sh": "x:#!/bin/sh\n"}, "review", "notes", "third")
			all := items(t, root)
			for i := range all {
				all[i].Scripts = true
			}
			for _, r := range stage(t, target, all...) {
				if r.Outcome != staging.OutcomeStaged || r.Err != nil {
					t.Fatalf("%+v", r)
				}
			}

			must(t, os.RemoveAll(filepath.Join(root, "skills", "review", "references")))
			fill(t, root, map[string]string{"skills/review/references": "now a file", "skills/review/assets/new.md": "new", "skills/notes/more.md": "more"})
			want := []staging.Outcome{staging.OutcomeUpdated, staging.OutcomeUpdated, staging.OutcomeUnchanged} // notes, review, third
			for i, r := range stage(t, target, all...) {
				if r.Outcome != want[i] || r.Err != nil || len(r.Kept) > 0 {
					t.Fatalf("%+v", r)
				}
			}
			if got := files(t, target, "review"); len(got) != 4 || got["references"] != "now a file" || got["assets/new.md"] != "new" {
				t.Errorf("%q", got)
			}
			// Nothing of the work is left, and nothing else was touched.
			after := tree(t, target.Workspace)
			for p := range after {
				if strings.Contains(p, "/.new-") || strings.Contains(p, "/.old-") || strings.Contains(p, "tmp") {
					t.Errorf("%s is left", p)
				}
			}
			for p, was := range before {
				if after[p] != was {
					t.Errorf("%s was touched: %q", p, after[p])
				}
			}

			if r := unstage(t, target, "notes", "nothing")[0:]; r[0].Outcome != staging.OutcomeRemoved || r[1].Outcome != staging.OutcomeAbsent {
				t.Errorf("%+v", r)
			}
			for _, r := range unstage(t, target) {
				if r.Outcome != staging.OutcomeRemoved || r.Err != nil || len(r.Kept) > 0 {
					t.Errorf("%+v", r)
				}
			}
			same(t, before, tree(t, target.Workspace))
			if r := unstage(t, target, "review"); len(r) != 1 || r[0].Outcome != staging.OutcomeAbsent {
				t.Errorf("%+v", r)
			}
			same(t, before, tree(t, target.Workspace))
		})
	}
}

func TestStageIsIdempotent(t *testing.T) {
	root := source(t, map[string]string{"references/a.md": "a"}, "review", "notes")
	target := staging.Target{Workspace: t.TempDir(), Dir: ".claude/skills"}
	all := items(t, root)
	stage(t, target, all...)
	times := func() map[string]string {
		out := map[string]string{}
		must(t, filepath.WalkDir(filepath.Join(target.Workspace, ".claude", "skills"), func(p string, d fs.DirEntry, err error) error {
			if d.Name() != ".plugberth" {
				info, infoErr := d.Info()
				must(t, infoErr)
				out[p] = info.ModTime().String()
			}
			return err
		}))
		return out
	}
	before, was := tree(t, target.Workspace), times()
	for _, r := range stage(t, target, all...) {
		if r.Outcome != staging.OutcomeUnchanged || r.Files == 0 || r.Bytes == 0 {
			t.Errorf("%+v", r)
		}
	}
	same(t, before, tree(t, target.Workspace))
	same(t, was, times())
}

func TestStageRepairsWhatIsGone(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	item := items(t, source(t, map[string]string{"references/a.md": "a"}, "review"))[0]
	staged(t, target, item, staging.OutcomeStaged)
	want := tree(t, target.Workspace)
	must(t, os.Remove(filepath.Join(target.Workspace, "s", "review", "references", "a.md")))
	staged(t, target, item, staging.OutcomeUpdated)
	same(t, want, tree(t, target.Workspace))
	must(t, os.RemoveAll(filepath.Join(target.Workspace, "s", "review")))
	staged(t, target, item, staging.OutcomeStaged)
	same(t, want, tree(t, target.Workspace))
	if runtime.GOOS != "windows" {
		must(t, os.Chmod(filepath.Join(target.Workspace, "s", "review", "SKILL.md"), 0o755))
		staged(t, target, item, staging.OutcomeUpdated)
		same(t, want, tree(t, target.Workspace))
	}
}

func TestEditedFilesStay(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	root := source(t, map[string]string{"references/a.md": "a", "references/b.md": "b"}, "review")
	item := items(t, root)[0]
	staged(t, target, item, staging.OutcomeStaged)
	fill(t, target.Workspace, map[string]string{"s/review/references/a.md": "edited", "s/review/notes.md": "added"})
	edited := tree(t, target.Workspace)
	fill(t, root, map[string]string{"skills/review/references/b.md": "b, again"})

	r := staged(t, target, item, staging.OutcomeRefused)
	if !errors.Is(r.Err, staging.ErrModified) || !slices.Equal(r.Kept, []string{"review/references/a.md"}) {
		t.Errorf("%+v", r)
	}
	same(t, edited, tree(t, target.Workspace))

	r = unstage(t, target)[0]
	slices.Sort(r.Kept)
	if r.Outcome != staging.OutcomeRemoved || !slices.Equal(r.Kept, []string{"review/notes.md", "review/references/a.md"}) {
		t.Errorf("%+v", r)
	}
	if got := files(t, target, "."); !maps.Equal(got, map[string]string{"review/references/a.md": "edited", "review/notes.md": "added"}) {
		t.Errorf("%q", got)
	}
	// What is left is the user's now.
	if r := staged(t, target, item, staging.OutcomeRefused); !errors.Is(r.Err, staging.ErrExists) || !slices.Equal(r.Kept, []string{"review"}) {
		t.Errorf("%+v", r)
	}
	if got := files(t, target, "."); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestFilesOfOthersStay(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	root := source(t, map[string]string{"scripts/run.py": "1", "references/gone/a.md": "a"}, "review")
	item := items(t, root)[0]
	item.Scripts = true
	staged(t, target, item, staging.OutcomeStaged)
	others := map[string]string{
		"review/scripts/__pycache__/run.pyc": "cache", "review/scripts/__pycache__/deep/x": "x", "review/references/gone/mine.md": "mine",
		"review/top.md": "top", "review/link": "-> nowhere",
	}
	fill(t, filepath.Join(target.Workspace, "s"), others)
	must(t, os.RemoveAll(filepath.Join(root, "skills", "review", "references")))
	fill(t, root, map[string]string{"skills/review/scripts/run.py": "2"})

	staged(t, target, item, staging.OutcomeUpdated)
	want := map[string]string{"review/SKILL.md": skillMD("review"), "review/scripts/run.py": "2", "review/link": "nowhere"}
	for p, text := range others {
		if !strings.HasPrefix(text, "->") {
			want[p] = text
		}
	}
	got := files(t, target, ".")
	maps.DeleteFunc(got, func(p, _ string) bool { return strings.HasPrefix(p, ".plugberth/") })
	if !maps.Equal(got, want) {
		t.Errorf("%q", differ(want, got))
	}
	st, err := target.Status(context.Background())
	must(t, err)
	if len(st) != 1 || !slices.Equal(st[0].Foreign, []string{"link", "references", "scripts/__pycache__", "top.md"}) || st[0].Changed != nil || st[0].Missing {
		t.Errorf("%+v", st)
	}

	// A new file that would take the place of theirs is not written.
	fill(t, root, map[string]string{"skills/review/TOP.md": "new"})
	before := tree(t, target.Workspace)
	r := staged(t, target, item, staging.OutcomeRefused)
	if !errors.Is(r.Err, staging.ErrModified) || !slices.Equal(r.Kept, []string{"review/top.md"}) {
		t.Errorf("%+v", r)
	}
	same(t, before, tree(t, target.Workspace))

	r = unstage(t, target)[0]
	slices.Sort(r.Kept)
	if !slices.Equal(r.Kept, []string{"review/link", "review/references", "review/scripts/__pycache__", "review/top.md"}) {
		t.Errorf("%+v", r)
	}
	delete(want, "review/SKILL.md")
	delete(want, "review/scripts/run.py")
	if got := files(t, target, "."); !maps.Equal(got, want) {
		t.Errorf("%q", differ(want, got))
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	for name, c := range map[string]struct {
		there map[string]string
		kept  string
	}{
		"a skill":         {map[string]string{"s/review/SKILL.md": "mine"}, "review"},
		"its twin":        {map[string]string{"s/review/SKILL.md": skillMD("review")}, "review"},
		"empty directory": {map[string]string{"s/review/": ""}, "review"},
		"a file":          {map[string]string{"s/review": "mine"}, "review"},
		"a link":          {map[string]string{"elsewhere/x": "mine", "s/review": "-> ../elsewhere"}, "review"},
		"a dangling link": {map[string]string{"s/review": "-> ../elsewhere"}, "review"},
		"letter case":     {map[string]string{"s/Review/SKILL.md": "mine"}, "Review"},
		"wide letters":    {map[string]string{"s/\u017fecond/SKILL.md": "mine"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
			fill(t, target.Workspace, c.there)
			before := tree(t, target.Workspace)
			all := items(t, source(t, nil, "review", "second"))
			results := stage(t, target, all...)
			r := results[0]
			if c.kept == "" {
				r, c.kept = results[1], "\u017fecond"
			}
			if r.Outcome != staging.OutcomeRefused || !errors.Is(r.Err, staging.ErrExists) || !slices.Equal(r.Kept, []string{c.kept}) {
				t.Errorf("%+v", r)
			}
			unstage(t, target)
			same(t, before, tree(t, target.Workspace))
		})
	}
}

// TestRefusedSkills: a skill that cannot be staged as a whole is not, the others
// are, and the workspace holds nothing of it.
func TestRefusedSkills(t *testing.T) { // [P1] [P6]
	long := strings.Repeat("d/", 25)
	for name, c := range map[string]struct {
		entries map[string]string
		limits  staging.Limits
		want    error
		unix    bool
	}{
		"link outside":          {entries: map[string]string{"../../../outside.md": "secret", "references/a.md": "-> ../../../../outside.md"}, want: paths.ErrEscape},
		"link outside in all":   {entries: map[string]string{"../../../outside/x.md": "secret", "assets": "-> ../../../outside"}, want: paths.ErrEscape},
		"absolute link":         {entries: map[string]string{"references/a.md": "-> /etc/hostname"}, want: paths.ErrEscape, unix: true},
		"dangling link":         {entries: map[string]string{"references/a.md": "-> nowhere"}, want: fs.ErrNotExist},
		"loop of links":         {entries: map[string]string{"references/a": "-> b", "references/b": "-> a"}, want: paths.ErrLoop},
		"link back":             {entries: map[string]string{"references/up": "-> .."}, want: paths.ErrLoop},
		"letter case":           {entries: map[string]string{"references/a.md": "1", "references/A.md": "2"}, want: staging.ErrName, unix: true},
		"Unicode form":          {entries: map[string]string{"references/\u00e9.md": "1", "references/e\u0301.md": "2"}, want: staging.ErrName, unix: true},
		"case of a directory":   {entries: map[string]string{"references/a.md": "1", "References/b.md": "2"}, want: staging.ErrName, unix: true},
		"case of SKILL.md":      {entries: map[string]string{"skill.md": "1"}, want: staging.ErrName, unix: true},
		"name that hides":       {entries: map[string]string{"references/a\u202eb.md": "1"}, want: staging.ErrName},
		"name with a line end":  {entries: map[string]string{"references/a\nb.md": "1"}, want: staging.ErrName, unix: true},
		"too many files":        {entries: map[string]string{"a.md": "", "b.md": "", "c.md": ""}, limits: staging.Limits{Files: 3}, want: staging.ErrLimit},
		"too many bytes":        {entries: map[string]string{"a.md": strings.Repeat("x", 100), "b.md": strings.Repeat("x", 100)}, limits: staging.Limits{Bytes: 200}, want: staging.ErrLimit},
		"too deep":              {entries: map[string]string{long + "x.md": ""}, want: staging.ErrLimit},
		"too many entries":      {entries: map[string]string{"a.md": "", "b.md": "", "c.md": "", "scripts/d": ""}, limits: staging.Limits{Entries: 4}, want: staging.ErrLimit},
		"frontmatter has moved": {entries: map[string]string{"SKILL.md": "---\nname: review\ndescription: Another.\n---\n"}, want: staging.ErrSource},
	} {
		t.Run(name, func(t *testing.T) {
			if c.unix && runtime.GOOS != "linux" {
				t.Skip("cannot be made here")
			}
			base := t.TempDir()
			root := filepath.Join(base, "p")
			fill(t, root, map[string]string{"skills/review/SKILL.md": skillMD("review"), "skills/other/SKILL.md": skillMD("other")})
			all := items(t, root)
			for n, text := range c.entries {
				fill(t, root, map[string]string{"skills/review/" + n: text})
			}
			target := staging.Target{Workspace: t.TempDir(), Dir: "s", Limits: c.limits}
			fill(t, target.Workspace, map[string]string{"mine": "mine"})
			before := tree(t, target.Workspace)
			results := stage(t, target, all...)
			if r := results[1]; r.Outcome != staging.OutcomeRefused || !errors.Is(r.Err, c.want) || strings.Contains(fmt.Sprint(r.Err), "\u202e") || strings.Contains(fmt.Sprint(r.Err), base) {
				t.Errorf("%s: %v, want %v", r.Outcome, r.Err, c.want)
			}
			if r := results[0]; r.Outcome != staging.OutcomeStaged {
				t.Errorf("the other: %+v", r)
			}
			if _, err := os.Lstat(filepath.Join(target.Workspace, "s", "review")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("something of it stands there")
			}
			unstage(t, target)
			same(t, before, tree(t, target.Workspace))
		})
	}
}

// TestNothingStaged: a run that stages nothing leaves nothing.
func TestNothingStaged(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "a/b/c"}
	before := tree(t, target.Workspace)
	stage(t, target)
	same(t, before, tree(t, target.Workspace))
	s, _, err := skills.Parse("parsed", []byte(skillMD("parsed")), skills.Options{})
	must(t, err)
	one := items(t, source(t, nil, "review"))[0]
	results := stage(t, staging.Target{Workspace: target.Workspace, Dir: "a/b/c", Limits: staging.Limits{Total: 3}}, staging.Item{}, staging.Item{Skill: &skills.Skill{}},
		staging.Item{Skill: s}, staging.Item{Skill: s, Name: "../x"}, staging.Item{Skill: s, Name: ".plugberth"}, one)
	want := []error{staging.ErrItem, staging.ErrItem, skills.ErrNoFiles, staging.ErrItem, staging.ErrItem, staging.ErrLimit}
	for i, r := range results {
		if r.Outcome != staging.OutcomeRefused || !errors.Is(r.Err, want[i]) {
			t.Errorf("item %d: %+v, want %v", i, r, want[i])
		}
	}
	same(t, before, tree(t, target.Workspace))
}

func TestItemsOfASet(t *testing.T) {
	var sources []skills.Source
	for _, origin := range []skills.Origin{{Package: "trusted"}, {Package: "other"}, {Kind: skills.KindDirectory, Package: "trusted"}} {
		root, err := paths.Open(source(t, nil, origin.Package+"-"+origin.Kind.String()))
		must(t, err)
		listing, err := skills.Load(context.Background(), root, "skills", skills.Options{})
		must(t, err)
		sources = append(sources, skills.Source{Origin: origin, Skills: listing.Skills})
	}
	set, err := skills.NewSet(skills.SetOptions{}, sources...)
	must(t, err)
	trusted := skills.Origin{Package: "trusted"}
	for _, tc := range []struct {
		scripts func(skills.Origin) bool
		want    []string
	}{
		{nil, []string{"other-package other false", "trusted-directory trusted false", "trusted-package trusted false"}},
		{func(o skills.Origin) bool { return o == trusted }, []string{"other-package other false", "trusted-directory trusted false", "trusted-package trusted true"}},
	} {
		var got []string
		for _, item := range staging.Items(set, tc.scripts) {
			got = append(got, fmt.Sprint(item.Skill.Name(), " ", item.Package, " ", item.Scripts, item.Name))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	if got := staging.Items(&skills.Set{}, nil); len(got) != 0 {
		t.Error(got)
	}
}

func TestStageNames(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	item := items(t, source(t, nil, "review"))[0]
	second := item
	second.Name = "second"
	results := stage(t, target, item, second, item)
	if results[0].Outcome != staging.OutcomeStaged || results[1].Outcome != staging.OutcomeStaged || !errors.Is(results[2].Err, staging.ErrItem) {
		t.Errorf("%+v", results)
	}
	if got := files(t, target, "second"); got["SKILL.md"] != skillMD("review") {
		t.Errorf("%q", got)
	}
	st, err := target.Status(context.Background())
	must(t, err)
	if len(st) != 2 || st[1].Name != "second" || st[1].Package != "pack" || !slices.Equal(st[1].Files, []string{"SKILL.md"}) {
		t.Errorf("%+v", st)
	}
	item.Package = "renamed"
	staged(t, target, item, staging.OutcomeUnchanged)
	if st, err = target.Status(context.Background()); err != nil || st[0].Package != "renamed" {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestStageFromMemory(t *testing.T) {
	root, err := paths.New(fstest.MapFS{
		"skills/review/SKILL.md":        &fstest.MapFile{Data: []byte(skillMD("review"))},
		"skills/review/scripts/run.sh":  &fstest.MapFile{Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"skills/review/references/a.md": &fstest.MapFile{Data: []byte("a")},
	})
	must(t, err)
	l, err := skills.Load(context.Background(), root, "skills", skills.Options{})
	must(t, err)
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	staged(t, target, staging.Item{Skill: l.Skills[0], Scripts: true}, staging.OutcomeStaged)
	if got := files(t, target, "review"); len(got) != 3 {
		t.Errorf("%q", got)
	}
	info, err := os.Stat(filepath.Join(target.Workspace, "s", "review", "scripts", "run.sh"))
	if err != nil || runtime.GOOS != "windows" && info.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestStageAtTheTop(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "."}
	item := items(t, source(t, nil, "review"))[0]
	staged(t, target, item, staging.OutcomeStaged)
	unstage(t, target)
	if got := tree(t, target.Workspace); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestTargets(t *testing.T) { // [P1]
	item := items(t, source(t, nil, "review"))[0]
	ctx := context.Background()
	for name, c := range map[string]struct {
		dir     string
		entries map[string]string
	}{
		"zero":                  {dir: ""},
		"absolute":              {dir: "/tmp"},
		"up":                    {dir: "../x"},
		"up inside":             {dir: "a/../../x"},
		"hidden characters":     {dir: "a\u202eb"},
		"link":                  {dir: "s", entries: map[string]string{"elsewhere/x": "x", "s": "-> elsewhere"}},
		"link to the outside":   {dir: "s", entries: map[string]string{"s": "-> .."}},
		"link in the middle":    {dir: "a/b/c", entries: map[string]string{"real/c/": "", "a/x": "x", "a/b": "-> ../real"}},
		"link first":            {dir: "a/b", entries: map[string]string{"real/b/": "", "a": "-> real"}},
		"dangling link":         {dir: "a/b", entries: map[string]string{"a": "-> nowhere"}},
		"file":                  {dir: "a/b", entries: map[string]string{"a": "x"}},
		"state is a link":       {dir: "s", entries: map[string]string{"elsewhere/x": "x", "s/.plugberth": "-> ../elsewhere"}},
		"state is a file":       {dir: "s", entries: map[string]string{"s/.plugberth": "x"}},
		"lock is a link":        {dir: "s", entries: map[string]string{"mine": "x", "s/.plugberth/.lock": "-> ../../mine"}},
		"target file is a link": {dir: "s", entries: map[string]string{"mine": "x", "s/.plugberth/.target.json": "-> ../../mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			target := staging.Target{Workspace: t.TempDir(), Dir: c.dir}
			fill(t, target.Workspace, c.entries)
			before := tree(t, target.Workspace)
			results, err := target.Stage(ctx, item)
			if err == nil || results != nil || !errors.Is(err, staging.ErrTarget) && !errors.Is(err, staging.ErrRecord) || strings.Contains(err.Error(), "\u202e") {
				t.Errorf("%+v, %v", results, err)
			}
			if name == "target file is a link" { // the lock is made before
				delete(before, "s/.plugberth/.lock")
				must(t, os.Remove(filepath.Join(target.Workspace, "s", ".plugberth", ".lock")))
			}
			same(t, before, tree(t, target.Workspace))
			if strings.HasPrefix(name, "state") || strings.HasPrefix(name, "link") {
				if _, err := target.UnstageAll(ctx); !errors.Is(err, staging.ErrTarget) {
					t.Error(err)
				}
				if _, err := target.Status(ctx); !errors.Is(err, staging.ErrTarget) {
					t.Error(err)
				}
				same(t, before, tree(t, target.Workspace))
			}
		})
	}
	if _, err := (staging.Target{Dir: "s"}).Stage(ctx, item); !errors.Is(err, staging.ErrTarget) {
		t.Error(err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	if _, err := (staging.Target{Workspace: gone, Dir: "s"}).Stage(ctx, item); !errors.Is(err, staging.ErrTarget) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWorkspaceMayBeALink(t *testing.T) {
	base := t.TempDir()
	fill(t, base, map[string]string{"real/": "", "ws": "-> real"})
	target := staging.Target{Workspace: filepath.Join(base, "ws"), Dir: "s"}
	staged(t, target, items(t, source(t, nil, "review"))[0], staging.OutcomeStaged)
	unstage(t, target)
	if got := tree(t, filepath.Join(base, "real")); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestLinksPutThereLater: a staged directory that became a link, or holds one,
// is not followed, neither to write nor to remove.
func TestLinksPutThereLater(t *testing.T) { // [P1]
	base := t.TempDir()
	target := staging.Target{Workspace: filepath.Join(base, "ws"), Dir: "s"}
	root := source(t, map[string]string{"references/a.md": "a", "references/b.md": "b"}, "review", "second", "third")
	fill(t, base, map[string]string{"ws/": ""})
	all := items(t, root)
	stage(t, target, all...)
	// The same files stand outside, so that only the way to them differs.
	fill(t, base, map[string]string{"outside/review/SKILL.md": skillMD("review"), "outside/review/references/a.md": "a", "outside/references/a.md": "a", "outside/references/b.md": "b", "outside/SKILL.md": skillMD("third")})
	outside := tree(t, filepath.Join(base, "outside"))
	s := filepath.Join(target.Workspace, "s")
	must(t, os.RemoveAll(filepath.Join(s, "review")))
	link(t, filepath.Join(base, "outside", "review"), filepath.Join(s, "review"))
	must(t, os.RemoveAll(filepath.Join(s, "second")))
	fill(t, s, map[string]string{"second/SKILL.md": skillMD("second")})
	must(t, os.Remove(filepath.Join(s, "third", "SKILL.md")))
	link(t, filepath.Join(base, "outside", "SKILL.md"), filepath.Join(s, "third", "SKILL.md"))
	link(t, filepath.Join(base, "outside", "references"), filepath.Join(s, "second", "references"))
	fill(t, root, map[string]string{"skills/review/references/a.md": "new", "skills/second/references/a.md": "new", "skills/third/SKILL.md": skillMD("third") + "more"})

	now := tree(t, target.Workspace)
	for i, want := range []string{"review", "second/references", "third/SKILL.md"} {
		r := staged(t, target, all[i], staging.OutcomeRefused)
		if !errors.Is(r.Err, staging.ErrModified) || !slices.Equal(r.Kept, []string{want}) {
			t.Errorf("%+v", r)
		}
	}
	same(t, now, tree(t, target.Workspace))
	kept := 0
	for _, r := range unstage(t, target) {
		kept += len(r.Kept)
	}
	if kept != 3 {
		t.Errorf("%d kept", kept)
	}
	same(t, outside, tree(t, filepath.Join(base, "outside")))
	for _, p := range []string{"review", "second/references", "third/SKILL.md"} {
		if info, err := os.Lstat(filepath.Join(s, filepath.FromSlash(p))); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
}

// TestRecordsAreNotBelieved: a record that somebody wrote can neither lead out of
// the target nor have anything removed but what has its hash.
func TestRecordsAreNotBelieved(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for name, record := range map[string]string{
		"no JSON":        "{",
		"more JSON":      `{"format":1,"name":"review","files":{}} {}`,
		"other format":   `{"format":2,"name":"review","files":{}}`,
		"other name":     `{"format":1,"name":"other","files":{}}`,
		"unknown member": `{"format":1,"name":"review","files":{},"x":1}`,
		"path up":        `{"format":1,"name":"review","files":{"../../mine":{"sha256":"` + sum + `","size":4}}}`,
		"absolute path":  `{"format":1,"name":"review","files":{"/mine":{"sha256":"` + sum + `","size":4}}}`,
		"short hash":     `{"format":1,"name":"review","files":{"a":{"sha256":"00","size":4}}}`,
		"negative size":  `{"format":1,"name":"review","files":{"a":{"sha256":"` + sum + `","size":-1}}}`,
		"work up":        `{"format":1,"name":"review","files":{},"next":{"work":"../../../../../../../../aaaaaaaaaaa","files":{}}}`,
		"link":           "-> ../../mine",
		"directory":      "",
	} {
		t.Run(name, func(t *testing.T) {
			target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
			fill(t, target.Workspace, map[string]string{"mine": "mine", "s/review/SKILL.md": "mine"})
			all := items(t, source(t, nil, "other", "review"))
			stage(t, target, all[0])
			at := "s/.plugberth/review.json"
			if record == "" {
				at += "/"
			}
			fill(t, target.Workspace, map[string]string{at: record})
			before := tree(t, target.Workspace)
			if r := staged(t, target, all[1], staging.OutcomeRefused); !errors.Is(r.Err, staging.ErrRecord) && name != "link" && name != "directory" {
				t.Errorf("%+v", r)
			}
			same(t, before, tree(t, target.Workspace))
			st, err := target.Status(context.Background())
			if err != nil || len(st) != 2 || st[0].Err != nil || st[1].Err == nil {
				t.Errorf("%+v, %v", st, err)
			}
			results := unstage(t, target)
			if len(results) != 2 || results[0].Outcome != staging.OutcomeRemoved || results[1].Outcome != staging.OutcomeRefused {
				t.Errorf("%+v", results)
			}
			if got := files(t, target, "."); got["review/SKILL.md"] != "mine" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "s"}
	item := items(t, source(t, nil, "review"))[0]
	inside := 0
	first := staging.WithStep(target, func(step string) {
		if step != "intent recorded" {
			return
		}
		inside++
		if _, err := target.Stage(context.Background(), item); !errors.Is(err, staging.ErrBusy) {
			t.Error(err)
		}
		if _, err := target.UnstageAll(context.Background()); !errors.Is(err, staging.ErrBusy) {
			t.Error(err)
		}
		if st, err := target.Status(context.Background()); err != nil || len(st) != 1 || !errors.Is(st[0].Err, staging.ErrBusy) {
			t.Errorf("%+v, %v", st, err)
		}
	})
	staged(t, first, item, staging.OutcomeStaged)
	if inside != 1 {
		t.Errorf("%d times inside", inside)
	}
	unstage(t, target)
	if got := tree(t, target.Workspace); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestConcurrentRuns: runs at one time either do their work or say that another
// one is at it, and what they leave is whole.
func TestConcurrentRuns(t *testing.T) {
	target := staging.Target{Workspace: t.TempDir(), Dir: "a/s"}
	all := items(t, source(t, map[string]string{"references/a.md": "a"}, "review", "second"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 15 {
				var err error
				if i%2 == 0 {
					_, err = target.Stage(context.Background(), all...)
				} else {
					_, err = target.UnstageAll(context.Background())
				}
				if err != nil && !errors.Is(err, staging.ErrBusy) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, r := range stage(t, target, all...) {
		if r.Err != nil {
			t.Errorf("%+v", r)
		}
	}
	if got := files(t, target, "review"); len(got) != 2 {
		t.Errorf("%q", got)
	}
	for _, r := range unstage(t, target) {
		if r.Err != nil || r.Kept != nil {
			t.Errorf("%+v", r)
		}
	}
	for p := range tree(t, target.Workspace) {
		if strings.Contains(p, "s/") && p != "a/s/" {
			t.Errorf("%s is left", p)
		}
	}
}

// TestCancelled ends a run at each of its steps: the skill is there as a whole
// or not at all, and nothing of the work is left.
func TestCancelled(t *testing.T) {
	all := items(t, source(t, map[string]string{"references/a.md": "a"}, "review", "second"))
	for n := 1; ; n++ {
		target := staging.Target{Workspace: t.TempDir(), Dir: "a/s"}
		before := tree(t, target.Workspace)
		ctx, cancel := context.WithCancel(context.Background())
		steps := 0
		results, err := staging.WithStep(target, func(string) {
			if steps++; steps == n {
				cancel()
			}
		}).Stage(ctx, all...)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		st, statusErr := target.Status(context.Background())
		must(t, statusErr)
		if len(st) < len(results) {
			t.Errorf("step %d: %d staged, %d results", n, len(st), len(results))
		}
		for _, s := range st {
			if s.Err != nil || s.Changed != nil || s.Missing || s.Foreign != nil {
				t.Errorf("step %d: %+v", n, s)
			}
		}
		unstage(t, target)
		same(t, before, tree(t, target.Workspace))
		if steps < n {
			break
		}
	}
}
