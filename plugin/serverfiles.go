package plugin

import (
	"cmp"
	"crypto/sha256"
	"path"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/expand"
)

// serverFiles finds the files of a package that a stdio server starts with, as
// far as its entry names them.
type serverFiles struct {
	p     *Plugin
	sums  []fileSum
	known map[string]namedFile // by location
	texts map[string][]string  // locations by the working directory and a text
}

// namedFile is a file or directory of the package and what it holds.
type namedFile struct {
	path string // resolved, relative to the root
	dir  bool
	exec bool
	sum  [sha256.Size]byte
}

func newServerFiles(p *Plugin, sums []fileSum) *serverFiles {
	return &serverFiles{p: p, sums: sums, known: map[string]namedFile{}, texts: map[string][]string{}}
}

// program returns the file that a command inside the package leads to.
func (f *serverFiles) program(s *Server) namedFile {
	if !strings.HasPrefix(s.stdio.Command, "./") {
		return namedFile{}
	}
	name, _ := f.resolve(s.stdio.Command)
	return f.at(name)
}

// cwd returns the directory below the root in which the server is started, ""
// where that is another or not known.
func (f *serverFiles) cwd(s *Server) string {
	if s.typ != TransportStdio {
		return ""
	}
	if s.stdio.Cwd == "" {
		return "."
	}
	base, below, fault := parseCwd(s.stdio.Cwd)
	if fault != nil || base != cwdRoot {
		return ""
	}
	name, _ := f.resolve(below)
	return name
}

// resolve returns where a path below the root leads to.
func (f *serverFiles) resolve(name string) (at string, there bool) {
	loc, err := f.p.root.Resolve(name)
	if err != nil {
		return "", false
	}
	return loc.Name(), loc.Exists()
}

// named returns the files and directories of the package that the arguments and
// variables of a server name, sorted by path: behind ${PLUGIN_ROOT}, and of
// arguments also relative to the working directory.
func (f *serverFiles) named(s *Server) []namedFile {
	cwd := f.cwd(s)
	names := map[string]bool{}
	for _, arg := range s.stdio.Args {
		for _, name := range f.inText(cwd, arg) {
			names[name] = true
		}
	}
	for _, value := range s.stdio.Env {
		for _, name := range f.inText("", value) {
			names[name] = true
		}
	}
	out := make([]namedFile, 0, len(names))
	for name := range names {
		out = append(out, f.at(name))
	}
	slices.SortFunc(out, func(a, b namedFile) int { return cmp.Compare(a.path, b.path) })
	return out
}

// inText returns what a text names.
func (f *serverFiles) inText(cwd, text string) []string {
	key := cwd + "\x00" + text
	if known, ok := f.texts[key]; ok {
		return known
	}
	var out []string
	add := func(name string) bool {
		at, there := f.resolve(name)
		if there {
			out = append(out, at)
		}
		return there
	}
	parts := strings.Split(text, expand.PluginRoot)
	for _, rest := range parts[1:] {
		rest = "." + rest
		if rest != "." && !strings.HasPrefix(rest, "./") {
			rest, _, _ = strings.Cut(rest, "/") // a list may go on behind the root itself
		}
		// The path goes to the end, or to where a list of paths goes on.
		if !add(rest) {
			if end := strings.IndexAny(rest, `:;,"' `); end >= 0 {
				add(rest[:end])
			}
		}
	}
	if len(parts) == 1 && cwd != "" && text != "" && !add(path.Join(cwd, text)) {
		if _, value, _ := strings.Cut(text, "="); value != "" {
			add(path.Join(cwd, value))
		}
	}
	f.texts[key] = out
	return out
}

// at returns what stands at a location.
func (f *serverFiles) at(name string) namedFile {
	if known, ok := f.known[name]; ok || name == "" {
		return known
	}
	out := namedFile{path: name}
	if file, ok := find(f.sums, name); ok {
		out.exec, out.sum = file.exec, file.sum
	} else {
		out.dir = true
		h := sha256.New()
		prefix := name + "/"
		if name == "." {
			prefix = ""
		}
		from, _ := slices.BinarySearchFunc(f.sums, prefix, func(f fileSum, name string) int { return cmp.Compare(f.path, name) })
		for _, file := range f.sums[from:] {
			if !strings.HasPrefix(file.path, prefix) {
				break
			}
			mode := byte('-')
			if file.exec {
				mode = 'x'
			}
			h.Write(file.sum[:])
			h.Write(append(append([]byte{mode}, file.path[len(prefix):]...), 0))
		}
		h.Sum(out.sum[:0])
	}
	f.known[name] = out
	return out
}
