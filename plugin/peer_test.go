package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// peerFixture is one fixture of a third party's loader suite.
type peerFixture struct {
	Confidence string
	Title      string
	Links      []struct{ Path, Target, Type string }
	Expect     struct {
		Rejected *string
		Loaded   peerNames
		Skipped  []struct{ What string }
		Reported []struct{ Field string }
	}
	Optional struct {
		peerNames
		Rejected bool
		Reported []string
	}
	AtLeastOne peerNames
}

type peerNames struct{ Skills, MCPServers []string }

// TestPeerSuite runs a third party's fixtures where they lie beside the
// checkout, or in the directory that PLUGBERTH_PEER_SUITE names.
func TestPeerSuite(t *testing.T) { eachPeer(t, checkPeer) }

// eachPeer writes each fixture's package to a directory and hands it over.
func eachPeer(t *testing.T, check func(t *testing.T, fx *peerFixture, root string)) {
	dir := os.Getenv("PLUGBERTH_PEER_SUITE")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "peer-suite")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "fixtures", "*", "*", "fixture.json"))
	if len(files) == 0 {
		t.Skip("the peer suite is not here; set PLUGBERTH_PEER_SUITE to its directory")
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var fx peerFixture
			if err := json.Unmarshal(src, &fx); err != nil {
				t.Fatal(err)
			}
			base := t.TempDir()
			for _, part := range []string{"plugin", "outside"} {
				from := filepath.Join(filepath.Dir(file), part)
				if _, err := os.Stat(from); err == nil {
					if err := os.CopyFS(filepath.Join(base, part), os.DirFS(from)); err != nil {
						t.Fatal(err)
					}
				}
			}
			root := filepath.Join(base, "plugin")
			if err := os.MkdirAll(root, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, link := range fx.Links {
				at := filepath.Join(root, filepath.FromSlash(link.Path))
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(link.Target, at); err != nil {
					t.Skip(err)
				}
			}
			check(t, &fx, root)
		})
	}
}

func checkPeer(t *testing.T, fx *peerFixture, root string) {
	p, err := plugin.Load(context.Background(), root, plugin.Options{})
	if wantRejected := fx.Expect.Rejected != nil; fx.Optional.Rejected {
		if err != nil {
			return
		}
	} else if wantRejected || err != nil {
		if !errors.Is(err, plugin.ErrRejected) || !wantRejected {
			t.Errorf("%s: rejected is to be %v, got %v", fx.Title, wantRejected, err)
		}
		return
	}
	var skillNames, serverNames, skipped, reported []string
	for _, s := range p.Skills() {
		skillNames = append(skillNames, s.Name())
	}
	for _, s := range p.Servers() {
		serverNames = append(serverNames, s.Name())
	}
	for _, dir := range p.SkippedSkills() {
		skipped = append(skipped, "skills/"+dir)
	}
	for _, name := range p.SkippedServers() {
		skipped = append(skipped, "mcp.json#"+name)
	}
	if p.SkillsState() == skills.StateInvalid {
		skipped = append(skipped, "skills")
	}
	if p.MCPState() == plugin.MCPDisabled {
		skipped = append(skipped, "mcp.json")
	}
	for _, f := range p.Findings() {
		if f.File == "plugin.json" && f.Severity == finding.SeverityWarning && f.Pointer != "" {
			field := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.Split(f.Pointer, "/")[1])
			if !slices.Contains(reported, field) {
				reported = append(reported, field)
			}
		}
	}
	var wantSkipped, wantReported []string
	for _, s := range fx.Expect.Skipped {
		what := strings.TrimSuffix(strings.TrimPrefix(s.What, "./"), "/")
		wantSkipped = append(wantSkipped, what)
	}
	for _, r := range fx.Expect.Reported {
		wantReported = append(wantReported, r.Field)
	}
	free := func(prefix string, lists ...[]string) (out []string) {
		for _, list := range lists {
			for _, name := range list {
				out = append(out, prefix+name)
			}
		}
		return out
	}
	freeSkills := free("", fx.Optional.Skills, fx.AtLeastOne.Skills)
	freeServers := free("", fx.Optional.MCPServers, fx.AtLeastOne.MCPServers)
	sameBut(t, "skills", skillNames, fx.Expect.Loaded.Skills, freeSkills)
	sameBut(t, "servers", serverNames, fx.Expect.Loaded.MCPServers, freeServers)
	sameBut(t, "skipped", skipped, wantSkipped, append(free("skills/", freeSkills), free("mcp.json#", freeServers)...))
	sameBut(t, "reported", reported, wantReported, fx.Optional.Reported)
	if one := append(fx.AtLeastOne.Skills, fx.AtLeastOne.MCPServers...); len(one) > 0 &&
		!slices.ContainsFunc(one, func(n string) bool { return slices.Contains(skillNames, n) || slices.Contains(serverNames, n) }) {
		t.Errorf("none of %q loaded", one)
	}
	if t.Failed() {
		t.Logf("%s (%s)\n%v", fx.Title, fx.Confidence, p.Findings())
	}
}

// sameBut compares two sets without the names that may be there or not.
func sameBut(t *testing.T, what string, got, want, free []string) {
	t.Helper()
	without := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return slices.Contains(free, n) })
	}
	sameSet(t, what, without(got), without(want))
}
