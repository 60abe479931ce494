package catalog

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
)

// maxName is the longest exposed name, in characters.
const maxName = 64

const nameHash = 8 // characters of the hash of a name that was cut

var sourceName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

var prefixName = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9_]{0,14}[a-z0-9])?$`)

// ExposedName returns the name under which agents see a plugin's tool:
// PREFIX_PLUGIN_TOOL, with the hyphens and dots of the plugin's name as _. Where
// that has more than 64 characters, the plugin's part is cut and a hash
// of plugin and tool follows, so that the name stays the same whatever else is
// declared.
func ExposedName(prefix, plugin, tool string) string {
	slug := strings.NewReplacer("-", "_", ".", "_").Replace(plugin)
	name := prefix + "_" + slug + "_" + tool
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(plugin + "\x00" + tool))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:nameHash]
	room := maxName - len(prefix) - len(tool) - nameHash - len("___")
	return prefix + "_" + slug[:max(room, 0)] + "_" + tool + "_" + hash
}
