package catalog

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plugberth/plugberth/internal/toolschema"
	"github.com/plugberth/plugberth/plugin"
)

// Generation is one life of a catalog. A catalog that is made later, as after
// its process was started again, has a greater one. The zero value is smaller
// than all.
type Generation struct {
	start  int64 // nanoseconds since 1970
	random uint64
}

func newGeneration(now time.Time) Generation {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return Generation{max(now.UnixNano(), 1), binary.BigEndian.Uint64(b[:])}
}

// Compare returns -1, 0 or 1: by the time at which the catalogs were made and,
// where that is the same, by chance.
func (g Generation) Compare(o Generation) int {
	return cmp.Or(cmp.Compare(g.start, o.start), cmp.Compare(g.random, o.random))
}

// String returns the generation as 32 hexadecimal digits, which sort as
// Compare does.
func (g Generation) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(g.start))
	binary.BigEndian.PutUint64(b[8:], g.random)
	return hex.EncodeToString(b[:])
}

// MarshalText writes what [Generation.String] returns.
func (g Generation) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (g *Generation) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != 16 || b[0] > 0x7f {
		return errors.New("catalog: not a generation")
	}
	*g = Generation{int64(binary.BigEndian.Uint64(b[:8])), binary.BigEndian.Uint64(b[8:])}
	return nil
}

// Entry is one tool of a snapshot.
type Entry struct {
	// Name is the exposed name.
	Name string `json:"exposed"`
	// Plugin is the name of the plugin that declares the tool. It is empty where
	// a bridge offers it and it belongs to no one plugin.
	Plugin string `json:"plugin"`
	// Source is the kind of the bridge that offers the tool, and empty where the
	// plugin declares it itself.
	Source string `json:"source,omitempty"`
	Tool

	in, out *toolschema.Schema
}

// Equal reports whether both are the same tool, declared in the same way.
func (e Entry) Equal(o Entry) bool {
	return e.Name == o.Name && e.Plugin == o.Plugin && e.Source == o.Source && e.Tool.equal(o.Tool)
}

// CheckInput judges the arguments of a call, a JSON object or nothing, by the
// input schema, and refuses what another reader would take for other members. Its
// error names what is wrong in words for whoever wrote them, and quotes no value.
func (e Entry) CheckInput(arguments json.RawMessage) error {
	if e.in == nil {
		return ErrSnapshot
	}
	if err := e.in.ValidateJSON(arguments); err != nil || len(arguments) == 0 {
		return err
	}
	var v any
	if err := json.Unmarshal(arguments, &v); err != nil {
		return err
	}
	return e.in.CheckNames(arguments, v)
}

// CheckOutput judges the structured content of a result, decoded JSON with
// numbers as float64, by the output schema. Without one everything fits.
func (e Entry) CheckOutput(content any) error {
	if e.out == nil {
		return nil
	}
	if content == nil {
		return errors.New("there is no structured content")
	}
	return e.out.Validate(content)
}

// On reports whether the tool is seen on a surface. None is seen on "".
func (e Entry) On(surface string) bool {
	return surface != "" && slices.Contains(e.Surfaces, surface)
}

// Snapshot is the catalog at one moment. It is immutable, safe for concurrent
// use, and survives JSON. The zero value is empty and older than all.
type Snapshot struct {
	generation Generation
	revision   uint64
	entries    []Entry // sorted by name
}

// Generation returns the life of the catalog.
func (s *Snapshot) Generation() Generation { return s.generation }

// Revision returns the number of the snapshot in its generation, from 1, one
// more after each change of the content.
func (s *Snapshot) Revision() uint64 { return s.revision }

// Newer reports whether s is to be taken in place of old, which may be nil: its
// generation is greater, or that is the same and its revision is greater.
func (s *Snapshot) Newer(old *Snapshot) bool {
	if old == nil {
		return true
	}
	return cmp.Or(s.generation.Compare(old.generation), cmp.Compare(s.revision, old.revision)) > 0
}

