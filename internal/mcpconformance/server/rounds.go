package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tools of protocol 2026-07-28 that need several rounds: they answer with what
// they want to know, and are called again with it.

// stateKey signs what goes through the client between two rounds.
var stateKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it does not fail
	return key
}()

func seal(state string) string {
	mac := hmac.New(sha256.New, stateKey)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

// unseal returns a state that was sealed here.
func unseal(sealed string) (string, error) {
	i := strings.LastIndexByte(sealed, '.')
	if i < 0 || !hmac.Equal([]byte(seal(sealed[:i])), []byte(sealed)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state is not one of this server"}
	}
	return sealed[:i], nil
}

// ask asks the user for one value.
func ask(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: object(map[string]any{field: map[string]any{"type": kind}}, field)}
}

// sample asks the client's model.
//
//lint:ignore SA1019 the suite checks it while it is supported
func sample(question string) *mcp.CreateMessageParams {
	//lint:ignore SA1019 the suite checks it while it is supported
	return &mcp.CreateMessageParams{
		//lint:ignore SA1019 the suite checks it while it is supported
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", question)}}, MaxTokens: 100,
	}
}

// accepted returns what the user agreed to send.
func accepted(in mcp.InputResponseMap, key string) map[string]any {
	if res, ok := in[key].(*mcp.ElicitResult); ok && res != nil && res.Action == "accept" {
		return res.Content
	}
	return nil
}

// sampled returns what the client's model said.
func sampled(in mcp.InputResponseMap, key string) (string, bool) {
	//lint:ignore SA1019 the suite checks it while it is supported
	res, ok := in[key].(*mcp.CreateMessageWithToolsResult)
	if !ok || res == nil {
		return "", false
	}
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

// rootsIn returns the client's roots.
func rootsIn(in mcp.InputResponseMap, key string) (int, bool) {
	//lint:ignore SA1019 the suite checks it while it is supported
	res, ok := in[key].(*mcp.ListRootsResult)
	if !ok || res == nil {
		return 0, false
	}
	return len(res.Roots), true
}

func need(state string, in mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: in, RequestState: state}, nil
}

//lint:ignore SA1019 the suite checks it while it is supported
var wantRoots = &mcp.ListRootsParams{}

func addRounds(add func(string, json.RawMessage, toolFunc)) {
	const prefix = "test_input_required_result_"
	for name, f := range map[string]func(p *mcp.CallToolParamsRaw, caps *mcp.ClientCapabilities) (*mcp.CallToolResult, error){
		"elicitation": func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if name, _ := accepted(p.InputResponses, "user_name")["name"].(string); name != "" {
				return result(text("Hello, %s", name)), nil
			}
			return need("", mcp.InputRequestMap{"user_name": ask("What is your name?", "name", "string")})
		},
		"sampling": func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if said, ok := sampled(p.InputResponses, "capital_question"); ok {
				return result(text("The model says: %s", said)), nil
			}
			return need("", mcp.InputRequestMap{"capital_question": sample("What is the capital of France?")})
		},
		"list_roots": func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if n, ok := rootsIn(p.InputResponses, "client_roots"); ok {
				return result(text("The client has %d roots.", n)), nil
			}
			return need("", mcp.InputRequestMap{"client_roots": wantRoots})
		},
		"request_state":  confirmed,
		"tampered_state": confirmed,
		"multiple_inputs": func(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			name, _ := accepted(p.InputResponses, "user_name")["name"].(string)
			greeting, greeted := sampled(p.InputResponses, "greeting")
			n, listed := rootsIn(p.InputResponses, "client_roots")
			if name != "" && greeted && listed {
				return result(text("%s %s, with %d roots.", greeting, name, n)), nil
			}
			return need(seal("several"), mcp.InputRequestMap{
				"user_name": ask("What is your name?", "name", "string"), "greeting": sample("Say a greeting."), "client_roots": wantRoots,
			})
		},
		"multi_round": rounds,
		"capabilities": func(p *mcp.CallToolParamsRaw, caps *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
			if len(p.InputResponses) > 0 {
				return result(text("That is all.")), nil
			}
			in := mcp.InputRequestMap{}
			if caps != nil && caps.Elicitation != nil {
				in["user_name"] = ask("What is your name?", "name", "string")
			}
			//lint:ignore SA1019 the suite checks it while it is supported
			if caps != nil && caps.Sampling != nil {
				in["greeting"] = sample("Say a greeting.")
			}
			//lint:ignore SA1019 the suite checks it while it is supported
			if caps != nil && caps.RootsV2 != nil {
				in["client_roots"] = wantRoots
			}
			if len(in) == 0 {
				return result(text("The client can answer nothing.")), nil
			}
			return need("", in)
		},
	} {
		add(prefix+name, anyObject, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return f(req.Params, req.ClientCapabilities())
		})
	}
}

// confirmed asks for a confirmation, with a state that has to come back as it
// was.
func confirmed(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	if p.RequestState != "" {
		if _, err := unseal(p.RequestState); err != nil {
			return nil, err
		}
		if accepted(p.InputResponses, "confirm") != nil {
			return result(text("state-ok: it is confirmed.")), nil
		}
	}
	return need(seal("confirm"), mcp.InputRequestMap{"confirm": ask("Go on?", "ok", "boolean")})
}

// rounds asks twice; the state says how far it is.
func rounds(p *mcp.CallToolParamsRaw, _ *mcp.ClientCapabilities) (*mcp.CallToolResult, error) {
	state := ""
	if p.RequestState != "" {
		var err error
		if state, err = unseal(p.RequestState); err != nil {
			return nil, err
		}
	}
	name, second := strings.CutPrefix(state, "second ")
	switch {
	case second:
		color, _ := accepted(p.InputResponses, "step2")["color"].(string)
		return result(text("%s likes %s.", name, color)), nil
	case state == "first":
		name, _ := accepted(p.InputResponses, "step1")["name"].(string)
		return need(seal("second "+name), mcp.InputRequestMap{"step2": ask("Which color do you like?", "color", "string")})
	}
	return need(seal("first"), mcp.InputRequestMap{"step1": ask("What is your name?", "name", "string")})
}
