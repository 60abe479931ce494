package snippets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin"
)

// A package is loaded, and what is wrong with it is listed.
func Example_readmeLoad() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	load := func(ctx context.Context, dir string) error {
		p, err := plugin.Load(ctx, dir, plugin.Options{})
		if err != nil {
			return err // plugin: rejected: plugin.json:3:11: error: …
		}
		for _, f := range p.Findings() {
			log.Println(f)
		}
		return nil
	}
	testdata := filepath.Join("..", "..", "examples", "inspect", "testdata")
	fmt.Println(load(context.Background(), filepath.Join(testdata, "demo")))
	// Output:
	// plugin.json:9:3: warning: "hooks" is not part of the manifest and is ignored: remove it, or move it below a namespace in extensions [manifest-unknown-field, AP §5.2]
	// skills/drafts/SKILL.md: warning: SKILL.md is no regular file, so "drafts" is no skill [skill-file-not-regular, AP §7.1]
	// skills/incident-review/SKILL.md:6:1: info: the key "user-invocable" is not part of the specification; it is kept for the host [skill-unknown-key, AS]
	// skills/release-notes/SKILL.md:7:12: warning: YAML reads this as a number; it is taken as its text: put it in quotes [skill-not-a-string, AS]
	// <nil>
}

// A host runs the servers of its plugins and calls their tools.
func Example_readmeHost() {
	_ = func(ctx context.Context, p *plugin.Plugin, askTheUser mcpclient.Consent, arguments json.RawMessage) error {
		host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
			Consent:  askTheUser,                // before a program of a package is started
			DataRoot: "/var/lib/myhost/plugins", // what plugins keep
			Egress:   mcpclient.ServiceEgress(), // where remote servers may be
		}})
		if err != nil {
			return err
		}
		defer host.Close(ctx)
		err = host.Add(plugin.Instance{ID: "installation 1"}, p)
		err = host.Ready(ctx)
		tools := host.Tools()
		result, err := host.Call(ctx, tools[0].Name, arguments, mcpclient.CallOptions{})
		_ = result
		return err
	}
}

// A run of an agent gets its own endpoint.
func Example_readmeEndpoint() {
	_ = func(store channel.Store, file string) error {
		registry, err := mcpserver.New(mcpserver.Options{})
		http.Handle("/mcp", registry)
		minted, err := registry.Mint(mcpserver.Grant{
			Identity: mcpserver.Identity{Task: "task 7"},
			Channel:  channel.Of(channel.NewBuffered(store)),
		})
		err = minted.WriteConfig(file, "https://myhost.example/mcp") // for the agent's program
		return err
	}
}
