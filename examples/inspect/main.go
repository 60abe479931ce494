// Inspect shows what is in Agent Plugins packages, what was left out, and why.
//
// Usage:
//
//	inspect [-json | -sarif] [-lenient] [-lint] [-fail-on LEVEL] [-data DIR] PATH...
//
// Each PATH is the directory of one plugin. With -json, standard output is one
// JSON document a path and nothing else. With -lenient, skills with faults that
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
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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
	holds    string                        // which plugins the directory holds that is itself none
	plans    map[string]*plugin.LaunchPlan // by server, with -data
	planErrs []error
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: inspect [-json | -sarif] [-lenient] [-lint] [-fail-on LEVEL] [-data DIR] PATH...\n")
		flags.PrintDefaults()
	}
	asJSON := flags.Bool("json", false, "print one JSON document a path")
	asSARIF := flags.Bool("sarif", false, "print one SARIF document for code scanning")
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
	if *asSARIF && (*asJSON || *data != "") {
		fmt.Fprintf(stderr, "inspect: -sarif shows findings only: leave out -json and -data\n")
		return statusFailed
	}
	opts := plugin.Options{Lint: *lint}
	if *lenient {
		opts.SkillMode = skills.Lenient
	}

	var show shower = newText(stdout, flags.NArg())
	switch {
	case *asJSON:
		show = jsonShower{stdout}
	case *asSARIF:
		var err error
		if show, err = newSARIF(stdout, stderr); err != nil {
			fmt.Fprintf(stderr, "inspect: %s\n", clean(err.Error()))
			return statusFailed
		}
	}
	progress := newProgress(stderr, flags.NArg())
	status := statusOK
	for _, path := range flags.Args() {
		r, err := inspect(ctx, path, opts, *data)
		progress.clear()
		if err != nil {
			show.unreadable(path, err)
		} else {
			err = show.result(r)
		}
		if err != nil {
			fmt.Fprintf(stderr, "inspect: %s: %s\n", clean(path), clean(err.Error()))
			status = statusFailed
			if ctx.Err() != nil {
				return status
			}
			continue
		}
		if (*asJSON || *asSARIF) && r.holds != "" {
			fmt.Fprintf(stderr, "inspect: %s: %s\n", clean(path), clean(r.holds))
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
	var rejected *plugin.RejectedError
	switch {
	case errors.As(err, &rejected):
		r.findings = rejected.Findings
		r.holds = pluginsBelow(path, r.findings)
		return r, nil
	case err != nil:
		return nil, err
	}
	r.plugin, r.findings = p, p.Findings()
	if data == "" {
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

// pluginsBelow says what a directory without a manifest holds instead: plugins,
// or the manifest of one client, which no other reads.
func pluginsBelow(dir string, findings finding.List) string {
	if !slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Code == finding.ManifestMissing }) {
		return ""
	}
	// A path may hold characters that are patterns.
	quoted := strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(dir)
	for _, pattern := range []string{"*", filepath.Join("*", "*")} {
		found, _ := filepath.Glob(filepath.Join(quoted, pattern, "plugin.json"))
		found = slices.DeleteFunc(found, func(p string) bool {
			return strings.HasPrefix(filepath.Base(filepath.Dir(p)), ".")
		})
		if len(found) > 0 {
			return fmt.Sprintf("the directory is not itself a plugin but holds %s: inspect %s",
				count(len(found), "plugin"), filepath.Join(dir, pattern))
		}
	}
	if found, _ := filepath.Glob(filepath.Join(quoted, ".*", "plugin.json")); len(found) > 0 {
		return fmt.Sprintf("%s is for one client only: put a plugin.json into the directory itself",
			filepath.Join(filepath.Base(filepath.Dir(found[0])), "plugin.json"))
	}
	return ""
}

// shower prints results.
type shower interface {
	result(*result) error
	unreadable(path string, err error) // a path without a result; standard error tells it too
	end(status int) error
}
