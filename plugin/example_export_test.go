package plugin_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// A host makes a package of a skill, in memory, and writes it as a zip archive.
func ExampleDraft_Build() {
	draft := &plugin.Draft{
		Manifest: plugin.Manifest{Name: "reports", Version: "1.0.0"},
		Skills: []skills.Draft{{
			Name:        "summarize",
			Description: "Summarizes a report: use when one is longer than a page.",
			Body:        "\nRead references/style.md first.\n",
			Files:       fstest.MapFS{"references/style.md": {Data: []byte("Be brief.\n")}},
		}},
	}
	pkg, err := draft.Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var zip bytes.Buffer
	if err := pkg.WriteZip(&zip); err != nil {
		fmt.Println(err)
		return
	}
	archive, err := plugin.ReadZip(context.Background(), bytes.NewReader(zip.Bytes()), int64(zip.Len()), plugin.Bounds{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := archive.Load(context.Background(), plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Name(), p.Skills()[0].Description())
	fmt.Println("one hash:", archive.Hash() == pkg.Hash())
	// Output:
	// reports Summarizes a report: use when one is longer than a page.
	// one hash: true
}

func ExampleBuildError() {
	draft := &plugin.Draft{
		Manifest: plugin.Manifest{Name: "reports"},
		Skills:   []skills.Draft{{Name: "Summarize It", Description: "Summarizes a report."}},
	}
	_, err := draft.Build(context.Background(), plugin.BuildOptions{})
	var build *plugin.BuildError
	if errors.As(err, &build) {
		for _, f := range build.Fields {
			fmt.Println(f.Field, "could be", f.Nearest)
		}
	}
	// Output:
	// skills[0].name could be summarize-it
}

// The host's own server as a package: whoever installs it brings the credentials.
func ExampleHostServer() {
	draft := plugin.HostServer(plugin.Manifest{Name: "board"}, "board", "https://board.example.com/mcp")
	pkg, err := draft.Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	remote, _ := pkg.Plugin().Server("board").Remote()
	fmt.Println(remote.URL, remote.Headers)
	// Output:
	// https://board.example.com/mcp map[]
}

// An update is compared with what is installed before anybody is asked.
func ExampleCompare() {
	build := func(level, body string) *plugin.Plugin {
		pkg, err := (&plugin.Draft{
			Manifest: plugin.Manifest{Name: "reports"},
			Skills:   []skills.Draft{{Name: "summarize", Description: "Summarizes.", Body: body}},
			Servers:  []plugin.ServerDraft{{Name: "files", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "npx", Env: map[string]string{"LEVEL": level}}}},
		}).Build(context.Background(), plugin.BuildOptions{})
		if err != nil {
			panic(err)
		}
		return pkg.Plugin()
	}
	changes, err := plugin.Compare(context.Background(), build("info", "Old.\n"), build("debug", "New.\n"), plugin.Bounds{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range changes.Skills {
		fmt.Println("skill", s.Name, s.Kind, s.Fields)
	}
	for _, s := range changes.Servers {
		fmt.Println("server", s.Name, s.Kind, s.Fields, s.Env)
	}
	// Output:
	// skill summarize changed [body]
	// server files changed [env] [LEVEL]
}

// A directory is replaced only while its files are those that were written.
func ExamplePackage_WriteDir() {
	base, err := os.MkdirTemp("", "export")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "reports")
	build := func(version string) *plugin.Package {
		pkg, err := (&plugin.Draft{Manifest: plugin.Manifest{Name: "reports", Version: version}}).Build(context.Background(), plugin.BuildOptions{})
		if err != nil {
			panic(err)
		}
		return pkg
	}
	old, now := build("1.0.0"), build("1.1.0")
	fmt.Println(old.WriteDir(context.Background(), dir, plugin.WriteOptions{}))
	err = now.WriteDir(context.Background(), dir, plugin.WriteOptions{})
	fmt.Println(errors.Is(err, plugin.ErrOccupied))
	fmt.Println(now.WriteDir(context.Background(), dir, plugin.WriteOptions{Replace: old.Hash()}))
	// Output:
	// <nil>
	// true
	// <nil>
}

// What looks like a credential is not written by mistake.
func ExampleBuildOptions() {
	draft := &plugin.Draft{
		Manifest: plugin.Manifest{Name: "board"},
		Servers: []plugin.ServerDraft{{
			Name: "board", Type: plugin.TransportStreamableHTTP,
			Remote: plugin.Remote{URL: "https://board.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer kq8Zt3Xw"}},
		}},
	}
	_, err := draft.Build(context.Background(), plugin.BuildOptions{})
	if errors.Is(err, plugin.ErrCredential) {
		fmt.Println(err)
	}
	// A host whose user insists:
	_, err = draft.Build(context.Background(), plugin.BuildOptions{AllowCredentials: true})
	fmt.Println(err)
	// Output:
	// plugin: the draft does not conform: servers[0].headers[Authorization]: the value of "Authorization" looks like a credential (by its name): remove it, the host brings what the server needs, or allow credentials
	// <nil>
}

// A loaded plugin is taken apart, changed and built again.
func ExamplePlugin_Draft() {
	pkg, err := plugin.HostServer(plugin.Manifest{Name: "board", Version: "1.0.0"}, "board", "https://board.example.com/mcp").Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	draft, err := pkg.Plugin().Draft(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	draft.Manifest.Version = "1.1.0"
	draft.Extensions = map[string]json.RawMessage{"com.example.client": json.RawMessage(`{"icon": "board.svg"}`)}
	draft.Files = fstest.MapFS{"com.example.client/board.svg": {Data: []byte("<svg/>")}}
	again, err := draft.Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := again.Plugin()
	icon, err := p.ExtensionFS("com.example.client")
	if err != nil {
		fmt.Println(err)
		return
	}
	svg, err := fs.ReadFile(icon, "board.svg")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Version(), p.Extensions(), string(svg))
	// Output:
	// 1.1.0 [com.example.client] <svg/>
}

// An archive is read in memory and written to a directory where servers are to be
// started from it.
func ExampleArchive_Unpack() {
	pkg, err := (&plugin.Draft{
		Manifest: plugin.Manifest{Name: "files"},
		Servers:  []plugin.ServerDraft{{Name: "files", Type: plugin.TransportStdio, Stdio: plugin.Stdio{Command: "./serve", Cwd: "./work"}}},
		Files:    fstest.MapFS{"serve": {Data: []byte("#!/bin/sh\n"), Mode: 0o755}, "work/README": {}},
	}).Build(context.Background(), plugin.BuildOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var tgz bytes.Buffer
	if err := pkg.WriteTarGz(&tgz); err != nil {
		fmt.Println(err)
		return
	}
	archive, err := plugin.ReadTarGz(context.Background(), &tgz, plugin.Bounds{Total: 10 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := archive.Unpack(context.Background(), filepath.Join(dir, "files"), plugin.WriteOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	p, err := plugin.Load(context.Background(), filepath.Join(dir, "files"), plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	hash, err := p.Hash(context.Background(), plugin.Bounds{})
	fmt.Println(p.Name(), hash == pkg.Hash(), err)
	// Output:
	// files true <nil>
}

// In the archives of code hosts a package stands in a directory.
func ExampleArchive_FS() {
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	out, err := w.Create("reports-1.0.0/plugin.json")
	if err == nil {
		_, err = out.Write([]byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "reports"}`))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	archive, err := plugin.ReadZip(context.Background(), bytes.NewReader(file.Bytes()), int64(file.Len()), plugin.Bounds{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sub, err := fs.Sub(archive.FS(), "reports-1.0.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plugin.LoadFS(context.Background(), sub, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Name())
	// Output:
	// reports
}

// What is refused says why in a way that a program can tell.
func ExampleReadZip() {
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	if _, err := w.Create("../../home/user/.profile"); err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	_, err := plugin.ReadZip(context.Background(), bytes.NewReader(file.Bytes()), int64(file.Len()), plugin.Bounds{})
	fmt.Println(err)
	fmt.Println(errors.Is(err, plugin.ErrEntry), errors.Is(err, plugin.ErrArchive), errors.Is(err, plugin.ErrBounds))
	// Output:
	// plugin: the package has an entry that it cannot hold: "../../home/user/.profile": its path has a component . or ..
	// true false false
}
