package mcpclient

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkSession connects to the test server over the SDK's own transport.
func sdkSession(b *testing.B) *mcp.ClientSession {
	cmd := exec.Command(filepath.Join(selfDir(b), "testserver"))
	cmd.Env = []string{serverModeEnv + "=normal", "GORACE=atexit_sleep_ms=0"}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.Fatal(err)
	}
	return session
}

// BenchmarkStdioCall compares a call of a tool over this package's connection
// and over the SDK's, the client's side only.
func BenchmarkStdioCall(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"small", 5}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}} {
		args := map[string]any{"text": strings.Repeat("x", size.n)}
		run := func(b *testing.B, session *mcp.ClientSession) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: args}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(size.name+"/sdk", func(b *testing.B) {
			session := sdkSession(b)
			defer session.Close()
			run(b, session)
		})
		b.Run(size.name+"/plugberth", func(b *testing.B) {
			opts := testOptions(b)
			opts.Limits.Rate = 1 << 40
			run(b, start(b, "normal", opts).session)
		})
	}
}
