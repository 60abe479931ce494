// Package program tells files that can be run from others, by their first bytes
// and by their names.
package program

import (
	"bytes"
	"encoding/binary"
	"path"
	"strings"
)

// Native returns what kind of native program, library or bytecode begins so, or
// "".
func Native(head []byte) string {
	at := func(off int) (n uint32) {
		if len(head) >= off+4 {
			n = binary.BigEndian.Uint32(head[off:])
		}
		return n
	}
	switch at(0) {
	case 0x7f454c46:
		return "ELF"
	case 0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe:
		return "Mach-O"
	case 0xcafebabe, 0xcafebabf: // a fat Mach-O has few architectures where a Java class has its version
		if n := at(4); n > 0 && n < 40 {
			return "Mach-O"
		}
		return "Java class"
	case 0x0061736d:
		return "WebAssembly"
	}
	if bytes.HasPrefix(head, []byte("MZ")) && len(head) >= 64 {
		if off := int64(binary.LittleEndian.Uint32(head[60:])); off+4 > int64(len(head)) || bytes.HasPrefix(head[off:], []byte("PE\x00\x00")) {
			return "PE"
		}
		return "DOS"
	}
	return ""
}

// IsScript reports whether a file that begins so names its interpreter.
func IsScript(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(head, []byte("\ufeff")), []byte("#!"))
}

// Name is what the name of a file says of how it is run.
type Name struct {
	Kind string // in words, such as "shell script"
	// System says that a shell or desktop runs it when it is opened, rather than
	// an interpreter that is asked to.
	System bool
}

// ByName returns what an ending of a name says, in any letter case, or false.
func ByName(name string) (Name, bool) {
	n, ok := names[strings.ToLower(path.Ext(name))]
	return n, ok
}

var names = func() map[string]Name {
	m := map[string]Name{}
	for _, n := range []struct {
		Name
		endings string
	}{
		{Name{"shell script", true}, ".sh .bash .zsh .fish .ksh .csh .command"},
		{Name{"Windows script", true}, ".bat .cmd .ps1 .psm1 .vbs .vbe .jse .wsf .wsh .hta .reg .lnk .pif"},
		{Name{"Windows program", true}, ".exe .com .scr .cpl .dll .msi .msix"},
		{Name{"program", true}, ".app .run .so .dylib .jar"},
		{Name{"desktop entry", true}, ".desktop"},
		{Name{"AppleScript", true}, ".applescript .scpt .workflow"},
		{Name{"Python script", false}, ".py .pyw"},
		{Name{"Ruby script", false}, ".rb"},
		{Name{"Perl script", false}, ".pl"},
		{Name{"PHP script", false}, ".php"},
		{Name{"Lua script", false}, ".lua"},
		{Name{"Tcl script", false}, ".tcl"},
		{Name{"R script", false}, ".r"},
		{Name{"Julia script", false}, ".jl"},
		{Name{"AWK script", false}, ".awk"},
		{Name{"JavaScript", false}, ".js .mjs .cjs"},
		{Name{"TypeScript", false}, ".ts .mts .cts"},
	} {
		for ending := range strings.FieldsSeq(n.endings) {
			m[ending] = n.Name
		}
	}
	return m
}()
