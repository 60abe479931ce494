package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // see Session.rounds
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
		out.ElicitationHandler = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return reply(func() (*mcp.ElicitResult, error) { return h.Elicit(ctx, s.id, req.Params) })
		}
	}
	if h.Sample != nil {
		out.CreateMessageHandler = func(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return reply(func() (*mcp.CreateMessageResult, error) { return h.Sample(ctx, s.id, req.Params) })
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

// errNoAnswer tells a server nothing of what went wrong in the host.
var errNoAnswer = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client failed to answer"}

// errBusy refuses what a server asks while it has too many questions open: each
// costs a goroutine of the host's handler, and may stand before a person.
var errBusy = &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf("more than %d requests are unanswered", maxRequests)}

// reply is what a handler of the host answers. An answer that is missing, a
// panic, and an error that is not one of the protocol's become errNoAnswer.
func reply[T any](handler func() (*T, error)) (res *T, err error) {
	defer refusePanic(&err)
	res, err = handler()
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		return nil, wire
	case err != nil || res == nil:
		return nil, errNoAnswer
	}
	return res, nil
}

func refusePanic(err *error) {
	if recover() != nil {
		*err = errNoAnswer
	}
}

// answers refuses what no handler of the host answers, and answers for roots,
// which the SDK would answer from a list of its own.
func answers(opts *Options, s *Session) mcp.Middleware {
	h := opts.Handlers
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		s.answer = func(ctx context.Context, method string, req mcp.Request) (_ mcp.Result, err error) {
			defer refusePanic(&err) // also of the SDK, over what a server sent: nothing else would stop it
			if lacksParams(method, req) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params are missing"}
			}
			refused := false
			switch method {
			case "roots/list", "sampling/createMessage", "elicitation/create":
				defer s.asked.Add(-1)
				if s.asked.Add(1) > maxRequests {
					return nil, errBusy
				}
				// The SDK ends it later: after it has tried to get the connection back.
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(s.ctx, cancel)()
			}
			switch method {
			case "roots/list":
				if refused = h.Roots == nil; !refused {
					return noNil(reply(func() (*mcp.ListRootsResult, error) {
						roots, err := h.Roots(ctx, s.id)
						if roots == nil {
							roots = []*mcp.Root{}
						}
						return &mcp.ListRootsResult{Roots: roots}, err
					}))
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
		return s.answer
	}
}

// lacksParams reports whether a message has no params that needs them. The SDK
// takes some for such as have none, and ends the process over it, or keeps a
// lock.
func lacksParams(method string, req mcp.Request) bool {
	switch method {
	case "elicitation/create", "notifications/elicitation/complete", "notifications/resources/updated":
		v := reflect.ValueOf(req.GetParams())
		return !v.IsValid() || v.IsNil()
	}
	return false
}

// noNil keeps a nil pointer from becoming a result that is not nil.
func noNil(res *mcp.ListRootsResult, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
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
