package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// skillsDir is the fixed location of skills (AP §6.1).
const skillsDir = "skills"

// Components chooses the component types that a host supports (AP §11.2).
type Components uint8

// The choices.
const (
	AllComponents Components = iota // skills and MCP servers
	SkillsOnly                      // mcp.json is not looked at
	MCPOnly                         // the skills directory is not looked at
)

// Options choose how a plugin is loaded. The zero value loads all components
// strictly, with the default limits.
type Options struct {
	Components  Components
	SkillMode   skills.Mode // what becomes of skills that do not conform
	Unsupported []Transport // that the host cannot speak: valid entries are marked, not skipped
	Disabled    []Transport // that the host's policy forbids: likewise
	Lint        bool        // add findings about what loads but is likely not meant: infos and warnings
	Limits      Limits
}

// Limits bound what loading reads. Zero or less in a field means its default.
// What goes over a limit is a finding at its boundary, never a silent cut.
type Limits struct {
	Manifest int64         // bytes of plugin.json, default 1 MiB
	MCP      int64         // bytes of mcp.json, default 1 MiB
	Depth    int           // nesting of JSON, default 100
	Servers  int           // entries of mcpServers, default 1,000
	Skills   skills.Limits // of the skills directory and its skills
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	if l.Manifest <= 0 {
		l.Manifest = 1 << 20
	}
	if l.MCP <= 0 {
		l.MCP = 1 << 20
	}
	set(&l.Depth, 100)
	set(&l.Servers, 1000)
	return l
}

// ErrOptions is wrapped by the error for options that cannot be used.
var ErrOptions = errors.New("plugin: unusable options")

// check refuses options that are no choice: a mistake in a policy must not pass
// for one that allows more.
func (o Options) check() error {
	if o.Components > MCPOnly {
		return fmt.Errorf("%w: components %d are unknown", ErrOptions, o.Components)
	}
	for _, t := range slices.Concat(o.Unsupported, o.Disabled) {
		if !slices.Contains(transports, t) {
			return fmt.Errorf("%w: transport %q is unknown", ErrOptions, t)
		}
	}
	if o.SkillMode > skills.Lenient {
		return fmt.Errorf("%w: skill mode %d is unknown", ErrOptions, o.SkillMode)
	}
	return nil
}

// ErrRejected is what every [RejectedError] is, for errors.Is.
var ErrRejected = errors.New("the plugin is rejected")

// RejectedError says why a plugin was rejected: plugin.json is missing, broken
// or does not conform, and no component was looked at (AP §5.2, §11.3).
type RejectedError struct {
	Findings finding.List // at least one of them an error of boundary plugin
	cause    error
}

// Error returns the first error among the findings.
func (e *RejectedError) Error() string {
	if list := e.Findings.AtLeast(finding.SeverityError); len(list) > 0 {
		return "plugin: rejected: " + list[0].String()
	}
	return "plugin: rejected"
}

// Is reports whether target is [ErrRejected].
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// Unwrap returns the I/O error that the rejection came from, or nil. It may be
// fs.ErrNotExist or paths.ErrEscape, for instance.
func (e *RejectedError) Unwrap() error { return e.cause }

// FindingsOf returns all that was found wrong by a load, whether the plugin was
// rejected or not, and an error only where nothing could be judged: that of [Load]
// unless it is a [*RejectedError]. It takes what a load returned, so that a
// validator calls
//
//	found, err := plugin.FindingsOf(plugin.Load(ctx, dir, opts))
func FindingsOf(p *Plugin, err error) (finding.List, error) {
	var rejected *RejectedError
	switch {
	case errors.As(err, &rejected):
		return slices.Clone(rejected.Findings), nil
	case err != nil || p == nil:
		return nil, err
	}
	return p.Findings(), nil
}

// Load reads the plugin in the directory dir and judges it (AP §5, §6, §7).
// It fails with a [*RejectedError] where the plugin is rejected, with the
// context's error where that ends, with [ErrOptions], and with the system's
// error where there is no directory that could be read. All else is a finding
// on the loaded plugin.
//
// A rejection may be fs.ErrNotExist too, where plugin.json is what does not exist:
// test for [ErrRejected] first, and after it for a directory that is not there.
// It may be called from several goroutines at once.
func Load(ctx context.Context, dir string, opts Options) (*Plugin, error) {
	root, err := paths.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	return load(ctx, root, opts)
}

// LoadFS is [Load] for the plugin at the root of a file system. A plugin
// loaded so has no directory and therefore no launch plan. Links are followed
// where the file system can read them (fs.ReadLinkFS); elsewhere an entry that
// is not regular is no file.
func LoadFS(ctx context.Context, fsys fs.FS, opts Options) (*Plugin, error) {
	root, err := paths.New(fsys)
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	return load(ctx, root, opts)
}

