package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/plugin/finding"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sourceRoot  = "%SRCROOT%"
	module      = "github.com/plugberth/plugberth"
)

// What GitHub's code scanning takes. It refuses a document with more results in
// a run, or a larger one; of the results that it takes it shows the 5,000 most
// severe. Twenty runs and 25,000 rules, the other limits, are far away.
const (
	mostResults = 25_000
	mostBytes   = 10_000_000 // compressed
)

// The notifications, as they stand in the document.
const (
	pathUnreadable = iota
	resultsOmitted
)

var notifications = []sarifDescriptor{
	pathUnreadable: {
		ID: "path-unreadable", ShortDescription: message("a path is no directory that could be read"),
		DefaultConfiguration: sarifConfig{"error"},
	},
	resultsOmitted: {
		ID: "results-omitted", ShortDescription: message("there are more results than a run may hold; the most severe are listed"),
		DefaultConfiguration: sarifConfig{"warning"},
	},
}

// version is set by the linker where the build itself knows of none, as when it
// is made from an unpacked archive.
var version string

// sarifShower prints one SARIF document for all paths, for code scanning. Like
// the JSON form, it is a promise.
type sarifShower struct {
	places
	out, errs   io.Writer
	rules       map[string]int // the index of each code
	seen        map[string]int // how often a fingerprint was met
	results     []sarifResult
	notes       []sarifNotification
	failed      bool
	most        int // results
	compression int // bytes from which on the compressed size is measured
}

func newSARIF(out, errs io.Writer) (*sarifShower, error) {
	at, err := newPlaces()
	if err != nil {
		return nil, err
	}
	s := &sarifShower{
		places: at, out: out, errs: errs, rules: map[string]int{}, seen: map[string]int{},
		results: []sarifResult{}, notes: []sarifNotification{}, most: mostResults, compression: mostBytes,
	}
	for i, info := range finding.All() {
		s.rules[string(info.Code)] = i
	}
	return s, nil
}

func (s *sarifShower) result(r *result) error {
	dir, err := filepath.Abs(r.path)
	if err != nil {
		return err
	}
	for _, f := range r.findings {
		file, line, column := s.of(dir, f)
		at := sarifLocation{PhysicalLocation: sarifPhysical{
			ArtifactLocation: s.artifact(file, f.Line > 0),
			Region:           &sarifRegion{line, column}, // required by GitHub
		}}
		if f.Pointer != "" {
			at.LogicalLocations = []sarifLogical{logical(f.Pointer)}
		}
		s.results = append(s.results, sarifResult{
			RuleID: string(f.Code), RuleIndex: s.rules[string(f.Code)],
			Level: level(f.Severity), Message: message(f.Message), Locations: []sarifLocation{at},
			PartialFingerprints: s.fingerprints(f, at.PhysicalLocation.ArtifactLocation.URI, file),
			Properties: sarifProperties{
				clean(r.path), f.Layer.String(), f.Boundary.String(), clean(f.Subject), f.Section,
			},
		})
	}
	return nil
}

func (s *sarifShower) unreadable(path string, err error) {
	s.failed = true
	dir := ""
	if path != "" {
		dir, _ = filepath.Abs(path)
	}
	s.note(pathUnreadable, path+": "+err.Error(), dir)
}

// note adds a notification about a path; an empty one is none.
func (s *sarifShower) note(kind int, text, path string) {
	d := notifications[kind]
	n := sarifNotification{
		Descriptor: sarifReference{d.ID, kind}, Level: d.DefaultConfiguration.Level, Message: message(clean(text)),
	}
	if path != "" {
		n.Locations = []sarifLocation{{PhysicalLocation: sarifPhysical{ArtifactLocation: s.artifact(path, false)}}}
	}
	s.notes = append(s.notes, n)
}

func (s *sarifShower) end(status int) error {
	if omitted := len(s.results) - s.most; omitted > 0 {
		rank := map[string]int{"error": 0, "warning": 1, "note": 2}
		slices.SortStableFunc(s.results, func(a, b sarifResult) int { return cmp.Compare(rank[a.Level], rank[b.Level]) })
		s.results = s.results[:s.most]
		text := fmt.Sprintf("%d results are left out, the least severe: code scanning takes %d in a run", omitted, s.most)
		s.note(resultsOmitted, text, "")
		fmt.Fprintf(s.errs, "inspect: %s\n", text)
	}
	doc := sarifLog{
		Schema: sarifSchema, Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{sarifDriver{
				Name: "plugberth inspect", SemanticVersion: toolVersion(), InformationURI: "https://" + module,
				Rules: rules(), Notifications: notifications,
			}},
			Invocations: []sarifInvocation{{!s.failed, status, s.notes}},
			// Without a URI: whoever reads the document knows where the source is.
			OriginalURIBaseIDs: map[string]sarifArtifact{
				sourceRoot: {Description: &sarifMessage{"The working directory, which is the root of the repository in CI."}},
			},
			ColumnKind: "unicodeCodePoints",
			Results:    s.results,
		}},
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return err
	}
	text := visible(buf.Bytes())
	if len(text) > s.compression {
		if n, err := compressed(text); err != nil {
			return err
		} else if n > s.compression {
			fmt.Fprintf(s.errs, "inspect: the document has %d bytes compressed: code scanning takes %d; inspect fewer paths at a time\n", n, mostBytes)
		}
	}
	_, err := s.out.Write(text)
	return err
}

