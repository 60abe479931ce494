package skills

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/program"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/internal/secrets"
	"github.com/plugberth/plugberth/plugin/finding"
)

// AuditOptions bound an audit. Zero or less in a field means its default.
type AuditOptions struct {
	Budget int64 // bytes of a text file above which it is reported, default 64 KiB
	File   int64 // bytes looked at of one file, default 1 MiB
	Files  int   // files looked at, SKILL.md included, default 1,000
	Bytes  int64 // looked at in all of them together, default 16 MiB
}

func (o AuditOptions) withDefaults() AuditOptions {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&o.Budget, 64<<10)
	set(&o.File, 1<<20)
	set(&o.Bytes, 16<<20)
	if o.Files <= 0 {
		o.Files = 1000
	}
	return o
}

// Audit looks for what a host may want to know before it trusts the content of
// a skill, in SKILL.md and in all files beside it:
//
//   - text files larger than a budget, which a model that reads them pays for
//   - credentials, by the forms that their issuers give them
//   - text that does not show: bidirectional controls, zero-width and tag
//     characters, other invisible and control characters, where no script or
//     emoji needs them
//   - markers with which chat templates and prompts set off roles, tools and
//     skills, as a text would hold that means to pass for another's
//   - what can be executed: native programs and WebAssembly, and, as an info,
//     scripts and files with an executable bit
//
// Each is a finding with file, line and column where the file is text. None of
// them says that the skill does not conform or means harm, and an empty result
// does not say that it does none: they are of the layer of policy, for a person
// or a rule of the host to judge. Messages never quote a credential.
//
// Names of files and the decoded text of the frontmatter are looked at too.
// Text is UTF-8, or UTF-16 with a byte order mark; in other files only the first
// bytes are judged, and archives are not opened. What was not looked at for a
// bound, or could not be, is a finding of its own. The error is [ErrNoFiles], an
// unreadable directory, or the context's.
func (s *Skill) Audit(ctx context.Context, opts AuditOptions) (finding.List, error) {
	if s.root == nil {
		return nil, ErrNoFiles
	}
	release, err := s.root.Hold()
	if err != nil {
		return nil, err
	}
	defer release()
	list, more, err := s.Resources(ctx, opts.withDefaults().Files)
	if err != nil {
		return nil, err
	}
	a := audit{skill: s, opts: opts.withDefaults()}
	a.left = a.opts.Bytes
	if len(list) >= a.opts.Files {
		list, more = list[:a.opts.Files-1], true
	}
	a.file(fileName)
	for _, r := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.file(r.Path)
	}
	if more {
		a.out = append(a.out, finding.New(finding.SkillAuditCut, finding.Place{Subject: s.directory, File: s.folder()},
			fmt.Sprintf("there are more files than the %d that were looked at, or some that cannot be opened", len(list)+1)))
	}
	return a.out, nil
}

// folder returns the skill's directory as the package spells it.
func (s *Skill) folder() string {
	return s.location[:max(0, len(s.location)-len("/"+fileName))]
}

// audit is one run of Audit.
type audit struct {
	skill *Skill
	opts  AuditOptions
	left  int64 // bytes that may still be looked at
	out   finding.List
}

// sheet is the faults of one file.
type sheet struct {
	*report.Sheet
	subject string
}

// add notes a fault at an offset of the file.
func (s sheet) add(code finding.Code, off int, format string, args ...any) {
	s.Add(code, s.subject, "", off, format, args...)
}

// auditFaults is how many faults one check notes in one file: those of one kind
// hide no other.
const auditFaults = 50

