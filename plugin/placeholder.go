package plugin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/expand"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

var (
	// braced is a placeholder as clients and shells write it, with what it may say
	// about a default.
	braced = regexp.MustCompile(`\$\{[A-Za-z_][^{}]*\}`)
	// bare is a variable as shells write it. Names are those of environment
	// variables: in lower case a dollar sign is rather a part of a text.
	bare = regexp.MustCompile(`\$[A-Z_][A-Z0-9_]{2,}|%[A-Z_][A-Z0-9_]{2,}%`)
	// home is a path from the home directory, alone or behind an option.
	home = regexp.MustCompile(`^(--?[\w-]+=)?~(/|$)`)
)

// shells replace variables in their arguments, so these are rather meant.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "powershell", "pwsh"}

// lintPlaceholders notes what looks like a placeholder and is none (AP §9.2).
func (e *entry) lintPlaceholders() {
	note := func(at string, v strictjson.Value, what string, replaced bool) {
		if v.Kind() != strictjson.String {
			return
		}
		text := v.Text()
		switch {
		case !replaced && braced.MatchString(text):
			e.add(finding.LintPlaceholder, at, v.Offset(),
				"%s has a placeholder, and only args, env and cwd have any: write the value, or leave it out for the host to bring", what)
		case replaced && unknownPlaceholder(text):
			e.add(finding.LintPlaceholder, at, v.Offset(),
				"%s has a placeholder that nothing replaces: only ${PLUGIN_ROOT} and ${PLUGIN_DATA} are, and the server finds its environment by itself", what)
		}
	}
	for m := range e.value.Members() {
		switch m.Name {
		case "args":
			if e.startsShell() {
				continue
			}
			for i, a := range m.Value.Elements() {
				note(fmt.Sprintf("/args/%d", i), a, "an argument", true)
			}
		case "env", "headers":
			for one := range m.Value.Members() {
				note("/"+m.Name+strictjson.Pointer(one.Name), one.Value, "the value of "+printable.Quote(one.Name), m.Name == "env")
			}
		case "cwd":
			note("/cwd", m.Value, "cwd", true)
		case "url":
			note("/url", m.Value, "url", false)
		}
	}
}

// unknownPlaceholder reports whether a text that is expanded has a placeholder
// beside those that are.
func unknownPlaceholder(text string) bool {
	text = strings.NewReplacer(expand.PluginRoot, "", expand.PluginData, "").Replace(text)
	return braced.MatchString(text) || bare.MatchString(text) || home.MatchString(text)
}

// startsShell reports whether the program of the entry is a shell.
func (e *entry) startsShell() bool {
	c := e.server.stdio.Command
	c = strings.ToLower(c[strings.LastIndexByte(c, '/')+1:])
	return slices.Contains(shells, strings.TrimSuffix(c, ".exe"))
}
