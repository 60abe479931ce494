package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// TestZeroCatalog: the zero Catalog is one with the zero Options, whatever is called
// first, and the zero Refresher is closed.
func TestZeroCatalog(t *testing.T) {
	tool := catalog.Tool{Name: "a", Description: "A.", InputSchema: json.RawMessage(`{"type":"object"}`), Surfaces: []string{"chat"}}
	for name, first := range map[string]func(*catalog.Catalog){
		"Declare":  func(*catalog.Catalog) {},
		"Snapshot": func(c *catalog.Catalog) { c.Snapshot() },
		"Watch":    func(c *catalog.Catalog) { c.Watch() },
		"Withdraw": func(c *catalog.Catalog) { c.Withdraw("p") },
		"Suspend":  func(c *catalog.Catalog) { c.Suspend("p") },
		"Resume":   func(c *catalog.Catalog) { c.Resume("p") },
		"Bridge":   func(c *catalog.Catalog) { c.Bridge("mcp", "p") },
	} {
		t.Run(name, func(t *testing.T) {
			c := new(catalog.Catalog)
			first(c)
			if err := c.Declare("p", tool); err != nil {
				t.Fatal(err)
			}
			s := c.Snapshot()
			if _, ok := s.Lookup("plugin_p_a"); !ok || s.Generation() == (catalog.Generation{}) || s.Revision() != 2 || !s.Newer(new(catalog.Snapshot)) {
				t.Errorf("%v %d %v", s.Generation(), s.Revision(), s.Entries())
			}
		})
	}
	var r catalog.Refresher
	r.Signal()
	r.Remove("x")
	if err := r.Add("x", catalog.TargetFunc(func(context.Context, *catalog.Snapshot) error { return nil })); !errors.Is(err, catalog.ErrClosed) {
		t.Error(err)
	}
	if _, err := r.Flush(t.Context()); !errors.Is(err, catalog.ErrClosed) {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
