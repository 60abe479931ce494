// Client lets the official MCP conformance suite drive mcpclient. The suite
// starts it once for each scenario, with the scenario's name and settings in
// the environment and the URL of its server as the only argument.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var set settings
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			fmt.Fprintln(os.Stderr, "client: the context is no JSON")
			os.Exit(2)
		}
	}
	if err := run(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[1], set); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// settings are what a scenario tells its client.
type settings struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

// notOffered are the scenarios of extensions for which the SDK has no handler
// that a host could give to mcpclient.
var notOffered = map[string]bool{
	"auth/client-credentials-jwt":           true,
	"auth/dpop":                             true,
	"auth/dpop-nonce":                       true,
	"auth/enterprise-managed-authorization": true,
	"auth/wif-jwt-bearer":                   true,
}

func run(ctx context.Context, scenario, server string, set settings) error {
	if notOffered[scenario] {
		return errors.New("the SDK has no OAuth handler for this extension")
	}
	opts := mcpclient.Options{
		Egress: mcpclient.DesktopEgress(),
		Handlers: mcpclient.Handlers{
			Elicit: func(context.Context, mcpclient.ServerID, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				content := map[string]any{}
				if strings.HasPrefix(scenario, "sep-2322") {
					content["confirmed"] = true
				}
				return &mcp.ElicitResult{Action: "accept", Content: content}, nil
			},
		},
	}
	if strings.HasPrefix(scenario, "auth/") {
		handler, err := authorization(scenario, opts, server, set)
		if err != nil {
			return err
		}
		opts.Credentials = func(context.Context, mcpclient.CredentialsRequest) (mcpclient.Credentials, error) {
			return mcpclient.Credentials{OAuth: handler}, nil
		}
	}
	s, err := connect(ctx, server, opts)
	if err != nil {
		// A host tries again when the server is used again. Within one attempt a
		// user is asked once, so this is what a second refusal looks like.
		fmt.Fprintln(os.Stderr, "client: first attempt:", err)
		s, err = connect(ctx, server, opts)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	tools, _, err := s.Tools(ctx)
	if err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	call := func(name string, arguments json.RawMessage) error {
		_, err := s.CallTool(ctx, name, arguments, mcpclient.CallOptions{})
		if err != nil {
			err = fmt.Errorf("call of %s: %w", name, err)
		}
		return err
	}
	// In these a call may be refused, which is the point of them.
	try := func(name string, arguments json.RawMessage) {
		if err := call(name, arguments); err != nil {
			fmt.Fprintln(os.Stderr, "client:", err)
		}
	}

	switch scenario {
	case "tools_call":
		return call("add_numbers", json.RawMessage(`{"a": 5, "b": 3}`))
	case "elicitation-sep1034-client-defaults":
		return call("test_client_elicitation_defaults", nil)
	case "sse-retry":
		return call("test_reconnection", nil)
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			try(name, nil)
		}
	case "json-schema-2020-12-preservation":
		for _, t := range tools {
			if t.Local == "json_schema_2020_12_tool" {
				return call("json_schema_echo", json.RawMessage(`{"schema": `+string(t.InputSchema)+`}`))
			}
		}
		return errors.New("its tool is not listed")
	case "http-standard-headers":
		if len(tools) > 0 {
			try(tools[0].Local, nil)
		}
		return readAll(ctx, s.MCP())
	case "http-custom-headers":
		for _, c := range set.ToolCalls {
			try(c.Name, c.Arguments)
		}
	case "http-invalid-tool-headers":
		for _, t := range tools {
			try(t.Local, json.RawMessage(`{"region": "us-west1"}`))
		}
	default:
		if strings.HasPrefix(scenario, "auth/") {
			return call("test-tool", nil)
		}
	}
	return nil
}

// readAll reads the first resource and the first prompt.
func readAll(ctx context.Context, s *mcp.ClientSession) error {
	resources, err := s.ListResources(ctx, nil)
	if err != nil {
		return err
	}
	if list := resources.Resources; len(list) > 0 {
		if _, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: list[0].URI}); err != nil {
			return err
		}
	}
	prompts, err := s.ListPrompts(ctx, nil)
	if err != nil {
		return err
	}
	if list := prompts.Prompts; len(list) > 0 {
		_, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: list[0].Name, Arguments: map[string]string{}})
	}
	return err
}

// connect connects as a host does: with a package whose mcp.json names the
// server.
func connect(ctx context.Context, server string, opts mcpclient.Options) (*mcpclient.Session, error) {
	config, err := json.Marshal(map[string]any{
		"$schema":    "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
		"mcpServers": map[string]any{"suite": map[string]any{"type": "streamable-http", "url": server}},
	})
	if err != nil {
		return nil, err
	}
	p, err := plugin.LoadFS(ctx, fstest.MapFS{
		"plugin.json": {Data: []byte(`{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "conformance"}`)},
		"mcp.json":    {Data: config},
	}, plugin.Options{})
	if err != nil {
		return nil, err
	}
	return mcpclient.Connect(ctx, p, plugin.Instance{ID: "conformance"}, "suite", opts)
}

// authorization is a handler that lets the suite's authorization server answer
// at once, as a browser would after its user agreed.
func authorization(scenario string, opts mcpclient.Options, server string, set settings) (auth.OAuthHandler, error) {
	client := mcpclient.OAuthClient(opts, server)
	registered := &oauthex.ClientCredentials{
		ClientID:         set.ClientID,
		ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: set.ClientSecret},
	}
	if scenario == "auth/client-credentials-basic" {
		return extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: registered, HTTPClient: client})
	}
	config := &auth.AuthorizationCodeHandlerConfig{
		Client:      client,
		RedirectURL: "http://localhost:3000/callback",
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
			if err != nil {
				return nil, err
			}
			browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := browser.Do(req)
			if err != nil {
				return nil, err
			}
			_ = resp.Body.Close()
			back, err := url.Parse(resp.Header.Get("Location"))
			if err != nil {
				return nil, err
			}
			q := back.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: "https://conformance-test.local/client-metadata.json"},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{"http://localhost:3000/callback"}},
		},
	}
	if set.ClientID != "" && set.ClientSecret != "" {
		config.PreregisteredClient = registered
	}
	return auth.NewAuthorizationCodeHandler(config)
}
