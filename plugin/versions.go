package plugin

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schemas
var schemaFiles embed.FS

// version is one version of the specification that is supported.
type version struct {
	number   string // as in the canonical identifiers
	manifest string // canonical identifier for plugin.json
	mcp      string // canonical identifier for mcp.json
	schemas  func() *schemas
}

// versions is the one place that names the versions of the specification. To
// support another one, add its schemas and a line here.
var versions = []*version{
	newVersion("1.0.0"),
}

const identifierBase = "https://agent-plugins.org/schemas/"

func newVersion(number string) *version {
	return &version{
		number:   number,
		manifest: identifierBase + number + "/plugin.schema.json",
		mcp:      identifierBase + number + "/mcp.schema.json",
		schemas:  sync.OnceValue(func() *schemas { return compileSchemas(number) }),
	}
}

// SpecVersions returns the versions of the Agent Plugins Specification that
// are supported, oldest first.
func SpecVersions() []string {
	var out []string
	for _, v := range versions {
		out = append(out, v.number)
	}
	return out
}

var identifier = regexp.MustCompile(`^` + regexp.QuoteMeta(identifierBase) +
	`([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z.-]{1,40})?)/(plugin|mcp)\.schema\.json$`)

// recognize finds the version whose identifier for a document is id. Where
// there is none, declared is the version that a well-formed identifier of the
// document names, or "".
func recognize(document, id string) (v *version, declared string) {
	for _, v := range versions {
		if id == v.manifest && document == manifestFile || id == v.mcp && document == mcpFile {
			return v, v.number
		}
	}
	if m := identifier.FindStringSubmatch(id); m != nil && m[2]+".json" == document {
		return nil, m[1]
	}
	return nil, ""
}

// schemas are a version's JSON schemas, compiled.
type schemas struct {
	manifest *jsonschema.Schema
	mcp      *jsonschema.Schema
	servers  map[Transport]*jsonschema.Schema
}

// compileSchemas reads the embedded files; a mistake in them is ours, and every
// test would meet it.
func compileSchemas(number string) *schemas {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	add := func(name string) string {
		location := "embedded:///" + number + "/" + name
		file, err := schemaFiles.ReadFile("schemas/" + number + "/" + name)
		if err != nil {
			panic(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
		if err == nil {
			err = c.AddResource(location, doc)
		}
		if err != nil {
			panic(err)
		}
		return location
	}
	manifest, mcp := add("plugin.schema.json"), add("mcp.schema.json")
	s := &schemas{
		manifest: c.MustCompile(manifest),
		mcp:      c.MustCompile(mcp),
		servers:  map[Transport]*jsonschema.Schema{},
	}
	for _, t := range transports {
		s.servers[t] = c.MustCompile(mcp + "#/$defs/" + string(t))
	}
	return s
}

// noLoader keeps the schema compiler from reading anything by itself.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("plugin: no schema is loaded from %q: %w", url, errors.ErrUnsupported)
}
