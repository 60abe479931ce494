package plugin_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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

// largePackage is a directory of 50 MB in 500 files, of text and of bytes that
// do not compress, with its two archives.
func largePackage(b *testing.B) (dir string, size int64, zip, tgz []byte) {
	b.Helper()
	rnd := rand.NewChaCha8([32]byte{1})
	files := fstest.MapFS{}
	for i := range 500 {
		data := make([]byte, 100_000)
		rnd.Read(data)
		if i%2 == 0 {
			for j := range data {
				data[j] = "the quick brown fox jumps over the lazy dog\n"[data[j]%44]
			}
		}
		files[fmt.Sprintf("data/%03d", i)] = &fstest.MapFile{Data: data}
		size += int64(len(data))
	}
	d := &plugin.Draft{Manifest: plugin.Manifest{Name: "large"}, Files: files}
	pkg := mustBuild(b, d)
	zip, tgz = bothArchives(b, pkg)
	dir = filepath.Join(b.TempDir(), "large")
	if err := pkg.WriteDir(context.Background(), dir, plugin.WriteOptions{}); err != nil {
		b.Fatal(err)
	}
	return dir, size, zip, tgz
}

// BenchmarkLarge sets hashing and archive loading of 50 MB against reading it,
// and against the bare decoders.
func BenchmarkLarge(b *testing.B) {
	ctx := context.Background()
	dir, size, z, tgz := largePackage(b)
	p := mustLoad(b, dir)
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("read", func() error {
		return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_, err = os.ReadFile(filepath.Join(dir, name))
			}
			return err
		})
	})
	run("read and sha256", func() error {
		return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var data []byte
				data, err = os.ReadFile(filepath.Join(dir, name))
				sha256.Sum256(data)
			}
			return err
		})
	})
	run("hash", func() error { _, err := p.Hash(ctx, plugin.Bounds{}); return err })
	run("unzip only", func() error {
		r, err := zip.NewReader(bytes.NewReader(z), int64(len(z)))
		if err != nil {
			return err
		}
		for _, f := range r.File {
			rc, err := f.Open()
			if err != nil {
				return err
			}
			if _, err := io.ReadAll(rc); err != nil {
				return err
			}
		}
		return nil
	})
	load := func(a *plugin.Archive, err error) error {
		if err == nil {
			_, err = a.Load(ctx, plugin.Options{})
		}
		return err
	}
	run("load zip", func() error { return load(plugin.ReadZip(ctx, bytes.NewReader(z), int64(len(z)), plugin.Bounds{})) })
	run("untar only", func() error {
		gz, err := gzip.NewReader(bytes.NewReader(tgz))
		if err != nil {
			return err
		}
		tr := tar.NewReader(gz)
		for {
			if _, err := tr.Next(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if _, err := io.ReadAll(tr); err != nil {
				return err
			}
		}
	})
	run("load tar.gz", func() error { return load(plugin.ReadTarGz(ctx, bytes.NewReader(tgz), plugin.Bounds{})) })
	run("build", func() error {
		d, err := p.Draft(ctx)
		if err == nil {
			_, err = d.Build(ctx, plugin.BuildOptions{})
		}
		return err
	})
	pkg := mustBuild(b, &plugin.Draft{Manifest: plugin.Manifest{Name: "large"}, Files: os.DirFS(filepath.Join(dir, "data"))})
	run("write zip", func() error { return pkg.WriteZip(io.Discard) })
	run("write tar.gz", func() error { return pkg.WriteTarGz(io.Discard) })
}
