package snippets_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/plugberth/plugberth/fixtures"
	"github.com/plugberth/plugberth/fixtures/runtime"
	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

func TestMain(m *testing.M) {
	runtime.Main()
	os.Exit(m.Run())
}

func TestRuntime(t *testing.T) {
	runtime.Run(t, adapter{}, fixtures.Options{})
}

func TestConformance(t *testing.T) {
	fixtures.Run(t, fixtures.Library{}, fixtures.Options{Strict: true})
}

// adapter is a small host: it starts what it is given, and has neither tenants
// nor credentials nor users to ask.
type adapter struct{}

func (adapter) Open(ctx context.Context, req runtime.Request) (runtime.Plugin, error) {
	if req.Refuse || req.Tenant != "" || req.Credentials != nil || req.Origins != nil {
		return nil, fixtures.ErrSettings
	}
	p, err := plugin.Load(ctx, req.Dir, plugin.Options{})
	if errors.Is(err, plugin.ErrRejected) {
		return nil, fmt.Errorf("%w: %w", runtime.ErrRejected, err)
	}
	if err != nil {
		return nil, err
	}
	h, err := mcpclient.NewHost(mcpclient.HostOptions{
		Options: mcpclient.Options{
			Consent:     func(context.Context, mcpclient.ConsentRequest) error { return nil },
			DataRoot:    req.Data,
			Egress:      mcpclient.DesktopEgress(),
			GracePeriod: 100 * time.Millisecond,
		},
		Retry: mcpclient.Retry{Min: time.Millisecond, Max: time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	if err = h.Add(plugin.Instance{ID: req.Install}, p); err == nil {
		err = h.Ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return opened{h, p}, nil
}

// opened is a package whose servers run.
type opened struct {
	host *mcpclient.Host
	p    *plugin.Plugin
}

func (o opened) Report(context.Context) (runtime.Report, error) {
	r := runtime.Report{Skills: []runtime.Skill{}}
	for _, s := range o.p.Skills() {
		body, err := s.Body()
		if err != nil {
			return r, err
		}
		r.Skills = append(r.Skills, runtime.Skill{Name: s.Name(), Body: body})
	}
	for _, s := range o.host.Servers() {
		entry := runtime.Server{Name: s.ID.Server, State: runtime.Failed}
		switch s.Status {
		case mcpclient.StatusConnected:
			entry.State = runtime.Connected
		case mcpclient.StatusDisabled:
			entry.State = runtime.Disabled
		case mcpclient.StatusUnsupported:
			entry.State = runtime.Unsupported
		}
		if s.Err != nil {
			entry.Reason = s.Err.Error()
		}
		r.Servers = append(r.Servers, entry)
	}
	return r, nil
}

func (o opened) Call(ctx context.Context, server, tool string, arguments json.RawMessage) (json.RawMessage, error) {
	result, err := o.host.Call(ctx, mcpclient.ToolName(o.p.Name(), server, tool), arguments, mcpclient.CallOptions{})
	if err != nil {
		return nil, err
	}
	if result.IsError || result.StructuredContent == nil {
		return nil, errors.New("the result is an error, or has no structured content")
	}
	return json.Marshal(result.StructuredContent)
}

func (o opened) Close(ctx context.Context) error { return o.host.Close(ctx) }
