package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// credentials are headers for remote servers, by PLUGIN/SERVER. These names are the
// package's choice, and the user has named the packages too; a host that installs
// packages keeps credentials by installation. Each is for one origin: an update that
// leads the server elsewhere does not take them along.
//
// They come from a file. Arguments can be read by every user of the machine, and
// the environment is handed on to the agent program, which needs none of them.
type credentials map[string]struct {
	Origin  string            `json:"origin"` // such as https://mcp.example.com
	Headers map[string]string `json:"headers"`
}

const maxCredentials = 1 << 20

// readCredentials reads a file that nobody but its owner may read. Its errors quote
// nothing of it.
func readCredentials(file string) (credentials, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s: others may read it: give it the mode 0600", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err != nil {
		return nil, err
	}
	var c credentials
	if len(text) > maxCredentials || json.Unmarshal(text, &c) != nil {
		return nil, fmt.Errorf(`%s: not an object such as {"PLUGIN/SERVER": {"origin": "https://mcp.example.com", "headers": {"NAME": "VALUE"}}}`, file)
	}
	return c, nil
}

// of gives the headers of one server.
func (c credentials) of(_ context.Context, req mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
	known, ok := c[req.ID.Plugin+"/"+req.ID.Server]
	switch {
	case !ok || req.Origin == "":
		return mcpclient.Credentials{}, nil
	case known.Origin != req.Origin:
		return mcpclient.Credentials{}, fmt.Errorf("those in the file are for %q, and the server is at %q", known.Origin, req.Origin)
	}
	out := mcpclient.Credentials{Headers: http.Header{}}
	for name, value := range known.Headers {
		out.Headers.Set(name, value)
	}
	return out, nil
}

// unused says which of them are for no server: a name may be misspelled.
func (c credentials) unused(s *story, plugins []*plugin.Plugin) {
	known := map[string]bool{}
	for _, p := range plugins {
		for _, server := range p.Servers() {
			_, remote := server.Remote()
			known[p.Name()+"/"+server.Name()] = remote
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !known[name] {
			s.say(theHost, "has credentials for %s, which is no remote server here", name)
		}
	}
}
