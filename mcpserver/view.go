package mcpserver

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// MetaCatalog is the key under which the _meta of a tools/list says which
// snapshot of a catalog the list shows: an object of generation, a string, and
// revision, a number. It is there for grants that have a surface.
const MetaCatalog = "plugberth/catalog"

// view is a snapshot in the form in which it is sent. It is immutable, apart from
// what it has made already, and shared by all grants.
type view struct {
	snapshot *catalog.Snapshot
	tools    []viewTool // sorted by name
	meta     mcp.Meta
	nothing  *surfaceSet // what a surface sees that no tool lists

	mu       sync.Mutex
	surfaces map[string]*surfaceSet // of those that some tool lists; a nil one is to be made
}

// viewTool is a tool of a view. A tool that is the same in the next view keeps
// its wire.
type viewTool struct {
	entry catalog.Entry
	wire  *mcp.Tool
}

// surfaceSet is what a surface sees of a view. It is immutable.
type surfaceSet struct {
	view *view
	wire []*mcp.Tool // sorted by name
}

func newView(s *catalog.Snapshot, old *view) *view {
	entries := s.Entries()
	v := &view{
		snapshot: s,
		tools:    make([]viewTool, len(entries)),
		meta: mcp.Meta{MetaCatalog: map[string]any{
			"generation": s.Generation().String(),
			"revision":   s.Revision(),
		}},
		surfaces: map[string]*surfaceSet{},
	}
	v.nothing = &surfaceSet{view: v}
	for i, e := range entries {
		v.tools[i] = viewTool{entry: e}
		if had, ok := old.lookup(e.Name); ok && had.entry.Equal(e) {
			v.tools[i].wire = had.wire
		} else {
			v.tools[i].wire = wireOf(e)
		}
		for _, surface := range e.Surfaces {
			v.surfaces[surface] = nil
		}
	}
	return v
}

// wireOf is a tool of a catalog as it is sent.
func wireOf(e catalog.Entry) *mcp.Tool {
	destructive, openWorld := !e.Annotations.NonDestructive, !e.Annotations.ClosedWorld
	t := &mcp.Tool{
		Name: e.Name, Title: e.Title, Description: e.Description, InputSchema: e.InputSchema,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    e.Annotations.ReadOnly,
			DestructiveHint: &destructive,
			IdempotentHint:  e.Annotations.Idempotent,
			OpenWorldHint:   &openWorld,
		},
	}
	if e.OutputSchema != nil {
		t.OutputSchema = e.OutputSchema
	}
	return t
}

// lookup returns a tool by its exposed name. A nil view has none.
func (v *view) lookup(name string) (viewTool, bool) {
	if v == nil {
		return viewTool{}, false
	}
	i, ok := slices.BinarySearchFunc(v.tools, name, func(t viewTool, name string) int { return strings.Compare(t.entry.Name, name) })
	if !ok {
		return viewTool{}, false
	}
	return v.tools[i], true
}

// on returns what a surface sees. A nil view shows nothing.
func (v *view) on(surface string) *surfaceSet {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	set, listed := v.surfaces[surface]
	if !listed {
		return v.nothing
	}
	if set == nil {
		set = &surfaceSet{view: v}
		for _, t := range v.tools {
			if t.entry.On(surface) {
				set.wire = append(set.wire, t.wire)
			}
		}
		v.surfaces[surface] = set
	}
	return set
}

// notedSurface writes a record for debugging where a grant is minted for a surface
// that no tool lists now, which may be a slip of the pen.
func (r *Registry) notedSurface(grantID string, id Identity) {
	v := r.catalog.current()
	if id.Surface == "" || v == nil {
		return
	}
	if set := v.on(id.Surface); set == v.nothing {
		r.log.Debug("no tool of the catalog is on the surface of a grant", "grant", grantID, "surface", printable.Escape(id.Surface))
	}
}

// same reports whether two surfaces, perhaps of different views, see the same.
func (s *surfaceSet) same(o *surfaceSet) bool {
	if s == nil || o == nil {
		return (s == nil || len(s.wire) == 0) && (o == nil || len(o.wire) == 0)
	}
	return slices.Equal(s.wire, o.wire)
}

// offer is what the agent of a grant sees at one moment: the tools of the
// channel and the host, and those of a catalog. It is immutable, and shared
// between grants that see the same.
type offer struct {
	*toolSet
	wire []*mcp.Tool // sorted by name
	meta mcp.Meta
}

// beside returns the tools of the set and those of a catalog, of which one that
// has the name of a tool of the set is left out.
func (s *toolSet) beside(more *surfaceSet, log *slog.Logger) *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more != nil && s.offersOf != more.view {
		clear(s.offers)
		s.offersOf = more.view
	}
	if o := s.offers[more]; o != nil {
		return o
	}
	o := &offer{toolSet: s, wire: s.wire}
	if more != nil {
		if len(more.wire) > 0 {
			o.wire = s.merged(more.wire, log)
		}
		o.meta = more.view.meta
	}
	if s.offers == nil {
		s.offers = map[*surfaceSet]*offer{}
	}
	s.offers[more] = o
	return o
}

func (s *toolSet) merged(more []*mcp.Tool, log *slog.Logger) []*mcp.Tool {
	out := make([]*mcp.Tool, 0, len(s.wire)+len(more))
	out = append(out, s.wire...)
	for _, t := range more {
		if s.byName[t.Name] == nil {
			out = append(out, t)
			continue
		}
		if !s.hides[t.Name] {
			if s.hides == nil {
				s.hides = map[string]bool{}
			}
			s.hides[t.Name] = true
			log.Warn("a tool of the catalog is hidden by one of the host", "tool", printable.Escape(t.Name))
		}
	}
	sortTools(out)
	return out
}

// list puts the tools that a host added to the SDK's server beside the offer's,
// and returns the names of the catalog's tools that they hide.
func (o *offer) list(sdk []*mcp.Tool) (tools []*mcp.Tool, hidden []string) {
	if len(sdk) == 0 || len(sdk) == 1 && sdk[0] == sentinel {
		return o.wire, nil
	}
	names := map[string]bool{}
	for _, t := range sdk {
		if t.Name != sentinel.Name && o.byName[t.Name] == nil && !names[t.Name] {
			names[t.Name] = true
			tools = append(tools, t)
		}
	}
	for _, t := range o.wire {
		if names[t.Name] {
			hidden = append(hidden, t.Name)
		} else {
			tools = append(tools, t)
		}
	}
	sortTools(tools)
	return tools, hidden
}

func sortTools(tools []*mcp.Tool) {
	slices.SortFunc(tools, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
}

// metaWith adds what is said of the catalog to what the host says of a list.
func (o *offer) metaWith(meta mcp.Meta) mcp.Meta {
	if o.meta == nil {
		return meta
	}
	out := mcp.Meta{}
	maps.Copy(out, meta)
	maps.Copy(out, o.meta)
	return out
}
