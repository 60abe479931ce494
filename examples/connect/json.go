package main

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// jsonShower prints one document a path. Programs in other languages read
// these: names and order of the keys are a promise.
type jsonShower struct {
	out io.Writer
}

type document struct {
	Servers []serverDoc `json:"servers"`
	Calls   []callDoc   `json:"calls"`
}

type serverDoc struct {
	Plugin          string    `json:"plugin"`
	Server          string    `json:"server"`
	Type            string    `json:"type"`
	Status          string    `json:"status"`
	Error           string    `json:"error"`
	ProtocolVersion string    `json:"protocolVersion"`
	Tools           []toolDoc `json:"tools"`
}

type toolDoc struct {
	Exposed string `json:"exposed"`
	Name    string `json:"name"`
}

type callDoc struct {
	Tool              string        `json:"tool"`
	IsError           bool          `json:"isError"`
	Content           []mcp.Content `json:"content"`
	StructuredContent any           `json:"structuredContent"`
	Error             string        `json:"error"`
}

func (jsonShower) consent(mcpclient.ConsentRequest) {}
func (jsonShower) server(mcpclient.ServerState)     {}

func (s jsonShower) result(r *result) error {
	d := document{Servers: []serverDoc{}, Calls: []callDoc{}}
	for _, state := range r.servers {
		doc := serverDoc{
			Plugin: state.ID.Plugin, Server: state.ID.Server, Type: string(state.Type), Status: state.Status.String(),
			ProtocolVersion: state.Info.ProtocolVersion, Tools: []toolDoc{},
		}
		if state.Err != nil {
			doc.Error = state.Err.Error()
		}
		for _, t := range r.tools {
			if t.Server == state.ID {
				doc.Tools = append(doc.Tools, toolDoc{t.Name, t.Local})
			}
		}
		d.Servers = append(d.Servers, doc)
	}
	if r.plugin != nil {
		for _, name := range r.plugin.SkippedServers() {
			d.Servers = append(d.Servers, serverDoc{
				Plugin: r.plugin.Name(), Server: name, Status: "invalid", Error: whySkipped(r.plugin, name), Tools: []toolDoc{},
			})
		}
	}
	for _, c := range r.calls {
		doc := callDoc{Tool: c.tool, Content: []mcp.Content{}}
		if c.err != nil {
			doc.Error = c.err.Error()
		} else {
			doc.IsError, doc.StructuredContent = c.result.IsError, c.result.StructuredContent
			doc.Content = append(doc.Content, c.result.Content...)
		}
		d.Calls = append(d.Calls, doc)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return err
	}
	_, err := s.out.Write(visible(buf.Bytes()))
	return err
}

// whySkipped is the first error that loading found with a server's entry.
func whySkipped(p *plugin.Plugin, server string) string {
	for _, f := range p.Findings().AtLeast(finding.SeverityError) {
		if f.Boundary == finding.BoundaryServer && f.Subject == server {
			return f.Message
		}
	}
	return ""
}

// visible returns a JSON text in which characters that do not print as
// themselves stand as escapes: it means the same and cannot act on a terminal.
func visible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || r < utf8.RuneSelf || finding.Escape(string(r)) == string(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, r)
		}
	}
	return out
}

func appendEscape(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