// Len returns the number of tools.
func (s *Snapshot) Len() int { return len(s.entries) }

// Entries returns all tools, sorted by their exposed names.
func (s *Snapshot) Entries() []Entry { return cloneEntries(s.entries) }

// Lookup returns the tool of an exposed name.
func (s *Snapshot) Lookup(name string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(s.entries, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		return Entry{}, false
	}
	e := s.entries[i]
	e.Tool = e.Tool.clone()
	return e, true
}

// Seen returns the tools of a surface, sorted. On "" there are none.
func (s *Snapshot) Seen(surface string) []Entry {
	var out []Entry
	for _, e := range s.entries {
		if e.On(surface) {
			e.Tool = e.Tool.clone()
			out = append(out, e)
		}
	}
	return out
}

func cloneEntries(list []Entry) []Entry {
	out := slices.Clone(list)
	for i := range out {
		out[i].Tool = out[i].Tool.clone()
	}
	return out
}

type snapshotJSON struct {
	Generation Generation `json:"generation"`
	Revision   uint64     `json:"revision"`
	Tools      []Entry    `json:"tools"`
}

// MarshalJSON writes the snapshot.
func (s *Snapshot) MarshalJSON() ([]byte, error) {
	out := snapshotJSON{s.generation, s.revision, s.entries}
	if out.Tools == nil {
		out.Tools = []Entry{}
	}
	return json.Marshal(out)
}

// ErrSnapshot: a text is no snapshot, or a tool in it breaks a rule.
var ErrSnapshot = errors.New("catalog: not a snapshot")

// UnmarshalJSON reads a snapshot and judges its tools as declaring them would.
// It fails with [ErrSnapshot] and leaves s as it is. It must not be called on a
// snapshot that is in use.
func (s *Snapshot) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil // which encoding/json takes for nothing
	}
	var in snapshotJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if (in.Generation == Generation{}) != (in.Revision == 0) || in.Revision == 0 && len(in.Tools) > 0 {
		return fmt.Errorf("%w: it has tools but no generation and revision", ErrSnapshot)
	}
	count := map[string]int{}
	for i := range in.Tools {
		e := &in.Tools[i]
		fail := func(reason any) error {
			return fmt.Errorf("%w: %w", ErrSnapshot, &DeclarationError{e.Plugin, e.Tool.Name, fmt.Errorf("%w: %v", ErrDeclaration, reason)})
		}
		check, checkPlugin, most := Tool.check, plugin.CheckName, maxTools
		if e.Source != "" {
			check, checkPlugin, most = Tool.checkBridged, checkBridgedPlugin, MaxBridged
		}
		e.InputSchema, e.OutputSchema = unescaped(e.InputSchema), unescaped(e.OutputSchema)
		var err error
		if e.in, e.out, err = check(e.Tool); err != nil {
			return fail(err)
		}
		if err := checkPlugin(e.Plugin); err != nil {
			return fail(err)
		}
		of := e.Source + "\x00" + e.Plugin
		if count[of]++; count[of] > most {
			return fail("the plugin has too many tools")
		}
		switch {
		case e.Source == "" && !exposes(e.Name, e.Plugin, e.Tool.Name), e.Source != "" && e.Name != e.Tool.Name:
			return fail("its exposed name is not that of the plugin's tool")
		case e.Source != "" && !sourceName.MatchString(e.Source):
			return fail("its source is no name of one")
		}
		if i > 0 && in.Tools[i-1].Name >= e.Name {
			return fail("the tools are not sorted, or a name stands twice")
		}
		e.Tool = e.normal(e.in, e.out)
	}
	*s = Snapshot{in.Generation, in.Revision, in.Tools}
	return nil
}

// exposes reports whether name is what some prefix makes of a plugin's tool.
func exposes(name, plugin, tool string) bool {
	for i := range min(len(name), 17) {
		if name[i] == '_' && prefixName.MatchString(name[:i]) && ExposedName(name[:i], plugin, tool) == name {
			return true
		}
	}
	return false
}
