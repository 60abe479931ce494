package plugin

import (
	"context"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin/finding"
)

// mcpConfig is a judged mcp.json.
type mcpConfig struct {
	servers []*Server
	skipped []string
}

// judgeMCP reads mcp.json. It returns nil where MCP is to be disabled for the
// plugin; the sheet says why (AP §7.2.2). The error is the context's.
func judgeMCP(ctx context.Context, src []byte, v *version, root *paths.Root, opts Options, sheet *report.Sheet) (*mcpConfig, error) {
	doc := parseJSON(src, opts.Limits, jsonCodes{finding.MCPInvalidEncoding, finding.MCPInvalidJSON, finding.MCPTooComplex}, sheet)
	if doc == nil {
		return nil, nil
	}
	top := doc.Root()
	if top.Kind() != strictjson.Object {
		sheet.Add(finding.MCPNotObject, "", "", top.Offset(), "the configuration is %s: make it an object", top.Kind())
		return nil, nil
	}
	j := mcpJudge{notes: notes{sheet: sheet}, v: v, root: root, opts: opts, out: &mcpConfig{},
		faults: budget{left: maxFaults, cut: &sheet.Cut}}
	j.members(top)
	j.schema(top)
	j.shape(top)
	if j.failed {
		return nil, nil
	}
	if err := j.servers(ctx, top.Member("mcpServers").Value); err != nil {
		return nil, err
	}
	return j.out, nil
}

type mcpJudge struct {
	notes
	failed bool     // mcp.json as a whole
	v      *version // of the manifest
	root   *paths.Root
	opts   Options
	faults budget
	out    *mcpConfig
}

func (j *mcpJudge) add(code finding.Code, pointer string, off int, format string, args ...any) {
	if j.take(code, len(pointer), &j.failed) {
		j.sheet.Add(code, "", pointer, off, format, args...)
	}
}

func (j *mcpJudge) members(top strictjson.Value) {
	for m := range top.Members() {
		pointer := strictjson.Pointer(m.Name)
		if m.Duplicate {
			j.add(finding.MCPDuplicateMember, pointer, m.Offset, "%s stands twice: remove one", printable.Quote(m.Name))
		}
		if m.Unpaired {
			j.add(finding.MCPUnpairedSurrogate, pointer, m.Offset, "this name has an escape that is half a character: write both halves")
		}
		if m.Value.Kind() == strictjson.String && m.Value.Unpaired() {
			j.add(finding.MCPUnpairedSurrogate, pointer, m.Value.Offset(), "this text has an escape that is half a character: write both halves")
		}
	}
}

func (j *mcpJudge) schema(top strictjson.Value) {
	m := top.Member("$schema")
	switch {
	case m.Value.Kind() == strictjson.Invalid:
		j.add(finding.MCPSchemaMissing, "", top.Offset(), `$schema is missing: add "$schema": %q`, j.v.mcp)
		return
	case m.Value.Kind() != strictjson.String || m.Value.Unpaired():
		return // said elsewhere
	}
	id := m.Value.Text()
	if id == "" {
		j.add(finding.MCPSchemaMissing, "/$schema", m.Value.Offset(), "$schema is empty: write %q", j.v.mcp)
		return
	}
	v, declared := recognize(mcpFile, id)
	switch {
	case v == j.v:
	case v != nil:
		j.add(finding.MCPVersionMismatch, "/$schema", m.Value.Offset(),
			"mcp.json targets version %s and plugin.json version %s: use one version in both", v.number, j.v.number)
	case declared != "":
		j.add(finding.MCPVersionUnsupported, "/$schema", m.Value.Offset(),
			"mcp.json targets version %s of the specification; supported: %s", printable.Escape(declared), strings.Join(SpecVersions(), ", "))
	default:
		j.add(finding.MCPSchemaUnrecognized, "/$schema", m.Value.Offset(), "$schema is no canonical identifier: write %q", j.v.mcp)
	}
}

func (j *mcpJudge) shape(top strictjson.Value) {
	instance := map[string]any{}
	for m := range top.Members() {
		switch {
		case m.Duplicate:
		case m.Name == "mcpServers":
			instance[m.Name] = shallow(m.Value)
		case m.Name == "$schema":
			instance[m.Name] = m.Value.Any()
		case j.faults.take():
			instance[m.Name] = nil
		}
	}
	for _, p := range validate(j.v.schemas().mcp, instance, top) {
		switch p.kind {
		case missingMember:
			j.add(finding.MCPServersMissing, "", p.offset, "mcpServers is missing: add it; {} is valid")
		case unknownMember:
			j.add(finding.MCPUnknownField, p.pointer, p.offset, "mcp.json has no member %s: only $schema and mcpServers", printable.Quote(p.path[0]))
		default:
			j.add(finding.MCPWrongType, p.pointer, p.offset, "%s is %s: make it %s", where(p.path), p.value.Kind(), p.want)
		}
	}
}

// shallow stands for a value whose kind alone matters.
func shallow(v strictjson.Value) any {
	if v.Kind() == strictjson.Object {
		return map[string]any{}
	}
	return nil
}

