package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
)

// jsonWriter writes a document in canonical form: members in a fixed order, two
// blanks a level, one line end last.
type jsonWriter struct {
	b      bytes.Buffer
	faults *BuildError
}

const notUTF8 = "it is not UTF-8: JSON cannot hold it"

// text writes a string, which must be UTF-8: JSON holds no other.
func (w *jsonWriter) text(field, s string) {
	if !utf8.ValidString(s) {
		w.faults.add(field, notUTF8)
		s = ""
	}
	enc := json.NewEncoder(&w.b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		w.faults.add(field, "it cannot be written as JSON") // no string is like this
	}
}

// object writes members one after the other.
type jsonObject struct {
	w    *jsonWriter
	some bool
}

func (w *jsonWriter) object() *jsonObject {
	w.b.WriteByte('{')
	return &jsonObject{w: w}
}

func (o *jsonObject) name(field, name string) {
	if o.some {
		o.w.b.WriteByte(',')
	}
	o.some = true
	o.w.text(field, name)
	o.w.b.WriteByte(':')
}

func (o *jsonObject) text(field, name, value string) {
	o.name(field, name)
	o.w.text(field, value)
}

func (o *jsonObject) list(field, name string, values []string) {
	o.name(field, name)
	o.w.b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			o.w.b.WriteByte(',')
		}
		o.w.text(fmt.Sprintf("%s[%d]", field, i), v)
	}
	o.w.b.WriteByte(']')
}

func (o *jsonObject) texts(field, name string, values map[string]string) {
	o.name(field, name)
	below := o.w.object()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		below.text(field+"["+printable.Escape(key)+"]", key, values[key])
	}
	below.end()
}

func (o *jsonObject) end() { o.w.b.WriteByte('}') }

// document returns what was written, indented.
func (w *jsonWriter) document() ([]byte, error) {
	var out bytes.Buffer
	if err := json.Indent(&out, w.b.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// encodeManifest writes plugin.json.
func (d *Draft) encodeManifest(faults *BuildError) ([]byte, error) {
	m := d.Manifest
	w := &jsonWriter{faults: faults}
	top := w.object()
	if m.Schema == "" {
		m.Schema = versions[len(versions)-1].manifest
	}
	top.text("manifest.schema", "$schema", m.Schema)
	top.text("manifest.name", "name", m.Name)
	text := func(member, value string) {
		if value != "" || d.declared[member] {
			top.text("manifest."+member, member, value)
		}
	}
	text("version", m.Version)
	text("description", m.Description)
	if m.Author != (Author{}) || d.declared["author"] {
		top.name("manifest.author", "author")
		author := w.object()
		for _, a := range []struct{ name, value string }{{"name", m.Author.Name}, {"email", m.Author.Email}, {"url", m.Author.URL}} {
			if a.value != "" {
				author.text("manifest.author."+a.name, a.name, a.value)
			}
		}
		author.end()
	}
	text("homepage", m.Homepage)
	text("repository", m.Repository)
	text("license", m.License)
	if m.Keywords != nil || d.declared["keywords"] {
		top.list("manifest.keywords", "keywords", m.Keywords)
	}
	if d.Extensions != nil || d.declared["extensions"] {
		top.name("extensions", "extensions")
		all := w.object()
		for _, namespace := range slices.Sorted(maps.Keys(d.Extensions)) {
			field := "extensions[" + printable.Escape(namespace) + "]"
			raw := d.Extensions[namespace]
			doc, err := strictjson.Parse(raw, strictjson.Limits{Depth: Limits{}.withDefaults().Depth})
			if err != nil || doc.Root().Kind() != strictjson.Object {
				faults.add(field, "it is no JSON object")
				continue
			}
			all.name(field, namespace)
			w.b.Write(doc.Root().Raw())
		}
		all.end()
	}
	top.end()
	return w.document()
}

// encodeMCP writes mcp.json.
func (d *Draft) encodeMCP(faults *BuildError) ([]byte, error) {
	w := &jsonWriter{faults: faults}
	top := w.object()
	v, _ := recognize(manifestFile, d.Manifest.Schema)
	if v == nil {
		v = versions[len(versions)-1]
	}
	top.text("servers", "$schema", v.mcp)
	top.name("servers", "mcpServers")
	all := w.object()
	for i, s := range d.Servers {
		field := fmt.Sprintf("servers[%d]", i)
		all.name(field+".name", s.Name)
		entry := w.object()
		entry.text(field+".type", "type", string(s.Type))
		local, remote := s.Stdio, s.Remote
		switch isLocal := s.Type == TransportStdio; {
		case s.Type != TransportStdio && s.Type != TransportStreamableHTTP && s.Type != TransportSSE:
			faults.add(field+".type", "it is none of stdio, streamable-http and sse")
		case isLocal && (remote.URL != "" || remote.Headers != nil):
			faults.add(field+".remote", "a stdio server has no url and no headers: leave them empty")
		case !isLocal && (local.Command != "" || local.Args != nil || local.Env != nil || local.Cwd != ""):
			faults.add(field+".stdio", "a remote server has no command, args, env or cwd: leave them empty")
		case isLocal:
			entry.text(field+".command", "command", local.Command)
			if local.Args != nil {
				entry.list(field+".args", "args", local.Args)
			}
			if local.Env != nil {
				entry.texts(field+".env", "env", local.Env)
			}
			if local.Cwd != "" {
				entry.text(field+".cwd", "cwd", local.Cwd)
			}
		default:
			entry.text(field+".url", "url", remote.URL)
			if remote.Headers != nil {
				entry.texts(field+".headers", "headers", remote.Headers)
			}
		}
		entry.end()
	}
	all.end()
	top.end()
	return w.document()
}