func load(ctx context.Context, root *paths.Root, opts Options) (*Plugin, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	opts.Limits = opts.Limits.withDefaults()
	release, err := root.Hold()
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	defer release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Plugin{root: root}

	sheet := &report.Sheet{File: manifestFile}
	src, err := readDocument(ctx, root, opts.Limits.Manifest, documentCodes{
		missing:    finding.ManifestMissing,
		notRegular: finding.ManifestNotRegular,
		escapes:    finding.ManifestEscapes,
		unreadable: finding.ManifestUnreadable,
		tooLarge:   finding.ManifestTooLarge,
	}, sheet)
	if err == nil {
		p.manifest = judgeManifest(src, opts, sheet)
	}
	p.findings = sheet.Findings()
	if p.manifest == nil {
		return nil, &RejectedError{Findings: p.findings, cause: err}
	}

	if opts.Components != MCPOnly {
		listing, err := skills.Load(ctx, root, skillsDir, skills.Options{Mode: opts.SkillMode, Lint: opts.Lint, Limits: opts.Limits.Skills})
		if err != nil {
			return nil, err
		}
		p.skills = listing
		p.findings = append(p.findings, listing.Findings...)
		listing.Findings = nil
	}
	if opts.Components != SkillsOnly {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.loadMCP(ctx, opts); err != nil {
			return nil, err
		}
	}
	if opts.Lint {
		if opts.Components == AllComponents && p.empty() {
			// What is about a file as a whole comes before what has a line in it.
			p.findings = slices.Insert(p.findings, 0, finding.New(finding.LintNoComponent, finding.Place{File: manifestFile},
				"the plugin has neither a skill nor a server: add skills/NAME/SKILL.md or mcp.json"))
		}
		misplaced, err := lintRoot(ctx, root, opts)
		if err != nil {
			return nil, err
		}
		p.findings = append(p.findings, misplaced...)
	}
	return p, nil
}

// empty reports whether the plugin has no component, and not for want of one that
// could be read.
func (p *Plugin) empty() bool {
	return p.skills.State != skills.StateInvalid && len(p.skills.Skills)+len(p.skills.Skipped) == 0 &&
		p.mcpState != MCPDisabled && len(p.servers)+len(p.skippedServers) == 0
}

func (p *Plugin) loadMCP(ctx context.Context, opts Options) error {
	sheet := &report.Sheet{File: mcpFile}
	src, err := readDocument(ctx, p.root, opts.Limits.MCP, documentCodes{
		notRegular: finding.MCPNotRegular,
		escapes:    finding.MCPEscapes,
		unreadable: finding.MCPUnreadable,
		tooLarge:   finding.MCPTooLarge,
	}, sheet)
	if err != nil && sheet.Len() == 0 {
		return nil // absent
	}
	p.mcpState = MCPDisabled
	if err == nil {
		config, err := judgeMCP(ctx, src, p.manifest.version, p.root, opts, sheet)
		if err != nil {
			return err
		}
		if config != nil {
			p.mcpState = MCPConfigured
			p.servers, p.skippedServers = config.servers, config.skipped
		}
	}
	p.findings = append(p.findings, sheet.Findings()...)
	return nil
}

// documentCodes are the codes for a document that cannot be had.
type documentCodes struct {
	missing, notRegular, escapes, unreadable, tooLarge finding.Code
}

// readDocument reads one of the two JSON documents, matched byte for byte. A
// document that is absent and may be is an error without a fault on the sheet.
func readDocument(ctx context.Context, root *paths.Root, limit int64, codes documentCodes, sheet *report.Sheet) ([]byte, error) {
	name := sheet.File
	src, err := root.AppendFile(nil, name, limit)
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, paths.ErrDangling) {
		if exact, exactErr := root.Exact(ctx, name); exactErr == nil && !exact {
			err = fs.ErrNotExist
		}
	}
	sheet.Source = src
	add := func(code finding.Code, format string, args ...any) {
		sheet.Add(code, "", "", report.Whole, format, args...)
	}
	switch {
	case err == nil:
		return src, nil
	case errors.Is(err, paths.ErrDangling), errors.Is(err, paths.ErrLoop):
		add(codes.notRegular, "%s is a link that leads nowhere: make it a regular file", name)
	case errors.Is(err, fs.ErrNotExist):
		if codes.missing != "" {
			add(codes.missing, "there is no file named %s in the plugin root: %s", name, insteadOf(ctx, root))
		}
	case errors.Is(err, paths.ErrEscape):
		add(codes.escapes, "%s leads outside the plugin root: replace the link by the file itself", name)
	case errors.Is(err, paths.ErrNotRegular):
		add(codes.notRegular, "%s is no regular file: make it one", name)
	case errors.Is(err, paths.ErrTooLarge):
		add(codes.tooLarge, "%s is larger than %d bytes: make it smaller", name, limit)
	default:
		add(codes.unreadable, "%s cannot be read: %s", name, report.Cause(err))
	}
	return nil, err
}
