package thing

import (
	"context"
	"fmt"
	"time"

	"example.test/sample/internal/hidden"
)

// Kind is a kind.
type Kind string

// The kinds.
const (
	One   Kind = "one"
	Two   Kind = "two"
	three Kind = "three"
)

const BadConst = 1 << 3

// Options has a Size in bytes.
type Options struct {
	Size int
	Kind Kind
	// Low and High are bounds.
	Low  int `json:"low"`
	High int `json:"high,omitempty"`

	BadField int
	Note     string // said

	hidden int
}

// Store keeps things.
type Store interface {
	// Put keeps one.
	Put(ctx context.Context, name string) error
	BadGet(name string) (time.Time, bool)
}

// Wide is more than a [Store].
type Wide interface {
	Store
	fmt.Stringer
}

// Getter gets, as its only method does.
type Getter interface {
	Get() *Options
}

// GetterFunc is a function as a [Getter].
type GetterFunc func() *Options

// Get calls the function.
func (f GetterFunc) Get() *Options { return f() }

// List is a list of anything.
type List[T any] struct {
	Base
	Items []T // in order
}

// Base is below.
type Base struct {
	Depth int // from 1
}

// Add adds.
func (l *List[T]) Add(item T) { l.Items = append(l.Items, item) }

// String writes the list.
func (l List[T]) String() string { return fmt.Sprint(l.Items) }

// Error is an error.
type Error struct{}

func (e *Error) Error() string { return "" }

// Alias is of another package.
type Alias = time.Duration

type unexported struct{ Exported int }

// Method is not of the API.
func (unexported) Method() {}

// BadEmbeds has members nobody sees the type of.
type BadEmbeds struct{ unexported }

// BadResult returns what has no name outside.
func BadResult() map[string]*hidden.T { return nil }

// BadParam takes what has no name outside.
func BadParam(func(unexported)) {}

// New makes options, which an example only has as a value.
func New() *Options { return &Options{hidden: len(three)} }

// Unused is used by nothing, and by no need. Its links are [Nowhere],
// [Options.Nothing], [hidden.Gone], [List]s and [unknown.Thing]; those that
// lead somewhere [Options.Low], [List.Base], [List.Depth], [Store.Put], [*List],
// [context.Context], [net/http.Server], list[Index] and [text].
func Unused() {}

// Rare serves a need.
func Rare() {}
