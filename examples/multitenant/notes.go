package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/plugin"
)

// This is the other side: the plugin notes, as somebody publishes it. A host
// knows it as a package only.

// serveNotes is the argument that makes this program the plugin's server.
const serveNotes = "serve-notes"

// release makes a version of the package, with this very program as the server's.
func release(ctx context.Context, version string) (*plugin.Package, error) {
	dir, err := os.MkdirTemp("", "plugberth-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := "bin/notes"
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := copySelf(filepath.Join(dir, filepath.FromSlash(program))); err != nil {
		return nil, err
	}
	draft := plugin.Draft{
		Manifest: plugin.Manifest{Name: "notes", Version: version, Description: "Keeps the notes of a team."},
		Servers: []plugin.ServerDraft{{Name: "notes", Type: plugin.TransportStdio, Stdio: plugin.Stdio{
			Command: "./" + program,
			Args:    []string{serveNotes, version},
			Env:     map[string]string{"NOTES_FILE": "${PLUGIN_DATA}/notes.json"},
		}}},
		Files: os.DirFS(dir),
	}
	return draft.Build(ctx, plugin.BuildOptions{})
}

// copySelf copies the program that runs.
func copySelf(to string) error {
	name, err := os.Executable()
	if err != nil {
		return err
	}
	self, err := os.Open(name)
	if err != nil {
		return err
	}
	defer self.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, self)
	return errors.Join(err, file.Close())
}

// notes is the server's state: a file in the data directory that it was given.
type notes struct {
	file string
	key  string

	mu sync.Mutex
}

// runNotes serves MCP on standard input and output.
func runNotes(ctx context.Context, args []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "notes: the version is missing")
		return statusFailed
	}
	n := &notes{file: os.Getenv("NOTES_FILE"), key: os.Getenv("NOTES_KEY")}
	srv := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: args[0]}, nil)
	type none struct{}
	mcp.AddTool(srv, &mcp.Tool{Name: "list", Description: "Lists the notes."},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			list, err := n.read()
			return n.answer(list, strings.Join(list, "; ")), nil, err
		})
	mcp.AddTool(srv, &mcp.Tool{Name: "add", Description: "Adds a note."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Text string `json:"text"`
		}) (*mcp.CallToolResult, any, error) {
			list, err := n.add(in.Text)
			return n.answer(list, "Noted."), nil, err
		})
	if args[0] != "1.0.0" {
		mcp.AddTool(srv, &mcp.Tool{Name: "last", Description: "Shows the last note."},
			func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
				list, err := n.read()
				return n.answer(list, list[max(len(list)-1, 0):]...), nil, err
			})
	}
	if err := srv.Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		fmt.Fprintln(stderr, "notes:", err)
		return statusFailed
	}
	return statusOK
}

// answer ends with how many notes there are and for which account: a real server
// would show its key to its own service, and this one shows what can be told of it.
func (n *notes) answer(list []string, text ...string) *mcp.CallToolResult {
	about := fmt.Sprintf("(notes: %d, account: %s)", len(list), account(n.key))
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
		Text: strings.TrimSpace(strings.Join(append(text, about), " ")),
	}}}
}

// account names the account that a key is for, without the key.
func account(key string) string {
	if key == "" {
		return "none"
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:8]
}

func (n *notes) read() (list []string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.load()
}

func (n *notes) load() (list []string, err error) {
	text, err := os.ReadFile(n.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(text, &list)
}

func (n *notes) add(text string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, err := n.load()
	if err != nil {
		return nil, err
	}
	list = append(list, text)
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return list, os.WriteFile(n.file, data, 0o600)
}
