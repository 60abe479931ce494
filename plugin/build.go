package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// BuildOptions choose how a draft is built. The zero value refuses credentials
// and has the default bounds.
type BuildOptions struct {
	// AllowCredentials builds a package although env or headers, or an argument or
	// url, hold what looks like a credential. Whoever reads the package can read
	// it.
	AllowCredentials bool
	Bounds           Bounds
}

// Build makes the package of a draft, in memory, and judges it as [LoadFS] does
// at its strictest: it has no error and no warning, and nothing that looks like
// a credential. What else lint says of it keeps no package from being built, and
// stands among the findings of [Package.Plugin]. Equal drafts make packages that are equal to the byte.
//
// It fails with a [*BuildError] that names the fields at fault, with [ErrEntry]
// and [ErrBounds] for files that a package cannot hold, with the system's error
// for files that cannot be read, and with the context's error.
func (d *Draft) Build(ctx context.Context, opts BuildOptions) (*Package, error) {
	faults := &BuildError{}
	c := newCollector(ctx, opts.Bounds)
	if err := d.collect(c, faults); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	pkg := &Package{content: *c.finish()}
	p, err := LoadFS(ctx, pkg.FS(), Options{Lint: true})
	var rejected *RejectedError
	var findings finding.List
	switch {
	case errors.As(err, &rejected):
		findings = rejected.Findings
	case err != nil:
		return nil, err
	default:
		findings = p.findings
	}
	for _, f := range findings.AtLeast(finding.SeverityWarning) {
		if lintOnly(f.Code) {
			continue
		}
		if f.Code != finding.ServerCredential {
			faults.Fields = append(faults.Fields, d.fieldError(f))
			if f.Code == finding.ManifestNameInvalid || f.Code == finding.ManifestNameMissing {
				faults.kinds = append(faults.kinds, ErrName)
			}
		} else if !opts.AllowCredentials {
			e := d.fieldError(f)
			e.Reason += ", or allow credentials"
			faults.Fields = append(faults.Fields, e)
			faults.kinds = append(faults.kinds, ErrCredential)
		}
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	pkg.plugin = p
	return pkg, nil
}

// collect gathers the files of the package.
func (d *Draft) collect(c *collector, faults *BuildError) error {
	add := func(name string, data []byte, err error) error {
		if err != nil {
			faults.add(name, "it cannot be written: "+printable.Escape(err.Error()))
			return nil
		}
		return c.addFile(name, false, int64(len(data)), bytes.NewReader(data))
	}
	manifest, err := d.encodeManifest(faults)
	if err := add(manifestFile, manifest, err); err != nil {
		return err
	}
	if d.Servers != nil {
		config, err := d.encodeMCP(faults)
		if err := add(mcpFile, config, err); err != nil {
			return err
		}
	}
	for i, s := range d.Skills {
		field := fmt.Sprintf("skills[%d]", i)
		text, err := s.Encode()
		if err != nil {
			faults.merge(field, err)
			continue
		}
		if d.drafts(s.Name) != i {
			faults.add(field+".name", "another skill has this name")
			continue
		}
		dir := path.Join(skillsDir, s.Name)
		if err := add(dir+"/SKILL.md", text, nil); err != nil {
			return err
		}
		if s.Files == nil {
			continue
		}
		if err := c.addTree(s.Files, dir, func(name string) bool { return name == "SKILL.md" }); err != nil {
			return treeError(err)
		}
	}
	if d.Files == nil || len(faults.Fields) > 0 {
		return nil
	}
	return treeError(c.addTree(d.Files, "", func(name string) bool {
		return name == manifestFile || name == mcpFile && d.Servers != nil
	}))
}

// fieldError says of which field of the draft a finding is.
func (d *Draft) fieldError(f finding.Finding) *skills.FieldError {
	e := &skills.FieldError{Field: "files[" + printable.Escape(f.File) + "]", Reason: f.Message}
	tokens := pointerTokens(f.Pointer)
	switch {
	case f.File == manifestFile && len(tokens) > 0 && tokens[0] == "extensions":
		e.Field = fieldPath("", tokens)
	case f.File == manifestFile:
		e.Field = fieldPath("manifest", tokens)
		if len(tokens) > 0 && tokens[0] == "name" || f.Code == finding.ManifestNameMissing {
			e.Field, e.Nearest = "manifest.name", NearestName(d.Manifest.Name)
		}
	case f.File == mcpFile && d.Servers != nil:
		e.Field = "servers"
		for i, s := range d.Servers {
			if f.Boundary == finding.BoundaryServer && s.Name == f.Subject || len(tokens) > 1 && s.Name == tokens[1] {
				e.Field = fieldPath(fmt.Sprintf("servers[%d]", i), tokens[min(2, len(tokens)):])
				break
			}
		}
		if f.Code == finding.ServerDuplicateName {
			e.Field += ".name"
		}
	case strings.HasPrefix(f.File, skillsDir+"/"):
		if i := d.drafts(f.Subject); i >= 0 {
			e.Field = fieldPath(fmt.Sprintf("skills[%d]", i), tokens)
		}
	}
	return e
}

// pointerTokens cuts a JSON Pointer.
func pointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, t := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens
}

// fieldPath names a field: members of what Go has as a struct with a period,
// elements and keys in brackets.
func fieldPath(base string, tokens []string) string {
	for i, t := range tokens {
		switch t = printable.Escape(t); {
		case base == "":
			base = t
		case i == 0 || i == 1 && base == "manifest.author":
			base += "." + strings.TrimPrefix(t, "$")
		default:
			base += "[" + t + "]"
		}
	}
	return base
}
