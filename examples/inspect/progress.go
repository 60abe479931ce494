package main

import (
	"fmt"
	"io"
	"time"
)

// progress counts paths on a terminal once the work has taken a second.
type progress struct {
	out         io.Writer // nil where there is no terminal
	start       time.Time
	last        time.Time // of the last sign of life
	done, total int
	shown       bool
}

func newProgress(out io.Writer, total int) *progress {
	p := &progress{start: time.Now(), total: total}
	if total > 1 && isTerminal(out) {
		p.out = out
	}
	return p
}

func (p *progress) step() {
	p.done++
	if p.out != nil && time.Since(p.start) > time.Second && time.Since(p.last) > 100*time.Millisecond {
		p.last = time.Now()
		fmt.Fprintf(p.out, "\rinspect: %d of %d", p.done, p.total)
		p.shown = true
	}
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