// compressed returns how long text is once it is compressed for the upload.
func compressed(text []byte) (int, error) {
	var size counter
	w := gzip.NewWriter(&size)
	if _, err := w.Write(text); err != nil {
		return 0, err
	}
	err := w.Close()
	return int(size), err
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// rules describes all codes, also those that did not occur: the list changes
// with the program alone.
func rules() []sarifDescriptor {
	var out []sarifDescriptor
	for _, info := range finding.All() {
		full := message(fmt.Sprintf("%s. The rule is from %s; a fault is confined to its boundary, %s.", info.Meaning, section(info.Section), info.Boundary))
		help := message(fmt.Sprintf("%s\n\nSpecified in: %s. Layer: %s. Boundary: %s.", info.Advice, section(info.Section), info.Layer, info.Boundary))
		severity := info.Severity.String()
		if info.Severity == finding.SeverityInfo {
			severity = "recommendation"
		}
		out = append(out, sarifDescriptor{
			ID: string(info.Code), ShortDescription: message(info.Meaning), FullDescription: &full, Help: &help,
			DefaultConfiguration: sarifConfig{level(info.Severity)},
			Properties: map[string]any{
				"section": info.Section, "layer": info.Layer.String(), "boundary": info.Boundary.String(),
				"tags":      []string{"agent-plugins", info.Layer.String()},
				"precision": "very-high", "problem.severity": severity,
			},
		})
	}
	return out
}

// section writes out which specification a section is of.
func section(s string) string {
	switch {
	case s == "AS" || strings.HasPrefix(s, "AS "):
		return "the Agent Skills specification" + s[len("AS"):]
	case strings.HasPrefix(s, "AP "):
		return "the Agent Plugins Specification" + s[len("AP"):]
	}
	return s
}

func level(s finding.Severity) string {
	if s == finding.SeverityInfo {
		return "note"
	}
	return s.String()
}

// message makes text a message (§3.11.5, §3.11.6): braces, which could be
// placeholders, stand doubled, and what could be a link is escaped.
func message(text string) sarifMessage {
	if strings.Contains(text, "](") {
		text = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`).Replace(text)
	}
	return sarifMessage{strings.NewReplacer("{", "{{", "}", "}}").Replace(text)}
}

// artifact names a file: relative to the working directory where it lies there,
// and else as a file URI.
func (s *sarifShower) artifact(file string, content bool) sarifArtifact {
	rel, ok := s.name(file, content)
	if !ok {
		path := filepath.ToSlash(file)
		if !strings.HasPrefix(path, "/") {
			path = "/" + path // C:/…
		}
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path}).String()}
	}
	segments := strings.Split(filepath.ToSlash(rel), "/")
	for i, name := range segments {
		// A colon would make what is before it a scheme.
		segments[i] = strings.ReplaceAll(url.PathEscape(name), ":", "%3A")
	}
	return sarifArtifact{URI: strings.Join(segments, "/"), URIBaseID: sourceRoot}
}

// fingerprints tells a finding from others by what it is about rather than by
// its line, so that it stays the same finding when lines above it change.
// GitHub goes by the hash of the line and its action computes that for files; a
// value of our own would be reported as a wrong one. Where there is no file to
// compute it from, ours takes its place.
func (s *sarifShower) fingerprints(f finding.Finding, uri, file string) map[string]string {
	hash := sha256.New()
	for _, part := range []string{string(f.Code), uri, f.Pointer, f.Subject} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	sum := hex.EncodeToString(hash.Sum(nil)[:16])
	s.seen[sum]++
	id := fmt.Sprintf("%s:%d", sum, s.seen[sum])
	out := map[string]string{"plugberth/v1": id}
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		out["primaryLocationLineHash"] = id
	}
	return out
}

// logical turns a JSON Pointer into a location in a document.
func logical(pointer string) sarifLogical {
	token := pointer[strings.LastIndexByte(pointer, '/')+1:]
	kind := "property"
	if element.MatchString(token) {
		kind = "value"
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	return sarifLogical{clean(name), clean(pointer), kind}
}

// element is what an index into an array looks like.
var element = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// toolVersion returns the version of this module without its "v", or nothing.
func toolVersion() string {
	info, _ := debug.ReadBuildInfo()
	return semantic(cmp.Or(version, moduleVersion(info)))
}

// moduleVersion returns the version at which this module was built: as the
// program's own, or as a dependency where the example was copied.
func moduleVersion(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Replace == nil {
			return m.Version
		}
	}
	return ""
}

var semver = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func semantic(version string) string {
	if !semver.MatchString(version) {
		return "" // such as (devel)
	}
	return version[1:]
}
