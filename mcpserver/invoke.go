package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plugberth/plugberth/mcpserver/catalog"
)

// Invoker carries out the calls of a plugin's tools. A host has one for each
// plugin, or one for many.
//
// It is asked once for each call that was authorized, concurrently, and never
// again for the same. The context ends when the agent cancels, the deadline
// passes ([catalog.Tool].Timeout, or else [Limits].Invoke), the grant ends, or the
// tool is withdrawn; it has the run ([RunFromContext]). What [Handler] says of
// results, errors and panics holds here: the agent hears of an error only that there
// was one, unless it is a [channel.AgentError], and [channel.ErrBlocked] ends its
// turn.
type Invoker interface {
	Invoke(ctx context.Context, inv Invocation) (Result, error)
}

// InvokerFunc is a function that is an [Invoker].
type InvokerFunc func(ctx context.Context, inv Invocation) (Result, error)

// Invoke calls f.
func (f InvokerFunc) Invoke(ctx context.Context, inv Invocation) (Result, error) { return f(ctx, inv) }

// Invocation is a call that was authorized.
type Invocation struct {
	// Run is the run that calls.
	Run Run
	// Tool is the tool as it was declared when the call was authorized. Its Name
	// is the exposed one, Tool.Tool.Name the plugin's own.
	Tool catalog.Entry
	// Arguments is a JSON object that fits the input schema.
	Arguments json.RawMessage

	call     *call
	progress *atomic.Int64 // when progress was last told
}

// progressGap is the least time between two reports of progress of one call.
const progressGap = 50 * time.Millisecond

// Progress tells a client that asked for it how far the call is. total is 0
// where it is not known. Reports that follow the last too soon are dropped, which
// is within 50 milliseconds; a message has at most 1 KiB and the rest is cut. Once
// the call has ended it returns the error of the call's context. It may be called
// concurrently.
func (i Invocation) Progress(ctx context.Context, done, total float64, message string) error {
	if i.call == nil {
		return nil
	}
	if err := i.call.Err(); err != nil {
		return err
	}
	now, last := time.Now().UnixNano(), i.progress.Load()
	if last != 0 && now-last < int64(progressGap) || !i.progress.CompareAndSwap(last, now) {
		return nil
	}
	return Call{state: i.call}.Progress(ctx, done, total, cut(message, 1<<10))
}

// Invokers says who carries out calls. The zero value knows nobody. It is safe
// for concurrent use, also while a registry uses it.
type Invokers struct {
	mu      sync.RWMutex
	plugins map[string]Invoker
	sources map[string]Invoker
}

// Set makes inv carry out the calls of the tools that a plugin declares, in place
// of one that did. nil takes it away: calls are refused then.
func (i *Invokers) Set(plugin string, inv Invoker) { i.set(&i.plugins, plugin, inv) }

// SetSource makes inv carry out the calls of the tools that bridges of a source
// offer ([catalog.Catalog.Bridge]), whatever the plugin. nil takes it away.
func (i *Invokers) SetSource(source string, inv Invoker) { i.set(&i.sources, source, inv) }

func (i *Invokers) set(table *map[string]Invoker, key string, inv Invoker) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case inv == nil:
		delete(*table, key)
	case *table == nil:
		*table = map[string]Invoker{key: inv}
	default:
		(*table)[key] = inv
	}
}

// of returns the invoker of a tool, or nil.
func (i *Invokers) of(e catalog.Entry) Invoker {
	if i == nil {
		return nil
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	if e.Source != "" {
		return i.sources[e.Source]
	}
	return i.plugins[e.Plugin]
}
