// Use is a program.
package main

import (
	"context"
	"time"

	"example.test/sample/other"
	"example.test/sample/thing"
)

type store struct{}

func (store) Put(context.Context, string) error { return nil }

func (store) BadGet(string) (t time.Time, ok bool) { return }

func main() {
	other.Used()
	_ = store{}
	_ = thing.Two
}
