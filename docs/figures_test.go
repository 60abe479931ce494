package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/fixtures"
	"github.com/plugberth/plugberth/fixtures/runtime"
)

// TestFigures: what the README counts, and can be counted here, is right.
func TestFigures(t *testing.T) {
	var readme string
	for _, p := range markdownFiles(t) {
		if p.path == "README.md" {
			for _, line := range p.prose {
				readme += line.text + "\n"
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("%d rules, each with its proof", len(fixtures.Rules())),
		fmt.Sprintf("%d packages in [`fixtures`]", len(fixtures.Cases())),
		fmt.Sprintf("%d cases in [`fixtures/runtime`]", len(runtime.Cases())),
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}
