package mcpserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// DefaultServerName is what the server is called in a configuration where
// [Options].Name says nothing. Programs of agents put it before the names of tools.
const DefaultServerName = "host"

// The names of the environment variables of [Minted.Environment].
const (
	EnvURL   = "PLUGBERTH_MCP_URL"
	EnvToken = "PLUGBERTH_MCP_TOKEN"
)

// ErrURL: the URL for a configuration is no absolute http or https URL, holds
// user information or a fragment, or has "${" in it, which the agent's program
// would take for the name of a variable, such as the token's.
var ErrURL = errors.New("mcpserver: not a URL that an agent can connect to")

// Config returns the JSON document that programs of agents read to find MCP
// servers:
//
//	{"mcpServers": {"host": {"type": "http", "url": "…", "headers": {"Authorization": "Bearer …"}}}}
//
// The server has the name of [Options].Name there, [DefaultServerName] without one.
// endpoint is where the registry is mounted, as the agent reaches it. The
// document holds the token: give it over in a file of mode 0600, such as
// [Minted.WriteConfig] makes, or in the environment, never in an argument list,
// which every user of the machine can read.
func (m Minted) Config(endpoint string) ([]byte, error) {
	if m.Token.Reveal() == "" {
		return nil, fmt.Errorf("%w: there is no token", ErrGrant)
	}
	return config(m.name, endpoint, "Bearer "+m.Token.Reveal())
}

// ConfigFromEnvironment returns the document of [Minted.Config] without the token:
// where the token belongs it names the variable [EnvToken] as
// "${PLUGBERTH_MCP_TOKEN}", for programs that expand such names. It is no secret,
// and the same for all grants of the registry.
func (r *Registry) ConfigFromEnvironment(endpoint string) ([]byte, error) {
	r.ready()
	return config(r.opts.Name, endpoint, "Bearer ${"+EnvToken+"}")
}

// checkURL says what is wrong with an endpoint, without quoting it.
func checkURL(endpoint string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s", ErrURL, why) }
	if !strings.Contains(endpoint, "://") {
		return bad("the scheme is missing, http:// or https://")
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return bad("it cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("its scheme is neither http nor https")
	case u.Hostname() == "":
		return bad("it has no host")
	case u.User != nil:
		return bad("it has user information")
	case strings.Contains(endpoint, "#"):
		return bad("it has a fragment")
	case strings.Contains(endpoint, "${"):
		return bad("it has ${ in it")
	}
	return nil
}

func config(name, endpoint, authorization string) ([]byte, error) {
	if err := checkURL(endpoint); err != nil {
		return nil, err
	}
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	return json.Marshal(struct {
		Servers map[string]server `json:"mcpServers"`
	}{map[string]server{cmp.Or(name, DefaultServerName): {"http", endpoint, map[string]string{"Authorization": authorization}}}})
}

// Environment returns the URL and the token as "NAME=value", to be added to the
// environment of the agent's process.
func (m Minted) Environment(endpoint string) ([]string, error) {
	if _, err := m.Config(endpoint); err != nil {
		return nil, err
	}
	return []string{EnvURL + "=" + endpoint, EnvToken + "=" + m.Token.Reveal()}, nil
}

// WriteConfig writes what [Minted.Config] returns to a file of mode 0600. The
// file appears whole or not at all, and replaces what was there, also a link.
// Its directory must exist. On Windows the directory's access rights protect
// the file.
func (m Minted) WriteConfig(path, endpoint string) (err error) {
	data, err := m.Config(endpoint)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(append(data, '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
