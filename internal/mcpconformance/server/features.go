package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const watched = "test://watched-resource"

// options announce what the suite asks for beside tools.
func options(o *mcp.ServerOptions) {
	o.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
	}
	o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
	o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
}

func configure(ctx context.Context, srv *mcp.Server) {
	addTools(srv)
	addResources(srv)
	addPrompts(srv)
	go func() {
		for ctx.Err() == nil {
			pause(ctx, time.Second)
			_ = srv.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watched})
		}
	}()
}

func addResources(srv *mcp.Server) {
	for _, r := range []struct {
		name, uri, media string
		contents         mcp.ResourceContents
	}{
		{"static-text", "test://static-text", "text/plain", mcp.ResourceContents{Text: "A text that stays the same."}},
		{"static-binary", "test://static-binary", "image/png", mcp.ResourceContents{Blob: picture}},
		{"watched-resource", watched, "text/plain", mcp.ResourceContents{Text: "A text that is said to change."}},
	} {
		srv.AddResource(&mcp.Resource{Name: r.name, URI: r.uri, MIMEType: r.media, Description: "For the conformance suite"},
			func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				contents := r.contents
				contents.URI, contents.MIMEType = req.Params.URI, r.media
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&contents}}, nil
			})
	}
	srv.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: req.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id": %q, "templateTest": true, "data": "Data for ID: %s"}`, id, id),
			}}}, nil
		})
}

func addPrompts(srv *mcp.Server) {
	user := func(content ...mcp.Content) *mcp.GetPromptResult {
		out := &mcp.GetPromptResult{Description: "For the conformance suite"}
		for _, c := range content {
			out.Messages = append(out.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return out
	}
	argument := func(names ...string) (out []*mcp.PromptArgument) {
		for _, name := range names {
			out = append(out, &mcp.PromptArgument{Name: name, Description: "An argument", Required: true})
		}
		return out
	}
	for _, p := range []struct {
		name      string
		arguments []*mcp.PromptArgument
		make      func(args map[string]string) *mcp.GetPromptResult
	}{
		{"test_simple_prompt", nil, func(map[string]string) *mcp.GetPromptResult { return user(text("A simple prompt.")) }},
		{"test_prompt_with_arguments", argument("arg1", "arg2"), func(args map[string]string) *mcp.GetPromptResult {
			return user(text("arg1='%s', arg2='%s'", args["arg1"], args["arg2"]))
		}},
		{"test_prompt_with_embedded_resource", argument("resourceUri"), func(args map[string]string) *mcp.GetPromptResult {
			return user(embedded(args["resourceUri"]), text("Look at this."))
		}},
		{"test_prompt_with_image", nil, func(map[string]string) *mcp.GetPromptResult {
			return user(&mcp.ImageContent{Data: picture, MIMEType: "image/png"}, text("Look at this."))
		}},
	} {
		srv.AddPrompt(&mcp.Prompt{Name: p.name, Arguments: p.arguments, Description: "For the conformance suite"},
			func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return p.make(req.Params.Arguments), nil
			})
	}
	srv.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "For the conformance suite"},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if said := accepted(req.Params.InputResponses, "user_context"); said != nil {
				return user(text("The context: %v", said["context"])), nil
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
				"user_context": ask("What is it about?", "context", "string"),
			}}, nil
		})
}
