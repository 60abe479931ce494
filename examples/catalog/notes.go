package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// notebook is the plugin notes.
type notebook struct {
	mu    sync.Mutex
	notes []string
	held  chan struct{} // if set, closed by the next call, which then waits for its end
}

func (n *notebook) tools() []catalog.Tool {
	none := json.RawMessage(`{"type": "object", "additionalProperties": false}`)
	return []catalog.Tool{
		{Name: "add", Description: "Adds a note.", InputSchema: schema("text"), Surfaces: []string{"chat"},
			Annotations: catalog.Annotations{NonDestructive: true, ClosedWorld: true}},
		{Name: "count", Description: "Counts the notes.", InputSchema: none, Surfaces: []string{"chat", "admin"},
			OutputSchema: json.RawMessage(`{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}`),
			Annotations:  catalog.Annotations{ReadOnly: true, ClosedWorld: true}},
		{Name: "clear", Description: "Deletes all notes.", InputSchema: none, Surfaces: []string{"admin"},
			Annotations: catalog.Annotations{Idempotent: true, ClosedWorld: true}},
	}
}

// hold makes the next call wait until it is canceled, and returns what tells that
// it has begun.
func (n *notebook) hold() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = make(chan struct{})
	return n.held
}

// Invoke carries out the tools. It is called once for each call that was allowed.
func (n *notebook) Invoke(ctx context.Context, inv mcpserver.Invocation) (mcpserver.Result, error) {
	n.mu.Lock()
	held := n.held
	n.held = nil
	n.mu.Unlock()
	if held != nil {
		close(held)
		<-ctx.Done()
		return mcpserver.Result{}, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch inv.Tool.Tool.Name {
	case "add":
		var args struct{ Text string }
		if err := json.Unmarshal(inv.Arguments, &args); err != nil {
			return mcpserver.Result{}, err
		}
		n.notes = append(n.notes, args.Text)
		return mcpserver.Result{Text: "Noted for " + inv.Run.Identity.Task + "."}, nil
	case "count":
		return mcpserver.Result{Structured: map[string]int{"count": len(n.notes)}}, nil
	case "clear":
		n.notes = nil
		return mcpserver.Result{Text: "Cleared."}, nil
	}
	return mcpserver.Result{}, fmt.Errorf("no tool %s", inv.Tool.Name)
}
