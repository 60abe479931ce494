package snippets_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/skills"
)

// A package is built of what stands in the working directory.
func Example_exportBuild() {
	leave := enter(map[string]string{
		"summarize/references/style.md": "Be brief.\n",
		"assets/bin/server":             "#!/bin/sh\n",
		"assets/config.json":            "{}\n",
	})
	defer leave()
	ctx := context.Background()

	draft := &plugin.Draft{
		Manifest: plugin.Manifest{Name: "reports", Version: "1.0.0"},
		Skills: []skills.Draft{{
			Name:        "summarize",
			Description: "Summarizes a report. Use when one is longer than a page.",
			Body:        "\n# Summarize\n",
			Files:       os.DirFS("summarize"), // references/, scripts/ and so on
		}},
		Servers: []plugin.ServerDraft{{
			Name: "files", Type: plugin.TransportStdio,
			Stdio: plugin.Stdio{Command: "./bin/server", Args: []string{"${PLUGIN_ROOT}/config.json"}},
		}},
		Files: os.DirFS("assets"), // bin/server, config.json
	}
	pkg, err := draft.Build(ctx, plugin.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p := pkg.Plugin()
	fmt.Println(p.Name(), p.Skills()[0].Name(), p.Servers()[0].Name(), len(p.Findings()), "findings")
	// Output: reports summarize files 0 findings
}

// enter makes a directory with the files and goes there. The function that it
// returns goes back and takes the directory away.
func enter(files map[string]string) func() {
	before, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "snippets")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.Chdir(dir); err != nil {
		log.Fatal(err)
	}
	return func() {
		if err := os.Chdir(before); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}
