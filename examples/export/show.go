package main

import (
	"fmt"
	"strings"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// show prints what changed, as a host would before it asks for consent.
func (s *settings) show(c *plugin.Comparison) {
	line := func(what string, kind plugin.ChangeKind, name string, details ...string) {
		text := fmt.Sprintf("  %-8s %-10s %s", kind, what, finding.Escape(name))
		if len(details) > 0 {
			text += ": " + finding.Escape(strings.Join(details, ", "))
		}
		fmt.Fprintln(s.stdout, text)
	}
	if c.Same() {
		fmt.Fprintf(s.stdout, "nothing changed since %s\n", finding.Escape(c.From.Version))
		return
	}
	fmt.Fprintf(s.stdout, "since %s\n", finding.Escape(c.From.Version))
	if len(c.Manifest) > 0 {
		line("manifest", plugin.ChangeChanged, "plugin.json", c.Manifest...)
	}
	for _, x := range c.Skills {
		line("skill", x.Kind, x.Name, x.Fields...)
	}
	for _, x := range c.Servers {
		line("server", x.Kind, x.Name, x.Fields...)
	}
	for _, x := range c.Executable {
		what := "can no longer be executed"
		if x.Now {
			what = "can be executed"
		}
		line("bit", plugin.ChangeChanged, x.Path, what)
	}
	for _, x := range c.Files {
		line("file", x.Kind, x.Path)
	}
}
