//go:build linux

package mcpclient_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteAttacker is a hostile server of streamable HTTP, by hand. A nil field
// is what a good server does, without an event stream of its own.
type remoteAttacker struct {
	any     func(w http.ResponseWriter, r *http.Request) (done bool) // before all else
	get     http.HandlerFunc
	listed  func(m rpcMessage) string // the result of tools/list
	initial func(w http.ResponseWriter, r *http.Request, m rpcMessage)
	evil    func(w http.ResponseWriter, r *http.Request, m rpcMessage)
	answer  func(m rpcMessage) // what the client answers
	noID    bool               // no session
}

func (s *remoteAttacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.any != nil && s.any(w, r) {
		return
	}
	switch r.Method {
	case http.MethodGet:
		if s.get != nil {
			s.get(w, r)
		} else {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
		return
	case http.MethodDelete:
		return
	}
	var m rpcMessage
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	switch {
	case m.Method == "":
		if s.answer != nil {
			s.answer(m)
		}
		w.WriteHeader(http.StatusAccepted)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize" && s.initial != nil:
		s.initial(w, r, m)
	case m.Method == "initialize":
		if !s.noID {
			w.Header().Set("Mcp-Session-Id", "a-session")
		}
		writeJSON(w, http.StatusOK, rpcResult(m.ID, initialized))
	case m.Method == "tools/list":
		result := evilTools
		if s.listed != nil {
			result = s.listed(m)
		}
		writeJSON(w, http.StatusOK, rpcResult(m.ID, result))
	case m.Method == "tools/call" && m.Params.Name == "evil":
		s.evil(w, r, m)
	case m.Method == "tools/call":
		writeJSON(w, http.StatusOK, rpcText(m.ID, m.Params.Arguments.Say))
	default:
		writeJSON(w, http.StatusBadRequest, rpcError(m.ID, -32601, "no such method"))
	}
}

func writeJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func startEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

func writeEvent(w http.ResponseWriter, lines ...string) error {
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n\n"); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// pour writes a chunk until nobody reads any more.
func pour(w io.Writer, chunk []byte) {
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// hang waits until the client has gone, which the server notices once it has
// read the request.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// reset breaks the connection with a reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// remote is the entry of an attacker that listens at /mcp.
func remote(s *remoteAttacker) func(*arena) map[string]any {
	return func(a *arena) map[string]any {
		return map[string]any{"type": "streamable-http", "url": a.listen(s) + "/mcp"}
	}
}

// remoteOf is remote for an attacker that knows its arena.
func remoteOf(f func(*arena) *remoteAttacker) func(*arena) map[string]any {
	return func(a *arena) map[string]any { return remote(f(a))(a) }
}

// legacy is the entry of a legacy SSE server that announces an endpoint and
// answers nothing.
func legacy(f func(a *arena, w http.ResponseWriter, r *http.Request)) func(*arena) map[string]any {
	return func(a *arena) map[string]any {
		url := a.listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(a, w, r) }))
		return map[string]any{"type": "sse", "url": url + "/sse"}
	}
}

// elsewhere is another origin, whose requests count as hits.
func (a *arena) elsewhere() string {
	if a.foreign == "" {
		a.foreign = a.listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.hits.Add(1)
			writeJSON(w, http.StatusOK, `{}`)
		}))
	}
	return a.foreign
}

// redirects answers each request with a redirect to another origin.
func redirects(status int) func(*arena) map[string]any {
	return remoteOf(func(a *arena) *remoteAttacker {
		return &remoteAttacker{any: func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, a.elsewhere()+"/mcp", status)
			return true
		}}
	})
}

// gzipBomb is 1 GiB of blanks, in 1024 members that are the same.
var gzipBomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = w.Close()
	return bytes.Repeat(b.Bytes(), 1024)
})

func addEchoTool(s *mcp.Server) {
	type in struct {
		Say string `json:"say"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Say}}}, nil, nil
	})
}

// drip sends a text a byte at a time.
func drip(w http.ResponseWriter, r *http.Request, text string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := range text {
		if _, err := io.WriteString(w, text[i:i+1]); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// growingSchema doubles the work at each level of a value.
const growingSchema = `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}}}}`

// bombSchemas is a page of tools with schemas that are small and cost much, or lead out of themselves.
func bombSchemas() string {
	doubling := `{"type":"object","$ref":"#/$defs/d0","$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling += `"d60":{"type":"object"}}}`
	const deep = 900
	nested := `{"type":"object","properties":{"x":` + strings.Repeat(`{"items":`, deep) + `{}` + strings.Repeat(`}`, deep) + `}}`
	wide := `{"type":"object","enum":[` + strings.Repeat(`"v",`, 40_000) + `"v"]}`
	schemas := map[string]string{
		"doubling": doubling, "growing": growingSchema, "nested": nested, "wide": wide,
		"file": `{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}`,
		"web":  `{"type":"object","properties":{"x":{"$ref":"FOREIGN/schema.json"}}}`,
		"meta": `{"$schema":"FOREIGN/meta.json","type":"object","properties":{"x":{"$dynamicRef":"FOREIGN/x"}}}`,
		"list": `[1,2]`,
	}
	out := `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}`
	for name, schema := range schemas {
		out += fmt.Sprintf(`,{"name":%q,"inputSchema":%s}`, name, schema)
		out += fmt.Sprintf(`,{"name":"output %s","inputSchema":{"type":"object"},"outputSchema":%s}`, name, schema)
	}
	return out + `]}`
}

// fatTools is a page of tools that are each as large as one may be.
func fatTools(page, each int) string {
	schema := `{"type":"object","description":"` + strings.Repeat("s", 60<<10) + `"}`
	out := `{"nextCursor":"` + fmt.Sprint(page+1) + `","tools":[`
	for i := range each {
		if i > 0 {
			out += ","
		}
		out += fmt.Sprintf(`{"name":"fat %d of %d","description":%q,"inputSchema":%s,"outputSchema":%s}`,
			i, page, strings.Repeat("d", 16<<10), schema, schema)
	}
	return out + `]}`
}
