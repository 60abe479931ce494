package snippets_test

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/mcpserver"
	"github.com/plugberth/plugberth/plugin"
)

func readmeServers(ctx context.Context, p *plugin.Plugin, askTheUser mcpclient.Consent, arguments json.RawMessage) error {
	host, err := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
		Consent:  askTheUser,                // before a program of a package is started
		DataRoot: "/var/lib/myhost/plugins", // what plugins keep
		Egress:   mcpclient.ServiceEgress(), // where remote servers may be
	}})
	if err != nil {
		return err
	}
	defer host.Close(ctx)
	if err := host.Add(plugin.Instance{ID: "installation 1"}, p); err != nil {
		return err
	}
	err = host.Ready(ctx) // all have connected or failed; host.Tools() is what they offer
	if err != nil {
		return err
	}
	result, err := host.Call(ctx, "mcp__demo__files__read", arguments, mcpclient.CallOptions{})
	_ = result
	return err
}

func readmeEndpoint(mux *http.ServeMux, store channel.Store, file string) error {
	registry, err := mcpserver.New(mcpserver.Options{})
	if err != nil {
		return err
	}
	mux.Handle("/mcp", registry)
	minted, err := registry.Mint(mcpserver.Grant{
		Identity: mcpserver.Identity{Task: "task 7"},
		Channel:  channel.Of(channel.NewBuffered(store)),
	})
	if err != nil {
		return err
	}
	err = minted.WriteConfig(file, "https://myhost.example/mcp") // for the agent's program
	return err
}
