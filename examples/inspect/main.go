// Inspect shows what is in Agent Plugins packages, what was left out, and why.
//
// Usage:
//
//	inspect [-json | -sarif | -lines] [-lenient] [-lint] [-fail-on LEVEL] [-data DIR] PATH...
//
// Each PATH is the directory of one plugin; one that stands twice is looked at
// once. With -json, standard output is one JSON document a path and nothing else. With -lenient, skills with faults that
// some hosts forgive are kept, each with a warning. With -data, each stdio server is shown
// with its launch plan, for a plugin installed with its data below DIR; nothing
// is started or created.
//
// With -sarif, standard output is one SARIF 2.1.0 document for all paths, for
// code scanning. Files are named relative to the working directory, so run it
// at the root of the repository. A finding about a file as a whole is put at
// its first line. A path that could not be read makes the run unsuccessful
// and has a notification; do not upload such a document, because code scanning
// takes what it does not list for corrected.
//
// With -lines, standard output is one line a finding, for editors and the problem
// matchers of CI systems:
//
//	plugins/notes/skills/review/SKILL.md:3:14: error: what to change [skill-invalid-yaml]
//
// Files are named, and findings about a whole file are placed, as with -sarif.
//
// The exit status is 0 when every plugin loaded without an error finding, 1
// when one was rejected or has an error finding, and 2 when the program could
// not do its work. -fail-on warning makes a warning count like an error, and
// -fail-on never leaves 0 and 2 only.
//
// For GitHub Actions there is an action that builds and runs this program, in
// .github/actions/inspect; workflow.yml, beside this file, uses it and can be
// copied as it is to .github/workflows of the repository of a plugin.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK = iota
	statusFindings
	statusFailed
)

// failNever is above every severity.
const failNever = finding.SeverityError + 1

// failLevels are the severities from which on a finding makes the exit status 1.
var failLevels = map[string]finding.Severity{
	"error": finding.SeverityError, "warning": finding.SeverityWarning, "never": failNever,
}

// result is what became of one path.
type result struct {
	path     string
	plugin   *plugin.Plugin // nil where it was rejected
	findings finding.List
	plans    map[string]*plugin.LaunchPlan // by server, with -data
	planErrs []error
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: inspect [-json | -sarif | -lines] [-lenient] [-lint] [-fail-on LEVEL] [-data DIR] PATH...\n")
		flags.PrintDefaults()
	}
	asJSON := flags.Bool("json", false, "print one JSON document a path")
	asSARIF := flags.Bool("sarif", false, "print one SARIF document for code scanning")
	asLines := flags.Bool("lines", false, "print one line a finding, with its place, for editors and logs")
	lenient := flags.Bool("lenient", false, "keep skills with faults that some hosts forgive, with warnings")
	lint := flags.Bool("lint", false, "also say what is allowed but likely not meant")
	fails := finding.SeverityError
	flags.Func("fail-on", "exit with 1 from findings of `LEVEL` on: error, warning or never (default error)", func(level string) error {
		var ok bool
		if fails, ok = failLevels[level]; !ok {
			return errors.New("not error, warning or never")
		}
		return nil
	})
	data := flags.String("data", "", "show launch plans, for plugin data below `DIR`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusFailed
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return statusFailed
	}
	switch {
	case *asSARIF && (*asJSON || *asLines || *data != ""):
		fmt.Fprintf(stderr, "inspect: -sarif shows findings only: leave out -json and -data, and -lines\n")
		return statusFailed
	case *asLines && (*asJSON || *data != ""):
		fmt.Fprintf(stderr, "inspect: -lines shows findings only: leave out -json and -data\n")
		return statusFailed
	}
	paths := distinct(flags.Args())
	opts := plugin.Options{Lint: *lint}
	if *lenient {
		opts.SkillMode = skills.Lenient
	}

	var show shower
	var err error
	switch {
	case *asJSON:
		show = jsonShower{stdout}
	case *asSARIF:
		show, err = newSARIF(stdout, stderr)
	case *asLines:
		show, err = newLines(stdout)
	default:
		show = newText(stdout, len(paths))
	}
	if err != nil {
		fmt.Fprintf(stderr, "inspect: %s\n", clean(err.Error()))
		return statusFailed
	}
	progress := newProgress(stderr, len(paths))
	status := statusOK
	for _, path := range paths {
		r, err := inspect(ctx, path, opts, *data)
		progress.clear()
		if err != nil {
			if _, known := option(flags, path); known {
				err = errors.New("options stand before paths")
			}
			err = errors.New(reason(path, err))
			show.unreadable(path, err)
		} else {
			err = show.result(r)
		}
		if err != nil {
			fmt.Fprintf(stderr, "inspect: %s: %s\n", clean(cmp.Or(path, `""`)), clean(err.Error()))
			status = statusFailed
			if ctx.Err() != nil {
				return status
			}
			continue
		}
		for _, err := range r.planErrs {
			fmt.Fprintf(stderr, "inspect: %s: %s\n", clean(path), clean(err.Error()))
		}
		if fails != failNever && (len(r.findings.AtLeast(fails)) > 0 || len(r.planErrs) > 0) {
			status = max(status, statusFindings)
		}
		progress.step()
	}
	progress.clear()
	if err := show.end(status); err != nil {
		fmt.Fprintf(stderr, "inspect: %s\n", clean(err.Error()))
		status = statusFailed
	}
	return status
}

