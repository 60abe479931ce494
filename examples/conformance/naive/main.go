// Naive is a loader of Agent Plugins packages as one is written in an
// afternoon: encoding/json into structs, filepath.Join, os.ReadFile, a YAML
// decoder. It reads every package of a friendly author, and is here to be
// judged by the conformance corpus, which shows what it lets through. Do not
// copy it.
//
// Usage:
//
//	naive [-data DIR] PATH
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

type report struct {
	Outcome        string    `json:"outcome"`
	Name           *string   `json:"name"`
	Skills         []skill   `json:"skills"`
	SkippedSkills  []string  `json:"skippedSkills"`
	MCP            string    `json:"mcp"`
	Servers        []server  `json:"servers"`
	SkippedServers []string  `json:"skippedServers"`
	Findings       []finding `json:"findings"`
}

type skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type server struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`
	Launch *launch `json:"launch,omitempty"`
}

type launch struct {
	Program string            `json:"program"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
}

type finding struct {
	Severity string `json:"severity"`
	Boundary string `json:"boundary"`
	Subject  string `json:"subject,omitempty"`
	Message  string `json:"message"`
}

type manifest struct {
	Schema      string         `json:"$schema"`
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Description string         `json:"description"`
	Author      author         `json:"author"`
	Homepage    string         `json:"homepage"`
	Repository  string         `json:"repository"`
	License     string         `json:"license"`
	Keywords    []string       `json:"keywords"`
	Extensions  map[string]any `json:"extensions"`
}

type author struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	URL   string `json:"url"`
}

type entry struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

const schemas = "https://agent-plugins.org/schemas/"

var (
	pluginName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	skillName  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

func main() {
	data := flag.String("data", "", "data root")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: naive [-data DIR] PATH")
		os.Exit(2)
	}
	r := load(flag.Arg(0), *data)
	json.NewEncoder(os.Stdout).Encode(r)
	for _, f := range r.Findings {
		if f.Severity == "error" {
			os.Exit(1)
		}
	}
}

func (r *report) add(severity, boundary, subject, message string) {
	r.Findings = append(r.Findings, finding{severity, boundary, subject, message})
}

func load(dir, data string) *report {
	r := &report{
		Outcome: "rejected", MCP: "absent",
		Skills: []skill{}, SkippedSkills: []string{}, Servers: []server{}, SkippedServers: []string{}, Findings: []finding{},
	}
	src, err := os.ReadFile(filepath.Join(dir, "plugin.json"))
	var m manifest
	if err == nil {
		err = json.Unmarshal(src, &m)
	}
	if err == nil && (!strings.HasPrefix(m.Schema, schemas) || !pluginName.MatchString(m.Name) || len(m.Name) > 64) {
		err = fmt.Errorf("the manifest is invalid")
	}
	if err != nil {
		r.add("error", "plugin", "", err.Error())
		return r
	}
	r.Outcome, r.Name = "loaded", &m.Name
	var members map[string]any
	json.Unmarshal(src, &members)
	for name := range members {
		switch name {
		case "$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions":
		default:
			r.add("warning", "field", "", "unknown field "+name)
		}
	}
	r.loadSkills(dir)
	r.loadServers(dir, filepath.Join(data, m.Name), data != "")
	return r
}

func (r *report) loadSkills(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "skills", "*", "SKILL.md"))
	for _, file := range files {
		base := filepath.Base(filepath.Dir(file))
		s, err := loadSkill(file)
		if err == nil && s.Name != base {
			err = fmt.Errorf("the name differs from the directory")
		}
		if err != nil {
			r.SkippedSkills = append(r.SkippedSkills, base)
			r.add("error", "skill", base, err.Error())
			continue
		}
		r.Skills = append(r.Skills, *s)
	}
}

func loadSkill(file string) (*skill, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parts := strings.SplitN(string(src), "---", 3)
	if len(parts) < 3 {
		return nil, fmt.Errorf("no frontmatter")
	}
	var s skill
	if err := yaml.Unmarshal([]byte(parts[1]), &s); err != nil {
		return nil, err
	}
	if !skillName.MatchString(s.Name) || len(s.Name) > 64 || s.Description == "" || len(s.Description) > 1024 {
		return nil, fmt.Errorf("the frontmatter is invalid")
	}
	return &s, nil
}

func (r *report) loadServers(dir, data string, plan bool) {
	src, err := os.ReadFile(filepath.Join(dir, "mcp.json"))
	if os.IsNotExist(err) {
		return
	}
	var doc struct {
		Schema  string                     `json:"$schema"`
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err == nil {
		err = json.Unmarshal(src, &doc)
	}
	if err == nil && (!strings.HasPrefix(doc.Schema, schemas) || doc.Servers == nil) {
		err = fmt.Errorf("mcp.json is invalid")
	}
	if err != nil {
		r.MCP = "disabled"
		r.add("error", "component", "", err.Error())
		return
	}
	r.MCP = "configured"
	var names []string
	for name := range doc.Servers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		var e entry
		err := json.Unmarshal(doc.Servers[name], &e)
		if err == nil {
			err = e.check(dir)
		}
		if err != nil {
			r.SkippedServers = append(r.SkippedServers, name)
			r.add("error", "server", name, err.Error())
			continue
		}
		s := server{Name: name, Type: e.Type}
		if plan && e.Type == "stdio" {
			s.Launch = e.launch(dir, data)
		}
		r.Servers = append(r.Servers, s)
	}
}

func (e *entry) check(dir string) error {
	inside := func(path string) bool {
		return strings.HasPrefix(filepath.Join(dir, path), dir)
	}
	switch e.Type {
	case "stdio":
		if e.Command == "" || strings.Contains(e.Command, " ") || strings.HasPrefix(e.Command, "/") || !inside(e.Command) {
			return fmt.Errorf("the command is invalid")
		}
		if strings.HasPrefix(e.Cwd, "/") || !inside(e.Cwd) {
			return fmt.Errorf("the cwd is invalid")
		}
	case "streamable-http", "sse":
		u, err := url.Parse(e.URL)
		if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
			return fmt.Errorf("the url is invalid")
		}
		local := u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.")
		if u.Scheme != "https" && !(u.Scheme == "http" && local) {
			return fmt.Errorf("the url is not secure")
		}
	default:
		return fmt.Errorf("unknown type %q", e.Type)
	}
	return nil
}

func (e *entry) launch(dir, data string) *launch {
	expand := func(s string) string {
		s = strings.ReplaceAll(s, "${PLUGIN_ROOT}", dir)
		return strings.ReplaceAll(s, "${PLUGIN_DATA}", data)
	}
	l := &launch{Program: e.Command, Args: []string{}, Env: map[string]string{}, Cwd: dir}
	if strings.HasPrefix(e.Command, "./") {
		l.Program = filepath.Join(dir, e.Command)
	}
	for _, a := range e.Args {
		l.Args = append(l.Args, expand(a))
	}
	for name, value := range e.Env {
		l.Env[name] = expand(value)
	}
	l.Env["PLUGIN_ROOT"], l.Env["PLUGIN_DATA"] = dir, data
	if e.Cwd != "" {
		if l.Cwd = expand(e.Cwd); !filepath.IsAbs(l.Cwd) {
			l.Cwd = filepath.Join(dir, l.Cwd)
		}
	}
	return l
}
