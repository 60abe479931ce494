package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin/finding"
)

// shower prints what happens and what came of it. consent and server are
// called while servers connect, from several goroutines.
type shower interface {
	consent(mcpclient.ConsentRequest)
	server(mcpclient.ServerState)
	result(*result) error
}

// clean makes text from a package or a server safe for a terminal.
func clean(s string) string { return finding.Escape(s) }

// text prints for people.
type text struct {
	out, news io.Writer
	color     bool
	live      bool // news is a terminal

	mu  sync.Mutex
	err error // the first of writing
}

func newText(out, news io.Writer) *text {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return &text{out: out, news: news, color: isTerminal(out) && !plain, live: isTerminal(news) && !plain}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// The styles, as the parameters of a terminal's SGR sequence.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (t *text) style(s, style string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

func (t *text) line(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format+"\n", args...); t.err == nil {
		t.err = err
	}
}

// consent warns of what the package asks for, before it is started.
func (t *text) consent(req mcpclient.ConsentRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range req.Findings {
		fmt.Fprintf(t.news, "connect: %s: %s\n", req.ID, clean(f.Message))
	}
}

// server tells on a terminal what a server is doing.
func (t *text) server(s mcpclient.ServerState) {
	if !t.live || s.Status == mcpclient.StatusIdle {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.news, "%-10s  %s\n", s.Status, s.ID)
}

func (t *text) result(r *result) error {
	if r.plugin == nil {
		t.line("%s  %s", t.style("rejected", red), clean(r.path))
		return t.err
	}
	t.line("%s  %s", t.style(r.plugin.Name(), bold), t.style(clean(r.path), dim))
	if len(r.servers)+len(r.plugin.SkippedServers()) == 0 {
		t.line("  no MCP servers")
	}
	for _, s := range r.servers {
		t.serverLine(s, r.tools)
	}
	for _, name := range r.plugin.SkippedServers() {
		t.line("  %s  %s", t.style("invalid  ", red), clean(name))
		t.line("    %s", clean(whySkipped(r.plugin, name)))
	}
	for _, c := range r.calls {
		t.call(c)
	}
	t.line("")
	return t.err
}

func (t *text) serverLine(s mcpclient.ServerState, tools []mcpclient.Tool) {
	style := map[mcpclient.Status]string{mcpclient.StatusConnected: green, mcpclient.StatusFailed: red}[s.Status]
	if style == "" {
		style = yellow
	}
	about := string(s.Type)
	if s.Status == mcpclient.StatusConnected {
		about += ", MCP " + s.Info.ProtocolVersion
		if name := strings.TrimSpace(s.Info.Name + " " + s.Info.Version); name != "" {
			about += ", " + clean(name)
		}
	}
	t.line("  %s  %s  %s", t.style(fmt.Sprintf("%-9s", s.Status), style), clean(s.ID.Server), t.style(about, dim))
	if s.Err != nil {
		for _, line := range strings.Split(strings.TrimRight(s.Err.Error(), "\n"), "\n") {
			t.line("    %s", clean(line))
		}
	}
	for _, tool := range tools {
		if tool.Server == s.ID {
			t.line("    %s  %s", tool.Name, t.style(cut(clean(oneLine(tool.Description)), 80), dim))
		}
	}
	for _, d := range s.Dropped {
		t.line("    %s %s: %s", t.style("left out:", yellow), d.Local, clean(d.Reason))
	}
}

func (t *text) call(c outcome) {
	switch {
	case c.err != nil:
		t.line("  %s %s", t.style("no result of", red), clean(c.tool))
		t.line("    %s", clean(c.err.Error()))
		return
	case c.result.IsError:
		t.line("  %s %s", t.style("error of", yellow), clean(c.tool))
	default:
		t.line("  result of %s", clean(c.tool))
	}
	for _, content := range c.result.Content {
		switch content := content.(type) {
		case *mcp.TextContent:
			for _, line := range strings.Split(content.Text, "\n") {
				t.line("    %s", clean(line))
			}
		case *mcp.ImageContent:
			t.line("    (an image, %s, %d bytes)", clean(content.MIMEType), len(content.Data))
		case *mcp.AudioContent:
			t.line("    (audio, %s, %d bytes)", clean(content.MIMEType), len(content.Data))
		case *mcp.ResourceLink:
			t.line("    (a link to %s)", clean(content.URI))
		case *mcp.EmbeddedResource:
			t.line("    (a resource)")
		}
	}
	if c.result.StructuredContent != nil {
		if text, err := json.Marshal(c.result.StructuredContent); err == nil {
			t.line("    %s", clean(string(text)))
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut shortens s to n characters.
func cut(s string, n int) string {
	i := 0
	for at := range s {
		if i++; i > n {
			return s[:at] + "…"
		}
	}
	return s
}
