package mcpclient

//lint:file-ignore SA1019 roots, sampling and logging work in the protocol until they are removed from it

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of the newest protocol sends no requests of its own. It answers a
// call with what it wants to know, and gets the call again with the answers
// (SEP-2322). The SDK can do that too, but there a server decides how many
// questions stand before a person at once, one that is malformed ends the
// process, and roots are those of the SDK. Here each question takes the way of
// a request: to the handlers of the host, or to the protocol's refusal.

const (
	maxRounds = 10 // answers of a server to one call
	maxAsked  = 16 // questions in one of them
)

// rounds is sending middleware that answers what a server asks within a call.
// A call goes out again only where the server has asked for it.
func (s *Session) rounds(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		for round := 1; ; round++ {
			res, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			asked, state, more := questions(res)
			switch {
			case !more:
				return res, nil
			case round == maxRounds:
				return nil, broken("the server asked for something %d times within one call", maxRounds)
			case len(asked) > maxAsked:
				return nil, exceeded("the server asked for more than %d things at once", maxAsked)
			}
			answers, err := s.answerAll(ctx, asked)
			if err != nil {
				return nil, err
			}
			if req, err = withAnswers(req, answers, state); err != nil {
				return nil, err
			}
		}
	}
}

// questions returns what a result asks for, if it does. One that asks for
// nothing wants no more than the call again.
func questions(res mcp.Result) (asked mcp.InputRequestMap, state string, more bool) {
	switch res := res.(type) {
	case *mcp.CallToolResult:
		return res.InputRequests, res.RequestState, res.InputRequests != nil || res.NeedsInput()
	case *mcp.GetPromptResult:
		return res.InputRequests, res.RequestState, res.InputRequests != nil || res.NeedsInput()
	case *mcp.ReadResourceResult:
		return res.InputRequests, res.RequestState, res.InputRequests != nil || res.NeedsInput()
	}
	return nil, "", false
}

// withAnswers is a copy of a call with the answers.
func withAnswers(req mcp.Request, answers mcp.InputResponseMap, state string) (mcp.Request, error) {
	var params mcp.Params
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParams:
		again := *p
		again.InputResponses, again.RequestState = answers, state
		params = &again
	case *mcp.GetPromptParams:
		again := *p
		again.InputResponses, again.RequestState = answers, state
		params = &again
	case *mcp.ReadResourceParams:
		again := *p
		again.InputResponses, again.RequestState = answers, state
		params = &again
	}
	cs, ok := req.GetSession().(*mcp.ClientSession)
	if params == nil || !ok {
		return nil, broken("the server asked for something in a place where it cannot")
	}
	return &mcp.ClientRequest[mcp.Params]{Session: cs, Params: params}, nil
}

// answerAll has all questions answered, side by side.
func (s *Session) answerAll(ctx context.Context, asked mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	type answer struct {
		response mcp.InputResponse
		err      error
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	given := make(map[string]answer, len(asked))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for id, question := range asked {
		wg.Go(func() {
			response, err := s.answerOne(ctx, question)
			if err != nil {
				cancel()
			}
			mu.Lock()
			defer mu.Unlock()
			given[id] = answer{response, err}
		})
	}
	wg.Wait()
	out := make(mcp.InputResponseMap, len(given))
	var failed error
	for id, a := range given {
		if a.err == nil {
			out[id] = a.response
		} else if failed == nil || errors.Is(failed, context.Canceled) {
			failed = a.err // the first one, and not those that it ended
		}
	}
	return out, failed
}

// answerOne takes a question the way of a request of the server.
func (s *Session) answerOne(ctx context.Context, question mcp.InputRequest) (mcp.InputResponse, error) {
	var method string
	var req mcp.Request
	switch p := question.(type) {
	case *mcp.ElicitParams:
		method, req = "elicitation/create", &mcp.ClientRequest[*mcp.ElicitParams]{Session: s.cs, Params: p}
	case *mcp.CreateMessageWithToolsParams:
		method, req = "sampling/createMessage", &mcp.ClientRequest[*mcp.CreateMessageWithToolsParams]{Session: s.cs, Params: p}
	case *mcp.ListRootsParams:
		method, req = "roots/list", &mcp.ClientRequest[*mcp.ListRootsParams]{Session: s.cs, Params: p}
	default:
		return nil, broken("the server asked for something that the protocol does not have")
	}
	res, err := s.answer(ctx, method, req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text := "it cannot be answered"
		if wire := (*jsonrpc.Error)(nil); errors.As(err, &wire) {
			text = brief(wire.Message)
		}
		return nil, broken("the server asked for %s within the call: %s", method, text)
	}
	response, ok := res.(mcp.InputResponse)
	if !ok {
		return nil, broken("the server asked for %s within the call, which has no answer", method)
	}
	return response, nil
}

// results looks at what a server answers before the SDK does. A panic over it
// fails the call. No list of tools is kept for as long as the server says: it
// is asked for only when it is wanted.
func results(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer unreadable(&err)
		res, err = next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return res, err
	}
}

func unreadable(err *error) {
	if recover() != nil {
		*err = broken("the server's answer cannot be read")
	}
}
