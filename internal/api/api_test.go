package api

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	// What go list is asked for is built by the time that the tests run, and not
	// a second time beside the tests of these packages.
	_ "github.com/plugberth/plugberth/fixtures/runtime"
	_ "github.com/plugberth/plugberth/mcpclient"
	_ "github.com/plugberth/plugberth/mcpserver/bridge"
)

const modulePath = "github.com/plugberth/plugberth"

var update = flag.Bool("update", false, "write api.txt")

// this is the module, read once for all tests.
var this = sync.OnceValues(func() (*module, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	return load(root, modulePath)
})

func thisModule(t *testing.T) *module {
	t.Helper()
	m, err := this()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The exported API is the one that api.txt pins.
func TestPinned(t *testing.T) {
	var lines []string
	for _, id := range thisModule(t).surface() {
		lines = append(lines, id.line())
	}
	slices.Sort(lines)
	const file = "api.txt"
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pinned := strings.FieldsFunc(string(src), func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range changes(pinned, lines) {
		t.Error(line)
	}
	if t.Failed() {
		t.Log("if the change is meant, run go test ./internal/api -update, and say in CHANGELOG.md what users have to do")
	}
}

// Each identifier is used by an example or serves a need that is stated, and
// each stated need is one.
func TestNeeded(t *testing.T) {
	m := thisModule(t)
	u, err := m.used()
	if err != nil {
		t.Fatal(err)
	}
	needs, err := readNeeds(os.DirFS("needs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range m.judgeNeeds(m.surface(), u, needs) {
		t.Error(fault)
	}
}

// Each identifier has a doc comment, and each package a tour and an example.
func TestDocumented(t *testing.T) {
	m := thisModule(t)
	for _, fault := range m.undocumented(m.surface()) {
		t.Error(fault)
	}
}

// No declaration needs a type that users cannot name.
func TestNameable(t *testing.T) {
	m := thisModule(t)
	for _, fault := range m.unnameable(m.surface()) {
		t.Error(fault)
	}
}

// The API is the same on all systems.
func TestSystems(t *testing.T) {
	faults, err := thisModule(t).differing()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// Links in comments lead somewhere.
func TestLinks(t *testing.T) {
	for _, fault := range thisModule(t).brokenLinks() {
		t.Error(fault)
	}
}
