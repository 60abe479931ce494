package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw sends requests that no client of the SDK would send.
type raw struct {
	url     string
	token   string // sent as "Bearer …" unless empty
	version string
	session string
	header  http.Header // on top, nil values delete
	client  *http.Client
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (r raw) request(ctx context.Context, method, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, r.url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.version != "" {
		req.Header.Set("Mcp-Protocol-Version", r.version)
	}
	if r.session != "" {
		req.Header.Set("Mcp-Session-Id", r.session)
	}
	if r.version == stateless {
		var msg struct {
			Method string
			Params struct{ Name string }
		}
		json.Unmarshal([]byte(body), &msg)
		req.Header.Set("Mcp-Method", msg.Method)
		if msg.Params.Name != "" {
			req.Header.Set("Mcp-Name", msg.Params.Name)
		}
	}
	for k, v := range r.header {
		if v == nil {
			delete(req.Header, k)
		} else {
			req.Header[k] = v
		}
	}
	return req
}

// open sends a request and returns the response while it is being written.
func (r raw) open(ctx context.Context, method, body string) (*http.Response, error) {
	client := r.client
	if client == nil {
		client = http.DefaultClient
	}
	return client.Do(r.request(ctx, method, body))
}

func (r raw) do(t testing.TB, method, body string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := r.open(ctx, method, body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// messages returns the JSON-RPC messages of a reply, whatever its form.
func (r reply) messages(t testing.TB) []map[string]any {
	t.Helper()
	var out []map[string]any
	add := func(data string) {
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		out = append(out, m)
	}
	if !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		add(r.body)
		return out
	}
	for _, ev := range sse(strings.NewReader(r.body)) {
		if ev.data != "" && ev.id != "comment" {
			add(ev.data)
		}
	}
	return out
}

type sseEvent struct{ id, data string }

func sse(r io.Reader) []sseEvent {
	var out []sseEvent
	for ev := range sseStream(r) {
		out = append(out, ev)
	}
	return out
}

// sseStream returns events as they arrive.
func sseStream(r io.Reader) <-chan sseEvent {
	ch := make(chan sseEvent, 100)
	go func() {
		defer close(ch)
		sc := bufio.NewScanner(r)
		sc.Buffer(nil, 16<<20)
		var ev sseEvent
		some := false
		for sc.Scan() {
			line := sc.Text()
			switch {
			case line == "":
				if some {
					ch <- ev
				}
				ev, some = sseEvent{}, false
			case strings.HasPrefix(line, "id:"):
				ev.id, some = strings.TrimSpace(line[3:]), true
			case strings.HasPrefix(line, "data:"):
				ev.data, some = strings.TrimSpace(line[5:]), true
			case strings.HasPrefix(line, ":"):
				ch <- sseEvent{id: "comment", data: strings.TrimSpace(line[1:])}
			}
		}
	}()
	return ch
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// begin opens a session of the stateful protocol.
func (r raw) begin(t testing.TB) raw {
	t.Helper()
	got := r.do(t, "POST", initialize)
	r.session = got.header.Get("Mcp-Session-Id")
	if got.status != 200 || r.session == "" {
		t.Fatalf("initialize: %+v", got)
	}
	r.version = stateful
	if got := r.do(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.status != 202 {
		t.Fatalf("initialized: %+v", got)
	}
	return r
}

// toolCall is the message of a call in the given protocol.
func toolCall(version string, id int, tool string, arguments any) string {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	meta := ""
	if version == stateless {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, id, tool, data, meta)
}
