package plugin

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"github.com/plugberth/plugberth/internal/expand"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
)

// The variables that the client sets and an entry must not (AP §9.2).
const (
	envRoot = "PLUGIN_ROOT"
	envData = "PLUGIN_DATA"
)

const nul = "\x00"

// maxPath is the greatest length of a command or cwd: what systems open, and
// what keeps looking for a path cheap.
const maxPath = 4096

// judgeStdio judges the members of a stdio entry (AP §7.2.1, §9).
func (e *entry) judgeStdio() {
	s := &e.server.stdio
	for m := range e.value.Members() {
		switch v := m.Value; m.Name {
		case "command":
			if v.Kind() == strictjson.String {
				s.Command = v.Text()
				e.command(v)
			}
		case "args":
			s.Args = make([]string, 0, min(v.Len(), maxFaults))
			for i, a := range v.Elements() {
				if a.Kind() != strictjson.String {
					continue // said elsewhere
				}
				text := a.Text()
				s.Args = append(s.Args, text)
				if strings.Contains(text, nul) {
					e.add(finding.ServerNUL, fmt.Sprintf("/args/%d", i), a.Offset(), "an argument has a NUL character: remove it")
				}
			}
		case "env":
			s.Env = texts(v)
			for m := range v.Members() {
				e.env(m)
			}
		case "cwd":
			if v.Kind() == strictjson.String {
				s.Cwd = v.Text()
				e.cwd(v)
			}
		}
	}
}

// textFault is what is wrong with the text of a value.
type textFault struct {
	code    finding.Code
	message string
}

