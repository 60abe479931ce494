// Conformance runs a loader of Agent Plugins packages, in any language, against
// the conformance corpus.
//
// Usage:
//
//	conformance [-strict] [-json] [-junit FILE] [selection] -adapter 'CMD'
//	conformance [selection] -extract DIR
//
// CMD is a command, split like a shell's words but expanded in nothing. It is
// run once a case with the directory of a plugin as its last argument, and
// "-data DIR" before that where launch plans are wanted, and prints the JSON of
// fixtures.Report, which is also what "inspect -json" prints. It exits with 0
// or 1.
//
// The selection is -group, -rule and -case, each a list separated by commas,
// and -spec, which leaves out what the specification leaves to the client.
// -strict insists on every key that a case states. -deviations names a file
// with the cases that the loader is known to fail, one a line, each followed by
// the reason. -parallel says how many cases run at a time, -timeout how long one
// may take, and -v names every case.
//
// The exit status is 0 when all passed, 1 when something failed, and 2 when the
// program could not do its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plugberth/plugberth/fixtures"
	"github.com/plugberth/plugberth/plugin/finding"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK = iota
	statusFailed
	statusTrouble
)

// settings are what the flags say.
type settings struct {
	adapter, extract, junit, deviations string
	json, verbose                       bool
	parallel                            int
	opts                                fixtures.Options
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return statusOK
	}
	var cases []fixtures.Case
	if err == nil {
		if cases, err = s.opts.Select(fixtures.Cases()); err == nil && len(cases) == 0 {
			err = errors.New("the selection chooses no case")
		}
	}
	failed := false
	switch {
	case err != nil:
	case s.extract != "":
		err = extract(ctx, s.extract, cases, stdout)
	default:
		failed, err = judge(ctx, s, cases, stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "conformance: %s\n", finding.Escape(err.Error()))
		return statusTrouble
	case failed:
		return statusFailed
	}
	return statusOK
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: conformance [flags] -adapter 'CMD'\n       conformance [selection] -extract DIR\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&s.adapter, "adapter", "", "run `CMD` on the directory of each case")
	flags.StringVar(&s.extract, "extract", "", "write the cases out below `DIR` instead")
	flags.BoolVar(&s.opts.Strict, "strict", false, "insist on every key that a case states")
	flags.BoolVar(&s.opts.SpecOnly, "spec", false, "leave out what the specification leaves to the client")
	list := func(name, of string, into *[]string) {
		flags.Func(name, "only the `"+of+"`, separated by commas", func(value string) error {
			*into = append(*into, strings.Split(value, ",")...)
			return nil
		})
	}
	list("group", "groups", &s.opts.Groups)
	list("rule", "rules", &s.opts.Rules)
	list("case", "cases", &s.opts.Cases)
	flags.DurationVar(&s.opts.Timeout, "timeout", 10*time.Second, "for one case")
	flags.StringVar(&s.deviations, "deviations", "", "known deviations, from `FILE`")
	flags.IntVar(&s.parallel, "parallel", runtime.GOMAXPROCS(0), "cases at a time")
	flags.BoolVar(&s.json, "json", false, "print one JSON document")
	flags.StringVar(&s.junit, "junit", "", "also write the results as JUnit XML to `FILE`")
	flags.BoolVar(&s.verbose, "v", false, "name every case")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is left over: the adapter's command is one argument", flags.Arg(0))
	case (s.adapter == "") == (s.extract == ""):
		flags.Usage()
		return nil, errors.New("give either -adapter or -extract")
	case s.opts.Timeout <= 0 || s.parallel <= 0:
		return nil, errors.New("-timeout and -parallel are greater than 0")
	}
	if s.deviations != "" {
		var err error
		if s.opts.Deviations, err = readDeviations(s.deviations); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readDeviations reads lines of a case and a reason; # begins a comment.
func readDeviations(name string) ([]fixtures.Deviation, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []fixtures.Deviation
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		out = append(out, fixtures.Deviation{Case: id, Reason: strings.TrimSpace(reason)})
	}
	return out, nil
}

// judge runs the cases and shows the results.
func judge(ctx context.Context, s *settings, cases []fixtures.Case, stdout io.Writer) (failed bool, err error) {
	adapter, err := newProgram(s.adapter)
	if err != nil {
		return false, err
	}
	results, err := check(ctx, s, cases, adapter)
	if err != nil {
		return false, err
	}
	if s.json {
		err = showJSON(stdout, results)
	} else {
		err = showText(stdout, results, s.verbose)
	}
	if err == nil && s.junit != "" {
		err = writeJUnit(s.junit, results)
	}
	return count(results, fixtures.Failed) > 0, err
}

// check runs the cases, several at a time, and returns the results in order.
func check(ctx context.Context, s *settings, cases []fixtures.Case, adapter fixtures.Adapter) ([]fixtures.Result, error) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bench, err := fixtures.NewBench(dir)
	if err != nil {
		return nil, err
	}
	results := make([]fixtures.Result, len(cases))
	next := make(chan int)
	var workers sync.WaitGroup
	for range s.parallel {
		workers.Go(func() {
			for i := range next {
				results[i] = bench.Check(ctx, cases[i], adapter, s.opts)
			}
		})
	}
	for i := range cases {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return results, ctx.Err()
}

func count(results []fixtures.Result, status fixtures.Status) (n int) {
	for _, r := range results {
		if r.Status == status {
			n++
		}
	}
	return n
}
