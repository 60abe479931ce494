package plugin

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/expand"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

// Errors of [Plugin.LaunchPlan], to be matched with errors.Is. A command or
// cwd that leads outside fails with paths.ErrEscape instead.
var (
	// ErrNoDirectory: the plugin was not loaded from a directory.
	ErrNoDirectory = errors.New("plugin: no launch plan without a directory")
	// ErrNoServer: the plugin has no valid server of that name.
	ErrNoServer = errors.New("plugin: no such server")
	// ErrNotStdio: the server is a remote one.
	ErrNotStdio = errors.New("plugin: not a stdio server")
	// ErrNotEnabled: the options of the load do not support or allow the
	// server's transport; see [Server.Status].
	ErrNotEnabled = errors.New("plugin: the server is not enabled")
	// ErrDataDir: the data directory is not an absolute path, or something else
	// stands in its place, a link included.
	ErrDataDir = errors.New("plugin: unusable data directory")
	// ErrPlan: the plan cannot be made as the package stands now.
	ErrPlan = errors.New("plugin: no launch plan")
)

// maxPlan bounds what expansion may make of one plan's values together.
const maxPlan = 8 << 20

// LaunchPlan is how a stdio server is to be started, as plain data (AP §7.2.1,
// §9). Making one starts nothing and creates nothing. It does not hold the
// base environment, which the host chooses. JSON cannot hold paths that are not
// UTF-8.
type LaunchPlan struct {
	// Program is the resolved absolute path for a command that begins with
	// ./, and the bare name otherwise.
	Program string `json:"program"`
	// Args are the arguments without the program, expanded.
	Args []string `json:"args"`
	// Env is the entry's env, expanded, with PLUGIN_ROOT and PLUGIN_DATA, to
	// be laid over the base environment.
	Env map[string]string `json:"env"`
	// Dir is the working directory, absolute and resolved. One below
	// PLUGIN_DATA may be missing until launch.
	Dir string `json:"cwd"`
}

// LaunchPlan makes the plan of a stdio server. The data directory is the
// absolute path of this installed instance's PLUGIN_DATA, as [DataDir] names
// it; it need not exist, but nothing else, a link included, may stand in its
// place. Command and cwd are resolved anew, so a plan says what would be started
// now; whether the program is there and can be executed is not looked at. It fails
// with [ErrNoDirectory], [ErrNoServer], [ErrNotStdio], [ErrNotEnabled],
// [ErrDataDir], paths.ErrEscape or [ErrPlan].
func (p *Plugin) LaunchPlan(server, dataDir string) (*LaunchPlan, error) {
	if p.Dir() == "" {
		return nil, ErrNoDirectory
	}
	s := p.Server(server)
	if s == nil {
		return nil, ErrNoServer
	}
	if s.typ != TransportStdio {
		return nil, ErrNotStdio
	}
	if s.status != ServerEnabled {
		return nil, ErrNotEnabled
	}
	data, err := resolveDataDir(dataDir)
	if err != nil {
		return nil, err
	}
	vars := expand.Vars{Root: p.Dir(), Data: data}
	total := vars.Size(s.stdio.Cwd)
	for _, a := range s.stdio.Args {
		total += vars.Size(a)
	}
	for _, v := range s.stdio.Env {
		total += vars.Size(v)
	}
	if total > maxPlan {
		return nil, fmt.Errorf("%w: args and env are larger than %d bytes once expanded", ErrPlan, maxPlan)
	}

	plan := &LaunchPlan{Program: s.stdio.Command, Args: []string{}}
	if strings.HasPrefix(s.stdio.Command, "./") {
		loc, err := p.root.Resolve(s.stdio.Command)
		if err != nil {
			return nil, planError("command", err)
		}
		if loc.Exists() && !loc.IsRegular() {
			return nil, fmt.Errorf("%w: command leads to something that is no file", ErrPlan)
		}
		plan.Program = loc.Abs()
	}
	for _, a := range s.stdio.Args {
		plan.Args = append(plan.Args, vars.Expand(a))
	}
	plan.Env = overlay(s.stdio.Env, vars, runtime.GOOS == "windows")
	if plan.Dir, err = p.workingDir(s.stdio.Cwd, vars); err != nil {
		return nil, err
	}
	return plan, nil
}

// overlay expands an entry's env and sets the client's variables last. Names
// are compared as the platform does (AP §9.1): where several stand for one, the
// last in the order of their bytes counts, so that a plan is always the same.
func overlay(env map[string]string, vars expand.Vars, windows bool) map[string]string {
	out := make(map[string]string, len(env)+2)
	spelled := map[string]string{}
	set := func(name, value string) {
		key := name
		if windows {
			key = strings.ToUpper(name)
		}
		delete(out, spelled[key])
		spelled[key] = name
		out[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		set(name, vars.Expand(env[name]))
	}
	set(envRoot, vars.Root)
	set(envData, vars.Data)
	return out
}

// workingDir resolves a cwd that has been judged, after expansion (AP §7.2.1).
func (p *Plugin) workingDir(cwd string, vars expand.Vars) (string, error) {
	if cwd == "" {
		return vars.Root, nil
	}
	base, below, fault := parseCwd(cwd)
	if fault != nil {
		return "", fmt.Errorf("%w: %s", ErrPlan, fault.message)
	}
	below = vars.Expand(below)
	if err := paths.CheckRelative(below); err != nil {
		return "", fmt.Errorf("%w: cwd is %w", ErrPlan, err)
	}
	var loc paths.Location
	var err error
	if base == cwdData {
		loc, err = paths.Under(vars.Data, below)
	} else {
		loc, err = p.root.Resolve(below)
	}
	if err != nil {
		return "", planError("cwd", err)
	}
	if loc.Exists() && !loc.IsDir() {
		return "", fmt.Errorf("%w: cwd leads to something that is no directory", ErrPlan)
	}
	return loc.Abs(), nil
}

// planError says that a member's path cannot be resolved, without the path,
// which is the package's text.
func planError(member string, err error) error {
	if err = report.Innermost(err); errors.Is(err, paths.ErrEscape) {
		return fmt.Errorf("plugin: %s: %w", member, err)
	}
	return fmt.Errorf("%w: %s cannot be looked at: %w", ErrPlan, member, err)
}

// Digest returns a stable digest of the plan, "sha256:" and 64 hexadecimal
// digits: equal for equal plans on every machine, different for different
// ones. A host can remember which plan its user agreed to by it. It covers what
// the plan says, not the content of the files that it names.
//
// It is the SHA-256 of the text "plugberth launch plan 1", the program, the
// number of arguments and each of them, the number of variables and the name
// and value of each in the order of the names' bytes, and the directory; each
// text preceded by its length, lengths and numbers as 64-bit big-endian.
func (l LaunchPlan) Digest() string {
	d := newDigest("plugberth launch plan 1")
	d.text(l.Program)
	d.list(l.Args)
	d.members(l.Env)
	d.text(l.Dir)
	return d.sum()
}
