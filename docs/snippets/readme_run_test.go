package snippets_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
)

// TestReadme: the README's host offers no tool of a server that its egress policy
// refuses, and its run gets a configuration.
func TestReadme(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	file, _ := archive(t, "1.0.0", readServer(t))
	p, err := install(ctx, file, filepath.Join(dir, "demo"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := readmeServers(ctx, p, nil, nil); !errors.Is(err, mcpclient.ErrUnknownTool) {
		t.Errorf("a server on this machine: %v", err)
	}
	config := filepath.Join(dir, "mcp.json")
	if err := readmeEndpoint(http.NewServeMux(), new(channel.MemoryStore), config); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(config); err != nil || len(text) == 0 {
		t.Errorf("%q, %v", text, err)
	}
}