func (j *mcpJudge) servers(ctx context.Context, all strictjson.Value) error {
	twice := map[string]int{} // names that stand twice, and where the second one is
	for m := range all.Members() {
		if _, known := twice[m.Name]; m.Duplicate && !known {
			twice[m.Name] = m.Offset
		}
	}
	n := 0
	for m := range all.Members() {
		if m.Duplicate {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err // looking at paths takes time
		}
		if n++; n > j.opts.Limits.Servers {
			j.add(finding.MCPTooManyServers, "/mcpServers", m.Offset, "there are more than %d servers: only the first of them are loaded", j.opts.Limits.Servers)
			return nil
		}
		e := entry{mcpJudge: j, name: m.Name, pointer: "/mcpServers" + strictjson.Pointer(m.Name), value: m.Value}
		if second, dup := twice[m.Name]; dup {
			e.add(finding.ServerDuplicateName, "", second, "a server of this name stands twice, so neither is loaded: rename one")
		}
		if m.Unpaired {
			e.add(finding.ServerUnpairedSurrogate, "", m.Offset, "this name has an escape that is half a character: write both halves")
		}
		if !e.failed {
			e.judge()
		}
		if e.failed {
			j.out.skipped = append(j.out.skipped, m.Name)
		} else {
			j.out.servers = append(j.out.servers, e.server)
		}
	}
	return nil
}

// entry is the judging of one server entry.
type entry struct {
	*mcpJudge
	failed  bool
	name    string
	pointer string
	value   strictjson.Value
	server  *Server
}

// add notes a fault of the entry at a pointer below it.
func (e *entry) add(code finding.Code, below string, off int, format string, args ...any) {
	if e.take(code, len(e.name)+len(e.pointer)+len(below), &e.failed) {
		e.sheet.Add(code, e.name, e.pointer+below, off, format, args...)
	}
}

func (e *entry) judge() {
	if e.value.Kind() != strictjson.Object {
		e.add(finding.ServerNotObject, "", e.value.Offset(), "the entry is %s: make it an object with a type", e.value.Kind())
		return
	}
	for f := range e.value.Flaws() {
		if e.full() && e.failed {
			e.sheet.Cut = true
			break
		}
		below := strictjson.Pointer(f.Path...)
		if f.Duplicate {
			e.add(finding.ServerDuplicateMember, below, f.Offset, "this member stands twice: remove one")
		} else {
			e.add(finding.ServerUnpairedSurrogate, below, f.Offset, "this text has an escape that is half a character: write both halves")
		}
	}
	typ := e.value.Member("type").Value
	switch typ.Kind() {
	case strictjson.Invalid:
		e.add(finding.ServerTypeMissing, "", e.value.Offset(), "type is missing: add stdio, streamable-http or sse")
	case strictjson.String:
		if !typ.Unpaired() && !slices.Contains(transports, Transport(typ.Text())) {
			e.add(finding.ServerTypeUnknown, "/type", typ.Offset(), "%s is unknown: use stdio, streamable-http or sse", typeName(typ.Text()))
		}
	default:
		e.add(finding.ServerWrongType, "/type", typ.Offset(), "type is %s: make it a string", typ.Kind())
	}
	if e.failed {
		return
	}
	e.server = &Server{name: e.name, typ: Transport(typ.Text())}
	for _, p := range validate(e.v.schemas().servers[e.server.typ], e.faults.entry(e.value), e.value) {
		e.problem(p)
	}
	// The rules below judge each member whose type is right.
	if e.server.typ == TransportStdio {
		e.judgeStdio()
	} else {
		e.judgeRemote()
	}
	if e.failed {
		return
	}
	if e.opts.Lint {
		e.lintCredentials()
		e.lintPlaceholders()
	}
	switch at := typ.Offset(); {
	case slices.Contains(e.opts.Unsupported, e.server.typ):
		e.server.status = ServerUnsupported
		e.add(finding.ServerTransportUnsupported, "/type", at, "the host does not support %s servers", e.server.typ)
	case slices.Contains(e.opts.Disabled, e.server.typ):
		e.server.status = ServerDisabled
		e.add(finding.ServerTransportDisabled, "/type", at, "the policy of the host disables %s servers", e.server.typ)
	}
}

// typeName quotes a type for a message if it looks like one: it may be a URL or
// something else that holds a secret.
func typeName(s string) string {
	if len(s) > 40 || !isToken(s) {
		return "this type"
	}
	return "the type " + printable.Quote(s)
}

func (e *entry) problem(p problem) {
	switch name := p.path[len(p.path)-1]; {
	case p.kind == missingMember:
		e.add(finding.ServerFieldMissing, p.pointer, p.offset, "a %s server needs %s: add it", e.server.typ, name)
	case p.kind == unknownMember && slices.Contains([]string{"command", "args", "env", "cwd", "url", "headers"}, name):
		e.add(finding.ServerForeignField, p.pointer, p.offset, "a %s server has no %s: remove it or change type", e.server.typ, name)
	case p.kind == unknownMember:
		e.add(finding.ServerUnknownField, p.pointer, p.offset, "a %s server has no member %s: remove it", e.server.typ, printable.Quote(name))
	case len(p.path) == 1:
		e.add(finding.ServerWrongType, p.pointer, p.offset, "%s is %s: make it %s", p.path[0], p.value.Kind(), p.want)
	case p.path[0] == "args":
		e.add(finding.ServerWrongType, p.pointer, p.offset, "an argument is %s: put it in double quotes", p.value.Kind())
	default:
		e.add(finding.ServerWrongType, p.pointer, p.offset, "the value of %s in %s is %s: put it in double quotes",
			printable.Quote(name), p.path[0], p.value.Kind())
	}
}

// texts yields the members of an object that are strings.
func texts(v strictjson.Value) map[string]string {
	if v.Kind() != strictjson.Object {
		return nil
	}
	out := map[string]string{}
	for m := range v.Members() {
		if m.Value.Kind() == strictjson.String {
			out[m.Name] = m.Value.Text()
		}
	}
	return out
}
