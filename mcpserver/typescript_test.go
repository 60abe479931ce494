package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// TestTypeScriptClient: the TypeScript SDK's client, which lists without pause
// while the catalog changes 1,000 times, sees one snapshot each time, whole, and
// is notified. It runs where PLUGBERTH_NPM_DIR names a directory with node_modules
// and a copy of the scripts of .ci/ts, as .ci/run makes one. [K4]
func TestTypeScriptClient(t *testing.T) {
	dir := os.Getenv("PLUGBERTH_NPM_DIR")
	if dir == "" {
		t.Skip("PLUGBERTH_NPM_DIR is not set: .ci/run runs this")
	}
	const changes = 1000
	c := newCatalog(t)
	declare(t, c, "aa", generation(0, 3)...)
	declare(t, c, "bb", generation(0, 3)...)
	var invokers mcpserver.Invokers
	invokers.Set("aa", &invoker{})
	h := serve(t, mcpserver.Options{Limits: fast, Catalog: c, Invokers: &invokers})
	m := h.mint(t, mcpserver.Grant{Identity: onChat})

	cmd := exec.CommandContext(t.Context(), "node", "catalog.mjs")
	cmd.Dir = filepath.Clean(dir)
	cmd.Env = append(os.Environ(), "CATALOG_URL="+h.url, "CATALOG_TOKEN="+m.Token.Reveal())
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 10 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("the client does not connect: %v", cmd.Wait())
	}
	want := map[uint64]string{}
	note := func(s *catalog.Snapshot) { want[s.Revision()] = seen(s, "chat") }
	note(c.Snapshot())
	for n := 1; n <= changes; n++ {
		if n%2 == 0 {
			declare(t, c, "aa", generation(n, 1+n%4)...)
		} else {
			declare(t, c, "bb", generation(n, 3)...)
		}
		note(c.Snapshot())
		if n%3 == 0 {
			time.Sleep(time.Millisecond) // so that the client has its share of the processors
		}
	}
	ended := time.Now()
	if err := json.NewEncoder(stdin).Encode(map[string]any{"want": want, "ended": ended.UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	var report struct {
		Lists, Revisions, Notified int
		NotifiedAfterLast          bool
		Faults                     []string
	}
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &report) != nil {
		t.Fatalf("no report: %q, %v", lines.Text(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if len(report.Faults) > 0 || report.Revisions < 2 || report.Notified < 1 || report.Notified > changes || !report.NotifiedAfterLast {
		t.Errorf("%+v", report)
	}
	t.Logf("%+v", report)
}
