package snippets_test

import (
	"context"
	"os"
	"path"
	"testing"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

func TestPackages(t *testing.T) {
	entries, err := os.ReadDir("plugins")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := path.Join("plugins", e.Name())
		found, err := plugin.FindingsOf(plugin.LoadFS(t.Context(), os.DirFS(dir), plugin.Options{Lint: true}))
		if err != nil {
			t.Error(err)
		}
		for _, f := range found.AtLeast(finding.SeverityWarning) {
			f.File = path.Join(dir, f.File) // so that an editor finds it
			t.Error(f)
		}
	}
}

// The call that plugin.FindingsOf shows.
func authorsFindings(ctx context.Context, dir string, opts plugin.Options) (finding.List, error) {
	found, err := plugin.FindingsOf(plugin.Load(ctx, dir, opts))
	return found, err
}

var _ = authorsFindings
