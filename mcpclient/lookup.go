package mcpclient

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
)

// search looks a bare command up as the platform does (AP §7.2.1), but never
// in the current directory and never in an empty or relative entry of PATH,
// which are the current directory too: what stands there is up to whoever chose
// it. It works for both kinds of systems on each, given what is there.
type search struct {
	windows bool
	path    string // PATH
	pathExt string // PATHEXT, on Windows
	// check says what is wrong with starting the program at an absolute path.
	check func(path string) error
}

// startable are the extensions that Windows can start a process of. PATHEXT
// lists documents too, which need another program.
var startable = []string{".com", ".exe", ".bat", ".cmd"}

// find returns the absolute path of the program.
func (s search) find(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || s.windows && strings.ContainsAny(name, `\:`) {
		return "", fmt.Errorf("%s is no program name", printable.Quote(name))
	}
	names := []string{name}
	if s.windows {
		names = s.extended(name)
	}
	var unusable error // the first that is there and cannot be started
	for _, dir := range s.dirs() {
		for _, n := range names {
			p := s.join(dir, n)
			err := s.check(p)
			if err == nil {
				return p, nil
			}
			if unusable == nil && !errors.Is(err, fs.ErrNotExist) {
				unusable = err
			}
		}
	}
	switch {
	case unusable != nil:
		return "", fmt.Errorf("%s is in no directory of PATH as a program: %w", printable.Quote(name), unusable)
	case s.path == "":
		return "", fmt.Errorf("%s cannot be looked up: the base environment has no PATH", printable.Quote(name))
	}
	return "", fmt.Errorf("%s is in no directory of PATH: install it, or have PATH name its directory", printable.Quote(name))
}

// dirs returns the absolute entries of PATH.
func (s search) dirs() []string {
	var dirs []string
	if !s.windows {
		for dir := range strings.SplitSeq(s.path, ":") {
			if strings.HasPrefix(dir, "/") {
				dirs = append(dirs, dir)
			}
		}
		return dirs
	}
	// Quotes keep a semicolon in an entry, and are no part of it.
	quoted := false
	entries := strings.FieldsFunc(s.path, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ';' && !quoted
	})
	for _, dir := range entries {
		if dir = strings.ReplaceAll(dir, `"`, ""); absoluteOnWindows(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// absoluteOnWindows reports whether a path names its drive or share and begins
// at its root, so that no current directory has a part in it.
func absoluteOnWindows(p string) bool {
	slash := func(i int) bool { return i < len(p) && (p[i] == '\\' || p[i] == '/') }
	if slash(0) {
		return slash(1) && len(p) > 2 && !slash(2)
	}
	return len(p) >= 3 && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z') && p[1] == ':' && slash(2)
}

func (s search) join(dir, name string) string {
	if !s.windows {
		return strings.TrimRight(dir, "/") + "/" + name
	}
	return strings.TrimRight(dir, `\/`) + `\` + name
}

// extended returns the names under which Windows looks for a program, in the
// order of PATHEXT, the name itself first where it has such an extension.
func (s search) extended(name string) []string {
	var exts []string
	list := s.pathExt
	if list == "" {
		list = strings.Join(startable, ";")
	}
	for ext := range strings.SplitSeq(strings.ToLower(list), ";") {
		for _, e := range startable {
			if ext == e {
				exts = append(exts, ext)
			}
		}
	}
	var names []string
	for _, ext := range exts {
		if strings.HasSuffix(strings.ToLower(name), ext) {
			names = append(names, name)
		}
	}
	for _, ext := range exts {
		names = append(names, name+ext)
	}
	return names
}
