package plugin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

func oneServer(name string) *plugin.ClientConfig {
	return &plugin.ClientConfig{Plugin: name, Servers: map[string]plugin.ClientServer{name: {Type: "http", URL: "https://example.com"}}}
}

// TestClientConfigFileIsShared: of runs that change one file at a time each
// succeeds or says that it did not; no entry that was written is lost.
func TestClientConfigFileIsShared(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be locked there")
	}
	const writers = 4
	for range 10 {
		file := plugin.ClientConfigFile{Workspace: t.TempDir(), Path: "conf/mcp.json"}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range writers {
			wg.Go(func() {
				<-start
				for {
					_, err := file.Write(oneServer(fmt.Sprint("p", i)))
					if err == nil {
						return
					}
					if !errors.Is(err, plugin.ErrClientFile) {
						t.Error(err)
						return
					}
					runtime.Gosched() // another run is at work
				}
			})
		}
		close(start)
		wg.Wait()
		text, err := os.ReadFile(filepath.Join(file.Workspace, "conf", "mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ MCPServers map[string]any }
		if err := json.Unmarshal(text, &got); err != nil || len(got.MCPServers) != writers {
			t.Fatalf("%d entries of %d, %v:\n%s", len(got.MCPServers), writers, err, text)
		}
		for i := range writers {
			if c, err := file.Remove(fmt.Sprint("p", i)); err != nil || len(c.Removed) != 1 {
				t.Errorf("%+v, %v", c, err)
			}
		}
		if left := names(t, file.Workspace); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// TestClientConfigFileMode: the file stays for its owner alone while it holds
// entries, also where another program wrote it again with another mode.
func TestClientConfigFileMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes there")
	}
	file := plugin.ClientConfigFile{Workspace: t.TempDir(), Path: ".mcp.json"}
	at := filepath.Join(file.Workspace, ".mcp.json")
	for range 2 {
		if _, err := file.Write(oneServer("p")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(at)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(at, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
