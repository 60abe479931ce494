package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// jsonShower prints one document a path. Programs in other languages read
// these: names and order of the keys are a promise.
type jsonShower struct {
	out io.Writer
}

type document struct {
	Path            string       `json:"path"`
	Outcome         string       `json:"outcome"`
	Name            *string      `json:"name"`
	Version         *string      `json:"version"`
	SpecVersion     *string      `json:"specVersion"`
	SkillsComponent string       `json:"skillsComponent"`
	Skills          []skill      `json:"skills"`
	SkippedSkills   []string     `json:"skippedSkills"`
	MCP             string       `json:"mcp"`
	Servers         []server     `json:"servers"`
	SkippedServers  []string     `json:"skippedServers"`
	Findings        finding.List `json:"findings"`
}

type skill struct {
	Name        string `json:"name"`
	Directory   string `json:"directory"`
	Description string `json:"description"`
	Location    string `json:"location"`
}

type server struct {
	Name   string             `json:"name"`
	Type   plugin.Transport   `json:"type"`
	Launch *plugin.LaunchPlan `json:"launch,omitempty"`
}

func (s jsonShower) result(r *result) error {
	d := document{
		Path: valid(r.path), Outcome: "rejected",
		SkillsComponent: skills.StateAbsent.String(), MCP: plugin.MCPAbsent.String(),
		Skills: []skill{}, SkippedSkills: []string{}, Servers: []server{}, SkippedServers: []string{},
		Findings: r.findings,
	}
	if d.Findings == nil {
		d.Findings = finding.List{}
	}
	if p := r.plugin; p != nil {
		m := p.Manifest()
		d.Outcome, d.Name, d.SpecVersion = "loaded", &m.Name, &m.SpecVersion
		if p.Declares("version") {
			d.Version = &m.Version
		}
		d.SkillsComponent, d.MCP = p.SkillsState().String(), p.MCPState().String()
		for _, s := range p.Skills() {
			d.Skills = append(d.Skills, skill{s.Name(), valid(s.Directory()), s.Description(), valid(s.Location())})
		}
		for _, name := range p.SkippedSkills() {
			d.SkippedSkills = append(d.SkippedSkills, valid(name))
		}
		for _, s := range p.Servers() {
			d.Servers = append(d.Servers, server{s.Name(), s.Type(), r.plans[s.Name()]})
		}
		for _, name := range p.SkippedServers() {
			d.SkippedServers = append(d.SkippedServers, valid(name))
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return err
	}
	_, err := s.out.Write(visible(buf.Bytes()))
	return err
}

func (jsonShower) unreadable(string, error) {}

func (jsonShower) end(int) error { return nil }

// valid returns a name, with its bytes as \xNN where they are not UTF-8.
func valid(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var out strings.Builder
	for i, r := range name {
		if _, size := utf8.DecodeRuneInString(name[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, name[i])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// visible returns a JSON text in which characters that do not print as
// themselves, and the beginnings of commands to a CI system, stand as escapes: it
// means the same and cannot act on a terminal or a CI log.
func visible(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || r < utf8.RuneSelf || finding.Escape(string(r)) == string(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return logCommand.ReplaceAll(out, []byte(`#\u0023$1[`))
}