// checkCommand judges the text of a command: one token, a bare name or a path
// that begins with ./ (AP §7.2.1).
func checkCommand(c string) *textFault {
	invalid := func(message string) *textFault { return &textFault{finding.ServerCommandInvalid, message} }
	switch {
	case strings.Contains(c, nul):
		return &textFault{finding.ServerNUL, "command has a NUL character: remove it"}
	case c == "":
		return invalid("command is empty: name a program")
	case len(c) > maxPath:
		return &textFault{finding.ServerPathTooLong, "command is longer than 4096 bytes: shorten it"}
	case strings.HasPrefix(c, "./"):
		if err := paths.CheckRelative(c); err != nil {
			return invalid("command is " + err.Error())
		}
		return nil
	}
	first := c
	if i := strings.IndexFunc(c, unicode.IsSpace); i >= 0 {
		first = c[:i]
	}
	switch {
	case first == "." || first == ".." || strings.HasPrefix(first, "../"):
		return invalid("command is no program name: write ./ and a path inside the plugin")
	case strings.ContainsAny(first, `/\`) && strings.Contains(first, "${"):
		return invalid("placeholders are not expanded in command: write ./ and a path inside the plugin")
	case strings.ContainsAny(first, `/\`):
		return invalid("command is a path that does not begin with ./: write a bare name or a path inside the plugin")
	case first != c:
		return &textFault{finding.ServerCommandShellLine, "command looks like a shell line: keep the program's name and move the arguments to args"}
	}
	if err := paths.CheckRelative("./" + c); err != nil {
		return invalid("command is no program name: " + strings.TrimPrefix(err.Error(), paths.ErrForm.Error()+": "))
	}
	return nil
}

func (e *entry) command(v strictjson.Value) {
	const at = "/command"
	c := v.Text()
	if f := checkCommand(c); f != nil {
		e.add(f.code, at, v.Offset(), f.message)
		return
	}
	if !strings.HasPrefix(c, "./") {
		return
	}
	loc, err := e.root.Resolve(c)
	switch {
	case errors.Is(err, paths.ErrEscape):
		e.add(finding.ServerCommandEscapes, at, v.Offset(), "command leads outside the plugin root: ship the program inside the plugin")
	case errors.Is(err, paths.ErrTooLong):
		e.add(finding.ServerPathTooLong, at, v.Offset(), "command goes through too many components, those of its links included: shorten it")
	case err != nil:
		e.add(finding.ServerPathUnreadable, at, v.Offset(), "command cannot be looked at: %s", report.Cause(err))
	case !loc.Exists():
		e.add(finding.ServerCommandMissing, at, v.Offset(), "command names a file that is not there: ship it or correct the path")
	case !loc.IsRegular():
		e.add(finding.ServerCommandNotRegular, at, v.Offset(), "command leads to something that is no file: name the program")
	}
}

func (e *entry) env(m strictjson.Member) {
	at := "/env" + strictjson.Pointer(m.Name)
	switch {
	case m.Name == "" || strings.ContainsAny(m.Name, "="+nul):
		e.add(finding.ServerEnvName, at, m.Offset, "an environment name is not empty and has no = and no NUL: correct it")
	case reservedEnv(m.Name, runtime.GOOS == "windows"):
		e.add(finding.ServerEnvReserved, at, m.Offset, "%s is set by the client: remove it from env", printable.Quote(m.Name))
	}
	if m.Value.Kind() == strictjson.String && strings.Contains(m.Value.Text(), nul) {
		e.add(finding.ServerNUL, at, m.Value.Offset(), "the value of %s has a NUL character: remove it", printable.Quote(m.Name))
	}
}

// reservedEnv reports whether an entry of that name would stand for one of the
// client's variables, by the platform's reading of names.
func reservedEnv(name string, windows bool) bool {
	if windows {
		return strings.EqualFold(name, envRoot) || strings.EqualFold(name, envData)
	}
	return name == envRoot || name == envData
}

// cwdBase says what a cwd is relative to.
type cwdBase uint8

const (
	cwdRoot cwdBase = iota
	cwdData
)

// parseCwd judges the text of a cwd and splits it into its base and the path
// below it, which begins with ./ (AP §7.2.1).
func parseCwd(cwd string) (base cwdBase, below string, fault *textFault) {
	if strings.Contains(cwd, nul) {
		return 0, "", &textFault{finding.ServerNUL, "cwd has a NUL character: remove it"}
	}
	if len(cwd) > maxPath {
		return 0, "", &textFault{finding.ServerPathTooLong, "cwd is longer than 4096 bytes: shorten it"}
	}
	below = cwd
	if !strings.HasPrefix(cwd, "./") {
		ok := false
		if below, ok = afterPlaceholder(cwd, expand.PluginRoot); !ok {
			base = cwdData
			if below, ok = afterPlaceholder(cwd, expand.PluginData); !ok {
				return 0, "", &textFault{finding.ServerCwdInvalid,
					"cwd is none of ./…, ${PLUGIN_ROOT}, ${PLUGIN_ROOT}/…, ${PLUGIN_DATA}, ${PLUGIN_DATA}/…: write one of them or leave it out"}
			}
		}
	}
	if err := paths.CheckRelative(below); err != nil {
		return 0, "", &textFault{finding.ServerCwdInvalid, "cwd is " + err.Error()}
	}
	return base, below, nil
}

// afterPlaceholder returns the path behind a placeholder, beginning with ./.
func afterPlaceholder(cwd, placeholder string) (below string, ok bool) {
	rest, ok := strings.CutPrefix(cwd, placeholder)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return "./" + strings.TrimLeft(rest, "/"), true
}

func (e *entry) cwd(v strictjson.Value) {
	const at = "/cwd"
	base, below, f := parseCwd(v.Text())
	if f != nil {
		e.add(f.code, at, v.Offset(), f.message)
		return
	}
	escapes := func(what string) {
		e.add(finding.ServerCwdEscapes, at, v.Offset(), "cwd leads outside the %s: choose a directory inside", what)
	}
	below, whole := e.known(below)
	if base == cwdData {
		// There is no data directory yet, so the path applies lexically.
		if c := path.Clean(filepath.ToSlash(below)); c == ".." || strings.HasPrefix(c, "../") {
			escapes("data directory")
		}
		return
	}
	loc, err := e.root.Resolve(below)
	switch {
	case errors.Is(err, paths.ErrEscape):
		escapes("plugin root")
	case errors.Is(err, paths.ErrTooLong):
		e.add(finding.ServerPathTooLong, at, v.Offset(), "cwd goes through too many components, those of its links included: shorten it")
	case err != nil:
		e.add(finding.ServerPathUnreadable, at, v.Offset(), "cwd cannot be looked at: %s", report.Cause(err))
	case !loc.Exists():
		e.add(finding.ServerCwdMissing, at, v.Offset(), "cwd names a directory that is not there: ship it or correct the path")
	case !loc.IsDir() && whole:
		e.add(finding.ServerCwdNotDirectory, at, v.Offset(), "cwd leads to something that is no directory: name a directory")
	}
}

// known expands what can be expanded of a path before launch, and cuts it before
// the first component that cannot; whole says that nothing was cut.
func (e *entry) known(below string) (path string, whole bool) {
	if dir := e.root.Dir(); dir != "" {
		// One placeholder stays in the text, so it stands for itself.
		below = expand.Vars{Root: dir, Data: expand.PluginData}.Expand(below)
	}
	cut := len(below)
	for _, placeholder := range []string{expand.PluginRoot, expand.PluginData} {
		if i := strings.Index(below, placeholder); i >= 0 {
			cut = min(cut, strings.LastIndexByte(below[:i], '/'))
		}
	}
	return below[:cut], cut == len(below)
}
