package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/plugin"
)

// benchPackage writes a package of n skills of about 2 KB and 2 servers.
func benchPackage(b testing.TB, n int) string {
	b.Helper()
	dir := b.TempDir()
	put := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	put("plugin.json", `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
  "name": "bench-plugin",
  "version": "1.2.3",
  "description": "A package that stands for many.",
  "author": {"name": "A. Writer", "email": "a@example.com", "url": "https://example.com"},
  "homepage": "https://example.com/bench",
  "license": "MIT",
  "keywords": ["one", "two", "three"]
}
`)
	put("mcp.json", `{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
  "mcpServers": {
    "local": {
      "type": "stdio",
      "command": "./bin/server",
      "args": ["--config", "${PLUGIN_ROOT}/config.json", "--data", "${PLUGIN_DATA}/state"],
      "env": {"LOG_LEVEL": "info", "CONFIG": "${PLUGIN_ROOT}/config.json"},
      "cwd": "${PLUGIN_ROOT}"
    },
    "remote": {"type": "streamable-http", "url": "https://api.example.com/mcp", "headers": {"X-Tenant": "public"}}
  }
}
`)
	put("bin/server", "#!/bin/sh\n")
	body := strings.Repeat("Read the input, decide what it needs, and write the answer down.\n", 26)
	for i := range n {
		name := fmt.Sprintf("skill-%04d", i)
		put("skills/"+name+"/SKILL.md", "---\nname: "+name+`
description: Does the thing number `+fmt.Sprint(i)+` well. Use when somebody asks for it, or when a task looks like it.
license: MIT
compatibility: Needs git and a shell
metadata:
  author: example-org
  version: "1.0"
allowed-tools: Bash(git:*) Read
---

`+"# "+name+"\n\n"+body)
	}
	return dir
}

func benchLoad(b *testing.B, n int) {
	dir := benchPackage(b, n)
	b.ReportAllocs()
	for b.Loop() {
		p, err := plugin.Load(context.Background(), dir, plugin.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if len(p.Findings()) > 0 || len(p.Skills()) != n || len(p.Servers()) != 2 {
			b.Fatal(p.Findings())
		}
	}
	if n > 0 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/skill")
	}
}

func BenchmarkLoad(b *testing.B)     { benchLoad(b, 10) }
func BenchmarkLoadMany(b *testing.B) { benchLoad(b, 1000) }

// BenchmarkLoadFloor does the least that any loader must: read the same files,
// and parse them without a look at the result.
func BenchmarkLoadFloor(b *testing.B) {
	dir := benchPackage(b, 10)
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range []string{"plugin.json", "mcp.json"} {
			src, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				b.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(src, &v); err != nil {
				b.Fatal(err)
			}
		}
		for i := range 10 {
			src, err := os.ReadFile(filepath.Join(dir, "skills", fmt.Sprintf("skill-%04d", i), "SKILL.md"))
			if err != nil {
				b.Fatal(err)
			}
			front, _, _ := bytes.Cut(src[4:], []byte("\n---\n"))
			var node yaml.Node
			if err := yaml.Unmarshal(front, &node); err != nil {
				b.Fatal(err)
			}
		}
	}
}
