// Embedskills is a host that ships skills of its own inside its binary, mixes
// them with those of plugins, and shows them to a model.
//
// Usage:
//
//	embedskills [PLUGIN...]
//	embedskills -activate NAME [-file PATH] [PLUGIN...]
//	embedskills -stage DIR [-trust PLUGIN-NAME]... [PLUGIN...]
//	embedskills -unstage DIR
//
// It prints what belongs into the system prompt of a model: the skills there are,
// its own and those of each PLUGIN, the directory of one. With -activate it prints
// what the model gets when it asks for a skill, and with -file as well, when it
// asks for a file of it.
//
// For agent programs that read skills from their workspace by themselves, -stage
// copies all of them below DIR, takes out again what is no longer offered, and
// leaves alone what others put or changed there. Programs of a plugin are copied
// only where -trust names it. -unstage takes everything out.
//
// The exit status is 0 when all was done, 1 when a plugin or skill was left out,
// with the reason on standard error, and 2 when the program could not do its work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK = iota
	statusLeftOut
	statusFailed
)

// errUsage: the command line says too much or too little.
var errUsage = errors.New("usage")

// settings are what the command line says.
type settings struct {
	activate, file string
	stage, unstage string
	trust          map[string]bool // names of plugins
	plugins        []string        // directories
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{trust: map[string]bool{}}
	flags := flag.NewFlagSet("embedskills", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: embedskills [-activate NAME [-file PATH] | -stage DIR | -unstage DIR] [PLUGIN...]")
		flags.PrintDefaults()
	}
	flags.StringVar(&s.activate, "activate", "", "print what a model gets that asks for the skill `NAME`")
	flags.StringVar(&s.file, "file", "", "print the skill's file at `PATH` instead")
	flags.StringVar(&s.stage, "stage", "", "copy the skills into the workspace `DIR`")
	flags.StringVar(&s.unstage, "unstage", "", "take the skills out of the workspace `DIR`")
	flags.Func("trust", "copy programs of the plugin of that `NAME` too", func(name string) error {
		s.trust[name] = true
		return nil
	})
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, errUsage
	}
	s.plugins = flags.Args()
	chosen := 0
	for _, choice := range []string{s.activate, s.stage, s.unstage} {
		if choice != "" {
			chosen++
		}
	}
	if chosen > 1 || s.file != "" && s.activate == "" || len(s.trust) > 0 && s.stage == "" || len(s.plugins) > 0 && s.unstage != "" {
		flags.Usage()
		return nil, errUsage
	}
	return s, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusOK
	case err != nil:
		return statusFailed
	}
	h := &host{out: stdout, warnings: stderr}
	if err := h.do(ctx, s); err != nil {
		fmt.Fprintf(stderr, "embedskills: %s\n", finding.Escape(err.Error()))
		return statusFailed
	}
	if h.leftOut {
		return statusLeftOut
	}
	return statusOK
}

// host prints what is asked for, and warns of what is left out.
type host struct {
	out, warnings io.Writer
	leftOut       bool
}

func (h *host) warn(format string, args ...any) {
	fmt.Fprintf(h.warnings, "embedskills: %s\n", finding.Escape(fmt.Sprintf(format, args...)))
}

// do does what the command line says.
func (h *host) do(ctx context.Context, s *settings) error {
	if s.unstage != "" {
		return h.unstage(ctx, s.unstage)
	}
	set, err := h.load(ctx, s.plugins)
	if err != nil {
		return err
	}
	switch {
	case s.stage != "":
		return h.stage(ctx, s.stage, set, s.trust)
	case s.activate != "":
		return h.activate(ctx, set, s.activate, s.file)
	}
	return h.prompt(set)
}

// prompt prints what belongs into a system prompt.
func (h *host) prompt(set *skills.Set) error {
	// What is in the binary has no path that a model could open: it asks for a
	// skill by its name, with a tool of the host.
	catalog, err := skills.CatalogXML(set.Offers(), skills.CatalogOptions{NoLocations: true})
	if err != nil || catalog.Text == "" {
		return err
	}
	for _, name := range catalog.Omitted {
		h.leftOut = true
		h.warn("%s is not shown: the list is too long", name)
	}
	_, err = fmt.Fprintf(h.out, "Load a skill by its name before you do what it is for.\n\n%s\n", catalog.Text)
	return err
}

// activate prints what a model gets that asks for a skill, or for a file of it.
// Text of a skill's author cannot end the tags around it, and is still to be
// taken for what it is: advice of whoever wrote the package.
func (h *host) activate(ctx context.Context, set *skills.Set, name, file string) error {
	entry, ok := set.Lookup(name)
	if !ok {
		return fmt.Errorf("there is no skill %q", name)
	}
	if file != "" {
		content, err := entry.Offer().ReadResource(file, skills.ResourceOptions{})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(h.out, content.Text)
		return err
	}
	activation, err := entry.Offer().Activate(ctx, skills.ActivationOptions{NoDirectory: true})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(h.out, activation.Text)
	return err
}
