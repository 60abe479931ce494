package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/internal/modeltext"
)

// clientOptions wires what a server sends on its own to the session and to the
// host's handlers. What runs here runs on the SDK's one goroutine for
// notifications, so it only signals.
func clientOptions(opts *Options, s *Session, hooks hooks) *mcp.ClientOptions {
	h := opts.Handlers
	out := &mcp.ClientOptions{
		// Without this the SDK announces roots.
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			if hooks.toolsChanged != nil {
				hooks.toolsChanged()
			}
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			if p := req.Params; p != nil {
				s.progress.deliver(p.ProgressToken, Progress{
					Done: p.Progress, Total: p.Total,
					Message: cut(modeltext.Clean(p.Message), opts.Limits.Description),
				})
			}
		},
	}
	if h.Roots != nil {
		out.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	if h.Elicit != nil {
		out.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (res *mcp.ElicitResult, err error) {
			defer refusePanic(&err)
			return h.Elicit(ctx, s.id, req.Params)
		}
	}
	if h.Sample != nil {
		out.CreateMessageHandler = func(ctx context.Context, req *mcp.CreateMessageRequest) (res *mcp.CreateMessageResult, err error) {
			defer refusePanic(&err)
			return h.Sample(ctx, s.id, req.Params)
		}
	}
	if h.Notification != nil {
		tell := func(method string, params mcp.Params) {
			defer func() { _ = recover() }()
			h.Notification(s.id, method, params)
		}
		out.PromptListChangedHandler = func(_ context.Context, req *mcp.PromptListChangedRequest) {
			tell("notifications/prompts/list_changed", req.Params)
		}
		out.ResourceListChangedHandler = func(_ context.Context, req *mcp.ResourceListChangedRequest) {
			tell("notifications/resources/list_changed", req.Params)
		}
		out.ResourceUpdatedHandler = func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			tell("notifications/resources/updated", req.Params)
		}
		out.LoggingMessageHandler = func(_ context.Context, req *mcp.LoggingMessageRequest) {
			tell("notifications/message", req.Params)
		}
	}
	return out
}

// refusePanic turns a panic of a host's handler into an error that tells the
// server nothing.
func refusePanic(err *error) {
	if recover() != nil {
		*err = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client failed to answer"}
	}
}

// answers refuses what no handler of the host answers, and answers for roots,
// which the SDK would answer from a list of its own.
func answers(opts *Options, s *Session) mcp.Middleware {
	h := opts.Handlers
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
			refused := false
			switch method {
			case "roots/list":
				if refused = h.Roots == nil; !refused {
					defer refusePanic(&err)
					roots, err := h.Roots(ctx, s.id)
					if err != nil {
						return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client failed to answer"}
					}
					if roots == nil {
						roots = []*mcp.Root{}
					}
					return &mcp.ListRootsResult{Roots: roots}, nil
				}
			case "sampling/createMessage":
				refused = h.Sample == nil
			case "elicitation/create":
				refused = h.Elicit == nil
			}
			if refused {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client does not offer " + method}
			}
			return next(ctx, method, req)
		}
	}
}

// cut shortens s to n bytes at most, at a character's end.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	if n < len(more) {
		return ""
	}
	return strings.ToValidUTF8(s[:n-len(more)], "") + more
}
