// Export makes an Agent Plugins package of a directory of skills, prints its
// content hash, and says what changed since an older one.
//
// Usage:
//
//	export [-name NAME] [-version VERSION] [-description TEXT] [-lenient] [-since OLD] [-dir DIR] [-zip FILE] [-tar FILE] [-replace HASH] [-force] SKILLS
//
// SKILLS is a directory that holds one directory a skill. The package is named
// after it where -name says nothing, as near as names allow. With -lenient,
// skills with faults that some hosts forgive are repaired as far as they can be:
// a skill is written under the name that it would be offered by.
//
// OLD is a package, as a directory, a zip or a tar.gz archive. DIR is replaced
// where its files are still those of the hash that -replace names; whatever else
// is there, and files, with -force alone.
//
// The exit status is 0 when the package was made, 1 when the skills do not
// conform, and 2 when the program could not do its work.
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
	"syscall"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
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
	statusRefused
	statusFailed
)

// errSkipped: some skills do not conform; why was printed.
var errSkipped = errors.New("not all skills conform")

// settings are what the command line says.
type settings struct {
	manifest       plugin.Manifest
	mode           skills.Mode
	since          string
	dir, zip, tar  string
	replace        string
	force          bool
	from           string
	stdout, stderr io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := settings{stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: export [flags] SKILLS")
		flags.PrintDefaults()
	}
	flags.StringVar(&s.manifest.Name, "name", "", "the package's `NAME`; that of the directory where it is left out")
	flags.StringVar(&s.manifest.Version, "version", "", "its `VERSION`; the content hash stands for one that is left out")
	flags.StringVar(&s.manifest.Description, "description", "", "a `TEXT` that says what it is for")
	lenient := flags.Bool("lenient", false, "repair skills with faults that some hosts forgive")
	flags.StringVar(&s.since, "since", "", "say what changed since the package `OLD`, a directory or archive")
	flags.StringVar(&s.dir, "dir", "", "write a directory `DIR`")
	flags.StringVar(&s.zip, "zip", "", "write a zip archive `FILE`")
	flags.StringVar(&s.tar, "tar", "", "write a tar.gz archive `FILE`")
	flags.StringVar(&s.replace, "replace", "", "the `HASH` of what was written to DIR before and may be replaced")
	flags.BoolVar(&s.force, "force", false, "replace whatever stands where something is written")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusFailed
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return statusFailed
	}
	if *lenient {
		s.mode = skills.Lenient
	}
	s.from = flags.Arg(0)

	err := s.export(ctx)
	var build *plugin.BuildError
	switch {
	case err == nil:
		return statusOK
	case errors.As(err, &build):
		for _, f := range build.Fields {
			fmt.Fprintf(stderr, "export: %s\n", finding.Escape(f.Error()))
		}
		return statusRefused
	}
	fmt.Fprintf(stderr, "export: %s\n", finding.Escape(err.Error()))
	if errors.Is(err, errSkipped) {
		return statusRefused
	}
	return statusFailed
}

func (s *settings) export(ctx context.Context) error {
	draft, err := s.draft(ctx)
	if err != nil {
		return err
	}
	pkg, err := draft.Build(ctx, plugin.BuildOptions{})
	if err != nil {
		return err
	}
	p := pkg.Plugin()
	fmt.Fprintf(s.stdout, "%s %s\n%s\n", p.Name(), finding.Escape(pkg.Version()), pkg.Hash())
	for _, skill := range p.Skills() {
		fmt.Fprintf(s.stdout, "  %s\n", skill.Name())
	}
	if s.since != "" {
		old, err := load(ctx, s.since)
		if err != nil {
			return err
		}
		changes, err := plugin.Compare(ctx, old, p, plugin.Bounds{})
		if err != nil {
			return err
		}
		s.show(changes)
	}
	return s.write(ctx, pkg)
}

// draft makes a package of the skills.
func (s *settings) draft(ctx context.Context) (*plugin.Draft, error) {
	root, err := paths.Open(s.from)
	if err != nil {
		return nil, err
	}
	list, err := skills.Load(ctx, root, ".", skills.Options{Mode: s.mode})
	if err != nil {
		return nil, err
	}
	for _, f := range list.Findings.AtLeast(finding.SeverityWarning) {
		fmt.Fprintln(s.stderr, f)
	}
	if len(list.Skipped) > 0 {
		return nil, errSkipped
	}
	d := &plugin.Draft{Manifest: s.manifest}
	if d.Manifest.Name == "" {
		d.Manifest.Name = plugin.NearestName(filepath.Base(root.Dir()))
	}
	for _, skill := range list.Skills {
		one, err := skill.Draft()
		if err != nil {
			return nil, err
		}
		d.Skills = append(d.Skills, one)
	}
	return d, nil
}

// load loads a package, whatever form it has.
func load(ctx context.Context, path string) (*plugin.Plugin, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return plugin.Load(ctx, path, plugin.Options{})
	}
	a, err := plugin.OpenArchive(ctx, path, plugin.Bounds{})
	if err != nil {
		return nil, err
	}
	return a.Load(ctx, plugin.Options{})
}

// write writes the forms that were asked for.
func (s *settings) write(ctx context.Context, pkg *plugin.Package) error {
	if s.dir != "" {
		if err := pkg.WriteDir(ctx, s.dir, plugin.WriteOptions{Replace: s.replace, Overwrite: s.force}); err != nil {
			return err
		}
	}
	if s.zip != "" {
		if err := writeFile(s.zip, s.force, pkg.WriteZip); err != nil {
			return err
		}
	}
	if s.tar != "" {
		return writeFile(s.tar, s.force, pkg.WriteTarGz)
	}
	return nil
}

// writeFile writes a file that appears whole.
func writeFile(name string, force bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(name); err == nil && !force {
		return fmt.Errorf("%s is there already: say -force to replace it", name)
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".export-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	err = write(file)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
