//go:build unix

package docs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCommandsRunStory: what the README shows of its first command is what that prints, line
// by line and in order, but for what an ellipsis stands for.
func TestCommandsRunStory(t *testing.T) {
	if os.Getenv(runVariable) == "" {
		t.Skip(runVariable + " is not set")
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "./examples/host")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(string(out), "\n")
	shown := 0
	for _, p := range markdownFiles(t) {
		for _, b := range p.blocks {
			if p.path != "README.md" || b.language != "text" || !strings.HasPrefix(b.lines[0], "The host loads") {
				continue
			}
			for _, want := range b.lines {
				for len(lines) > 0 && !matchesElided(lines[0], want) {
					lines = lines[1:]
				}
				if len(lines) == 0 {
					t.Fatalf("README.md shows %q, which is not printed, or not there:\n%s", want, out)
				}
				shown++
			}
		}
	}
	if shown == 0 {
		t.Error("README.md shows nothing of it")
	}
}

// matchesElided reports whether a line is as it is shown, where an ellipsis in
// what is shown stands for anything.
func matchesElided(line, shown string) bool {
	parts := strings.Split(strings.TrimSpace(shown), "…")
	line, ok := strings.CutPrefix(strings.TrimSpace(line), parts[0])
	if !ok {
		return false
	}
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(line, part)
		}
		var found bool
		if _, line, found = strings.Cut(line, part); !found {
			return false
		}
	}
	return line == ""
}
