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

// credentials are headers for remote servers: by PLUGIN/SERVER, then by name. These
// names are the package's choice, and the user has named the packages too. A host that
// installs packages keeps credentials by installation, and for the origin that somebody
// agreed to.
//
// They come from a file. Arguments can be read by every user of the machine, and
// the environment is handed on to the agent program, which needs none of them.
type credentials map[string]map[string]string

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
		return nil, fmt.Errorf(`%s: not an object such as {"PLUGIN/SERVER": {"HEADER": "VALUE"}}`, file)
	}
	return c, nil
}

// of gives the headers of one server.
func (c credentials) of(_ context.Context, id mcpclient.ServerID) (mcpclient.Credentials, error) {
	out := mcpclient.Credentials{Headers: http.Header{}}
	for name, value := range c[id.Plugin+"/"+id.Server] {
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