// inspect loads one plugin. The error is for a path that is no directory that
// could be read.
func inspect(ctx context.Context, path string, opts plugin.Options, data string) (*result, error) {
	r := &result{path: path}
	p, err := plugin.Load(ctx, path, opts)
	if r.findings, err = plugin.FindingsOf(p, err); err != nil {
		return nil, err
	}
	r.plugin = p
	for i, f := range r.findings {
		if f.Code == finding.ManifestMissing {
			r.findings[i].Message += pluginsBelow(path)
		}
	}
	if p == nil || data == "" {
		return r, nil
	}
	id, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir, err := plugin.DataDir(data, plugin.Instance{ID: id})
	if err != nil {
		return nil, err
	}
	r.plans = map[string]*plugin.LaunchPlan{}
	for _, s := range p.Servers() {
		if s.Type() != plugin.TransportStdio {
			continue
		}
		plan, err := p.LaunchPlan(s.Name(), dir)
		if err != nil {
			r.planErrs = append(r.planErrs, fmt.Errorf("no launch plan for server %q: %w", s.Name(), err))
			continue
		}
		r.plans[s.Name()] = plan
	}
	return r, nil
}

// distinct leaves out paths that stand there already, however they are written.
func distinct(args []string) []string {
	var out []string
	seen := map[string]bool{"": true} // which is no path, and is not the same as .
	for _, path := range args {
		if clean := filepath.Clean(path); path == "" || !seen[clean] {
			seen[clean] = true
			out = append(out, path)
		}
	}
	return out
}

// option returns the option that an argument looks like.
func option(flags *flag.FlagSet, arg string) (*flag.Flag, bool) {
	if !strings.HasPrefix(arg, "-") {
		return nil, false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	f := flags.Lookup(name)
	return f, f != nil
}

// reason says why a path could not be looked at, and what to write instead.
func reason(path string, err error) string {
	info, statErr := os.Stat(path)
	switch {
	case path == "":
		return "the path is empty: name the directory of a plugin, or . for the working directory"
	case statErr == nil && !info.IsDir() && strings.EqualFold(filepath.Base(path), "plugin.json"):
		return "this is a file: name its directory, " + filepath.Dir(path)
	case statErr == nil && !info.IsDir():
		return "this is no directory: name the directory of a plugin"
	case errors.Is(statErr, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		return "nothing matches this pattern"
	}
	var at *fs.PathError // whose path is said already
	if errors.As(err, &at) {
		err = at.Err
	}
	return strings.TrimPrefix(err.Error(), "plugin: ")
}

// pluginsBelow says, behind the message that a directory has no manifest, which
// plugins it holds instead.
func pluginsBelow(dir string) string {
	// A path may hold characters that are patterns.
	quoted := strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
	for _, pattern := range []string{"*", filepath.Join("*", "*")} {
		found, _ := filepath.Glob(filepath.Join(quoted, pattern, "plugin.json"))
		var parents []string
		n := 0
		for _, manifest := range found {
			plugin := filepath.Dir(manifest)
			if strings.HasPrefix(filepath.Base(plugin), ".") {
				continue // of one client
			}
			n++
			if parent := filepath.Join(filepath.Dir(plugin), "*"); !slices.Contains(parents, parent) {
				parents = append(parents, parent)
			}
		}
		if n == 0 {
			continue
		}
		const most = 3
		if len(parents) > most {
			parents = append(parents[:most], "…")
		}
		return finding.Escape(fmt.Sprintf("; the directory holds %s: inspect %s", count(n, "plugin"), strings.Join(parents, " ")))
	}
	return ""
}

// shower prints results.
type shower interface {
	result(*result) error
	unreadable(path string, err error) // a path without a result; standard error tells it too
	end(status int) error
}
