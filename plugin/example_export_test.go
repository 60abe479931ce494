package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
