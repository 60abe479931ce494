package plugin_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

// TestLoadingIsSilent: nothing reaches the process's outputs or its default
// loggers, whatever is wrong with the package. [Q3]
func TestLoadingIsSilent(t *testing.T) {
	var logged bytes.Buffer
	oldLog, oldSlog := log.Writer(), slog.Default()
	log.SetOutput(&logged)
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug - 10})))
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	oldOut, oldErr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, write
	defer func() {
		os.Stdout, os.Stderr = oldOut, oldErr
		slog.SetDefault(oldSlog)
		log.SetOutput(oldLog)
	}()

	for _, files := range []map[string]string{
		mcpWith(`"a":1,"a":2,` + sibling),
		manifestWith(`"keywords":[1],"x":"\ud800"`),
		{"plugin.json": "{", "skills/a/SKILL.md": "none"},
		{"skills/a/SKILL.md": "---\nname: [\n---\n", "mcp.json": "{"},
	} {
		p, err := plugin.LoadFS(context.Background(), memory(files), plugin.Options{Lint: true})
		if err == nil && len(p.Findings()) == 0 {
			t.Error("a package without faults says nothing about silence")
		}
	}
	write.Close()
	written, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if len(written) > 0 || logged.Len() > 0 {
		t.Errorf("written: %q, logged: %q", written, logged.String())
	}
}
