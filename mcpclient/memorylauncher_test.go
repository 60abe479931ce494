package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func sprint(format string, v any) string { return fmt.Sprintf(format, v) }

type launcherFunc func(context.Context, Launch) (Process, error)

func (f launcherFunc) Launch(ctx context.Context, l Launch) (Process, error) { return f(ctx, l) }

// memoryProcess is a server that is a function, with pipes without deadlines.
type memoryProcess struct {
	inR  *io.PipeReader
	inW  *io.PipeWriter
	outR *io.PipeReader
	outW *io.PipeWriter
	errR *io.PipeReader
	errW *io.PipeWriter
	none bool

	kill sync.Once
	done chan struct{}
}

// newMemoryProcess runs serve, which ends with its pipes; a nil one has none.
func newMemoryProcess(serve func(*memoryProcess)) *memoryProcess {
	p := &memoryProcess{done: make(chan struct{}), none: serve == nil}
	p.inR, p.inW = io.Pipe()
	p.outR, p.outW = io.Pipe()
	p.errR, p.errW = io.Pipe()
	go func() {
		defer close(p.done)
		if serve != nil {
			serve(p)
		}
		p.inR.Close()
		p.outW.Close()
		p.errW.Close()
	}()
	return p
}

func (p *memoryProcess) Pipes() (io.WriteCloser, io.ReadCloser, io.ReadCloser) {
	if p.none {
		return nil, nil, nil
	}
	return p.inW, p.outR, p.errR
}

func (p *memoryProcess) Terminate() error { return p.Kill() }

func (p *memoryProcess) Kill() error {
	p.kill.Do(func() {
		killed := errors.New("killed")
		p.inR.CloseWithError(killed)
		p.outW.CloseWithError(killed)
	})
	return nil
}

func (p *memoryProcess) Wait() error { <-p.done; return nil }

// pipeProcess is a server of which the test holds the other ends.
type pipeProcess struct {
	stdin          io.WriteCloser
	stdout, stderr *io.PipeReader
	done           chan struct{}
}

func (p *pipeProcess) Pipes() (io.WriteCloser, io.ReadCloser, io.ReadCloser) {
	return p.stdin, p.stdout, p.stderr
}
func (p *pipeProcess) Terminate() error { return nil }
func (p *pipeProcess) Kill() error      { return nil }
func (p *pipeProcess) Wait() error      { <-p.done; return nil }

func notification(text string) jsonrpc.Message {
	params, _ := json.Marshal(map[string]string{"text": text})
	return &jsonrpc.Request{Method: "notifications/test", Params: params}
}

func encoded(t testing.TB, msg jsonrpc.Message) string {
	t.Helper()
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