// file looks at one file of the skill.
func (a *audit) file(name string) {
	s := sheet{&report.Sheet{File: a.skill.folder() + "/" + name, Subject: a.skill.directory}, a.skill.directory}
	defer func() { a.out = append(a.out, s.Findings()...) }()
	if name != fileName {
		checkName(s, name)
	}
	head, mode, size, err := a.read(name)
	if err != nil {
		s.add(finding.SkillAuditCut, report.Whole, "the file cannot be read and was not looked at: %s", report.Cause(err))
		return
	}
	cut := int64(len(head)) < size
	text, isText := decodeText(name, head)
	if cut {
		s.add(finding.SkillAuditCut, report.Whole, "the file has %d bytes, of which the first %d were looked at", size, len(head))
	}
	checkExecutable(s, name, mode, head)
	if !isText {
		return
	}
	s.Source = text
	if size > a.opts.Budget {
		s.add(finding.SkillOverBudget, report.Whole, "the file has %d bytes, more than the budget of %d: split it, so that only what is needed is read", size, a.opts.Budget)
	}
	checkSecrets(s, text)
	hidden, markers := checkHidden(s, text), checkMarkers(s, text)
	if name == fileName {
		a.values(s, !hidden, !markers)
	}
}

// read returns the beginning of a file, as far as the bounds allow, with its
// mode and size.
func (a *audit) read(name string) (head []byte, mode fs.FileMode, size int64, err error) {
	file, err := a.skill.root.Open(a.skill.dir + "/" + name)
	if err != nil {
		return nil, 0, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, 0, 0, err
	}
	limit := min(a.opts.File, a.left)
	head, err = io.ReadAll(io.LimitReader(file, limit+1))
	size = max(info.Size(), int64(len(head)))
	head = head[:min(int64(len(head)), limit)]
	a.left -= int64(len(head))
	return head, info.Mode(), size, err
}

// values looks at what the frontmatter says once escapes are read: a quoted
// "\u202e" is no hidden character of the file.
func (a *audit) values(s sheet, hidden, markers bool) {
	doc, f := split(s.Source, a.skill.mode)
	for _, v := range []struct{ key, value string }{
		{"description", a.skill.description}, {"license", a.skill.license}, {"compatibility", a.skill.compatibility},
	} {
		note := func(code finding.Code, what string) {
			off := report.Whole
			if at, ok := a.skill.valueOffset(v.key); ok && f == nil && string(doc.front) == a.skill.front {
				off = doc.start + at
			}
			s.Add(code, s.subject, "/"+v.key, off, "%s %s, written with escapes: remove it", v.key, what)
		}
		scratch := sheet{Sheet: &report.Sheet{}}
		if hidden && checkHidden(scratch, []byte(v.value)) {
			note(finding.SkillHiddenText, "holds text that does not show")
		}
		if markers && checkMarkers(scratch, []byte(v.value)) {
			note(finding.SkillInjectionMarker, "holds a marker of chat templates or prompts")
		}
	}
}

// checkSecrets notes what looks like a credential. What it is, the message must
// not say.
func checkSecrets(s sheet, text []byte) {
	found, more := secrets.Find(text, auditFaults)
	for _, m := range found {
		s.add(finding.SkillSecret, m.Start, "this looks like a credential (%s): remove it here and from the history, and revoke it", m.Kind)
	}
	s.Cut = s.Cut || more
}

// decodeText returns the text of a file, or false where it is none: it is a
// program, has a NUL, or much that is not UTF-8, and no name that promises text.
func decodeText(name string, head []byte) ([]byte, bool) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return head, textNames[strings.ToLower(path.Ext(name))] || program.Native(head) == "" && bytes.IndexByte(head, 0) < 0 && mostlyUTF8(head)
	}
	units := make([]uint16, 0, len(head)/2)
	for i := 2; i+1 < len(head); i += 2 {
		units = append(units, order.Uint16(head[i:]))
	}
	text := []byte(string(utf16.Decode(units)))
	return text, bytes.IndexByte(text, 0) < 0
}

// textNames are endings of names of files that are shown to people and models
// as text, whatever is in them.
var textNames = map[string]bool{".md": true, ".mdx": true, ".txt": true, ".rst": true, ".adoc": true, ".html": true, ".htm": true, ".xml": true,
	".json": true, ".yaml": true, ".yml": true, ".toml": true, ".csv": true, ".svg": true,
	".py": true, ".sh": true, ".js": true, ".ts": true, ".ps1": true}

// mostlyUTF8 reports whether at most one byte in sixteen is not UTF-8, as in
// text of another encoding.
func mostlyUTF8(text []byte) bool {
	if utf8.Valid(text) {
		return true
	}
	bad := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		i += size
	}
	return bad <= len(text)/16
}
