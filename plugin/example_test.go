package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// examplePackage writes a package to look at.
func examplePackage() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		panic(err)
	}
	for name, text := range map[string]string{
		"plugin.json": `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
  "name": "reports",
  "version": "1.2.0",
  "hooks": "./hooks"
}
`,
		"mcp.json": `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
  "mcpServers": {
    "files": {
      "type": "stdio",
      "command": "./bin/server",
      "args": ["--config", "${PLUGIN_ROOT}/config.json"],
      "env": {"CACHE": "${PLUGIN_DATA}/cache"}
    },
    "old": {"type": "http", "url": "https://example.com/mcp"}
  }
}
`,
		"bin/server":                           "#!/bin/sh\n",
		"skills/summarize/SKILL.md":            "---\nname: summarize\ndescription: Summarizes a report.\n---\nRead references/style.md first.\n",
		"skills/summarize/references/style.md": "Be brief.\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			panic(err)
		}
	}
	return dir, func() { os.RemoveAll(dir) }
}

func ExampleLoad() {
	dir, remove := examplePackage()
	defer remove()

	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Name(), p.Manifest().Version)
	for _, s := range p.Skills() {
		fmt.Println("skill", s.Name()+":", s.Description())
	}
	for _, s := range p.Servers() {
		fmt.Println("server", s.Name()+":", s.Type())
	}
	// Output:
	// reports 1.2.0
	// skill summarize: Summarizes a report.
	// server files: stdio
}

func ExamplePlugin_Findings() {
	dir, remove := examplePackage()
	defer remove()

	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range p.Findings().AtLeast(finding.SeverityWarning) {
		fmt.Println(f)
	}
	// Output:
	// plugin.json:5:3: warning: "hooks" is not part of the manifest and is ignored: remove it, or move it below a namespace in extensions; a package has only skills and MCP servers [manifest-unknown-field, AP §5.2]
	// mcp.json:10:21: error: the type "http" is unknown: use stdio, streamable-http or sse [server-type-unknown, AP §7.2.1]
}

// A validator takes all findings, whatever became of the plugin.
func ExampleFindingsOf() {
	dir, remove := examplePackage()
	defer remove()

	found, err := plugin.FindingsOf(plugin.Load(context.Background(), dir, plugin.Options{Lint: true}))
	if err != nil {
		fmt.Println(err) // there is no directory that could be read
		return
	}
	for _, f := range found.AtLeast(finding.SeverityError) {
		fmt.Println(f)
	}
	// Output:
	// mcp.json:10:21: error: the type "http" is unknown: use stdio, streamable-http or sse [server-type-unknown, AP §7.2.1]
}

func ExampleRejectedError() {
	dir, remove := examplePackage()
	defer remove()

	_, err := plugin.Load(context.Background(), filepath.Join(dir, "skills"), plugin.Options{})
	var rejected *plugin.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(rejected.Findings)
	}
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// plugin.json: error: there is no file named plugin.json in the plugin root: add one [manifest-missing, AP §4.1]
	// true
}

func ExamplePlugin_Skill() {
	dir, remove := examplePackage()
	defer remove()

	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := p.Skill("summarize")
	body, err := s.Body()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(body)

	fsys, err := s.FS() // contained: a link that leads out of the plugin does not open
	if err != nil {
		fmt.Println(err)
		return
	}
	style, err := fs.ReadFile(fsys, "references/style.md")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(style))
	// Output:
	// Read references/style.md first.
	// Be brief.
}

func ExamplePlugin_LaunchPlan() {
	dir, remove := examplePackage()
	defer remove()

	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := plugin.DataDir(filepath.Join(dir, "data"), plugin.Instance{ID: "reports@example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := p.LaunchPlan("files", data)
	if err != nil {
		fmt.Println(err)
		return
	}
	short := func(s string) string { // paths differ from machine to machine
		return filepath.ToSlash(strings.NewReplacer(plan.Env["PLUGIN_DATA"], "DATA", p.Dir(), "ROOT").Replace(s))
	}
	fmt.Println("program", short(plan.Program))
	for _, a := range plan.Args {
		fmt.Println("argument", short(a))
	}
	fmt.Println("CACHE", short(plan.Env["CACHE"]))
	fmt.Println("directory", short(plan.Dir))
	fmt.Println(strings.HasPrefix(plan.Digest(), "sha256:"))
	// Output:
	// program ROOT/bin/server
	// argument --config
	// argument ROOT/config.json
	// CACHE DATA/cache
	// directory ROOT
	// true
}

// A host remembers which remote servers its user agreed to. An update that leads
// one of them elsewhere makes another digest.
func ExampleServer_Digest() {
	installed := func(url string) *plugin.Server {
		p, err := plugin.LoadFS(context.Background(), fstest.MapFS{
			"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "demo"}`)},
			"mcp.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
				"mcpServers": {"tickets": {"type": "streamable-http", "url": "` + url + `"}}}`)},
		}, plugin.Options{})
		if err != nil {
			panic(err)
		}
		return p.Server("tickets")
	}
	agreed := installed("https://tickets.example/mcp").Digest()
	fmt.Println(installed("https://tickets.example/mcp").Digest() == agreed)
	fmt.Println(installed("https://elsewhere.example/mcp").Digest() == agreed)
	// Output:
	// true
	// false
}

// A host asks its user once and starts a server later only if the plan is still
// the one that was agreed to.
func ExampleLaunchPlan_Digest() {
	dir, remove := examplePackage()
	defer remove()

	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	data := filepath.Join(p.Dir(), "..", "data")
	agreed, err := p.LaunchPlan("files", data)
	if err != nil {
		fmt.Println(err)
		return
	}
	remembered := agreed.Digest()

	now, err := p.LaunchPlan("files", data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the same plan:", now.Digest() == remembered)
	now.Args = append(now.Args, "--unsafe")
	fmt.Println("with one more argument:", now.Digest() == remembered)
	// Output:
	// the same plan: true
	// with one more argument: false
}

func ExampleLoadFS() {
	fsys := fstest.MapFS{ // or an embed.FS, or a zip.Reader
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "small",
			"extensions": {"com.example.client": {"color": "teal"}}}`)},
		"skills/hello/SKILL.md": {Data: []byte("---\nname: hello\ndescription: Says hello.\n---\nSay hello.\n")},
	}
	p, err := plugin.LoadFS(context.Background(), fsys, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Name(), len(p.Skills()))
	if data, ok := p.Extension("com.example.client"); ok {
		fmt.Println(string(data))
	}
	_, err = p.LaunchPlan("any", "/data")
	fmt.Println(errors.Is(err, plugin.ErrNoDirectory))
	// Output:
	// small 1
	// {"color": "teal"}
	// true
}

// The skills of a plugin are one source among those of a host.
func ExamplePlugin_SkillSource() {
	dir, remove := examplePackage()
	defer remove()

	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := skills.NewSet(skills.SetOptions{}, p.SkillSource())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range set.Entries() {
		fmt.Println(e.Name(), "from", e.Origin)
	}
	catalog, err := skills.CatalogXML(set.Offers(), skills.CatalogOptions{NoLocations: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(catalog.Text)
	// Output:
	// summarize from the package "reports" 1.2.0
	// <available_skills>
	// <skill>
	// <name>summarize</name>
	// <description>Summarizes a report.</description>
	// <package>reports</package>
	// </skill>
	// </available_skills>
}
