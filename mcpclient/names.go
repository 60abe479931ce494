package mcpclient

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

const (
	// MaxToolName is the longest exposed name of a tool, in bytes.
	MaxToolName = 64

	namePrefix = "mcp"
	nameJoint  = "__"
	nameHash   = 10 // characters of the hash
)

// ToolName returns the name under which a tool is exposed:
// mcp__PLUGIN__SERVER__TOOL, or mcp__SERVER__TOOL where plugin is empty. It has
// only letters, digits, _ and -, and at most [MaxToolName] of them, whatever
// the three are, and it depends on them alone: not on what else is loaded, or
// in which order.
//
// Where the three stand in the name as they are, the name says which tool it
// is. Otherwise, that is if a character was replaced or cut, or a part is empty,
// contains __, or begins or ends with _, a hash of the three follows, so that
// two tools have one name only if somebody looks for such a pair.
func ToolName(plugin, server, tool string) string {
	parts := []string{server, tool}
	if plugin != "" {
		parts = []string{plugin, server, tool}
	}
	exact := true
	for i, p := range parts {
		clean := nameChars(p)
		if clean != p || p == "" || strings.Contains(p, nameJoint) || p[0] == '_' || p[len(p)-1] == '_' {
			exact = false
		}
		parts[i] = clean
	}
	if name := joinName(parts); exact && len(name) <= MaxToolName {
		return name
	}
	for len(joinName(parts)) > MaxToolName-1-nameHash {
		longest := 0
		for i := range parts {
			if len(parts[i]) >= len(parts[longest]) {
				longest = i
			}
		}
		parts[longest] = parts[longest][:len(parts[longest])-1]
	}
	return joinName(parts) + "_" + hashName(plugin, server, tool)
}

func joinName(parts []string) string {
	return namePrefix + nameJoint + strings.Join(parts, nameJoint)
}

// nameChars replaces each character that a tool's name may not have. What is
// far too long is cut here, before it is worked on.
func nameChars(s string) string {
	if len(s) > 4*MaxToolName {
		s = s[:4*MaxToolName] + "\x00"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

func hashName(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)))[:nameHash]
}
