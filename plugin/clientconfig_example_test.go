package plugin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plugberth/plugberth/plugin"
)

func ExamplePlugin_ClientConfig() {
	dir, remove := examplePackage()
	defer remove()
	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)
	p, err := plugin.Load(context.Background(), dir, plugin.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := plugin.DataDir(filepath.Join(workspace, "data"), plugin.Instance{ID: "reports-1"})
	if err != nil {
		fmt.Println(err)
		return
	}

	// The agent program will execute the servers: ask for each.
	config := p.ClientConfig(plugin.ClientConfigOptions{
		DataDir: data,
		Allow: func(s *plugin.Server, plan *plugin.LaunchPlan) bool {
			return s.Name() == "files" && slices.Contains(plan.Args, "--config")
		},
	})
	for name, server := range config.Servers {
		fmt.Println(name, "is a", server)
	}
	for _, s := range config.Skipped {
		fmt.Println(s.Name, s.Err)
	}

	file := plugin.ClientConfigFile{Workspace: workspace, Path: ".mcp.json"}
	change, err := file.Write(config)
	fmt.Println("written", change.Written, err)
	change, err = file.Remove(config.Plugin)
	fmt.Println("removed", change.Removed, err)
	// Output:
	// reports_files is a stdio server
	// written [reports_files] <nil>
	// removed [reports_files] <nil>
}
