package plugin

import (
	"fmt"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/secrets"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

// lintCredentials notes what looks like a credential in an entry: by the names
// of variables, headers, options and parameters, and by the forms that issuers give them
// anywhere (AP §7.2.1, §9.2: packages are no place for secrets).
func (e *entry) lintCredentials() {
	note := func(at string, off int, what, kind string) {
		if kind != "" {
			e.add(finding.ServerCredential, at, off, "%s looks like a credential (%s): remove it, the host brings what the server needs", what, kind)
		}
	}
	for m := range e.value.Members() {
		switch m.Name {
		case "env", "headers":
			for one := range m.Value.Members() {
				if one.Value.Kind() != strictjson.String {
					continue
				}
				kind := secrets.InText(one.Value.Text())
				if kind == "" && secrets.Named(one.Name, one.Value.Text()) {
					kind = "by its name"
				}
				note("/"+m.Name+strictjson.Pointer(one.Name), one.Value.Offset(), "the value of "+printable.Quote(one.Name), kind)
			}
		case "args":
			option := "" // the argument before
			for i, a := range m.Value.Elements() {
				if a.Kind() != strictjson.String {
					continue
				}
				kind := secrets.InText(a.Text())
				if kind == "" && secrets.InArgument(option, a.Text()) {
					kind = "by the option"
				}
				note(fmt.Sprintf("/args/%d", i), a.Offset(), "an argument", kind)
				option = a.Text()
			}
		case "url":
			if m.Value.Kind() == strictjson.String {
				note("/url", m.Value.Offset(), "a part of url", secrets.InURL(m.Value.Text()))
			}
		}
	}
}
