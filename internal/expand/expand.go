package expand

import "strings"

// The placeholders, exactly as they stand in a configuration.
const (
	PluginRoot = "${PLUGIN_ROOT}"
	PluginData = "${PLUGIN_DATA}"
)

// Vars are the values of the placeholders. The zero value replaces both by
// nothing. Vars is plain data and safe for concurrent use.
type Vars struct {
	Root string // replaces ${PLUGIN_ROOT}: the absolute path of the resolved plugin root
	Data string // replaces ${PLUGIN_DATA}: the absolute path of the instance's data directory
}

// Expand returns s with every occurrence of a placeholder replaced, in one
// pass from left to right (AP §9.2). The result can be much longer than s;
// [Vars.Size] says how long before it is made.
func (v Vars) Expand(s string) string {
	if !strings.Contains(s, "${PLUGIN_") {
		return s
	}
	return strings.NewReplacer(PluginRoot, v.Root, PluginData, v.Data).Replace(s)
}

// Size returns the length in bytes of what Expand would return.
func (v Vars) Size(s string) int {
	roots, data := strings.Count(s, PluginRoot), strings.Count(s, PluginData)
	return len(s) + roots*(len(v.Root)-len(PluginRoot)) + data*(len(v.Data)-len(PluginData))
}
