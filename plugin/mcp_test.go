package plugin_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Short forms of findings on mcp.json: about the whole, about an entry, and
// about a field of an entry.
func disable(code, pointer string) string {
	return strings.TrimSpace(code + " error component " + pointer)
}
func skip(code, server, below string) string {
	return fmt.Sprintf("%s error server=%s /mcpServers/%s%s", code, server, server, below)
}

// mcpCase is one mcp.json, beside a small plugin.json and one good skill, and
// what becomes of it.
type mcpCase struct {
	rule     string
	name     string
	text     string            // @M stands for the $schema member, ¶ marks findings
	files    map[string]string // further files
	errs     map[string]error  // by name: I/O errors
	opts     plugin.Options
	disabled bool
	servers  []string
	skipped  []string
	want     []string
}

// servers puts entries into an mcp.json.
func servers(entries ...string) string {
	return `{@M,"mcpServers":{` + strings.Join(entries, ",") + `}}`
}

// stdio and remote make one entry named s from further members.
func stdio(members string) string {
	return servers(`"s":{"type":"stdio","command":"c",` + members + `}`)
}
func remote(members string) string { return servers(`"s":{"type":"sse",` + members + `}`) }

// shape of an entry that is always valid, to be a sibling
const sibling = `"good":{"type":"stdio","command":"node"}`

var mcpCases = []mcpCase{
	// [C1]
	{rule: "C1", name: "no servers", text: `{@M,"mcpServers":{}}`},
	{rule: "C1", name: "an array", text: `¶[]`, disabled: true, want: []string{disable("mcp-not-object", "")}},
	{rule: "C1", name: "null", text: `¶null`, disabled: true, want: []string{disable("mcp-not-object", "")}},
	{rule: "C1", name: "not JSON", text: `{@M,"mcpServers":{},¶}`, disabled: true, want: []string{disable("mcp-invalid-json", "")}},
	{rule: "C1", name: "not UTF-8", text: "{@M,\"mcpServers\":{\"¶\xff\":{}}}", disabled: true, want: []string{disable("mcp-invalid-encoding", "")}},
	{rule: "C1", name: "UTF-16", text: utf16Text(noServers), disabled: true, want: []string{disable("mcp-invalid-encoding", "") + " 1:1"}},
	{rule: "C1", name: "empty", text: `¶`, disabled: true, want: []string{disable("mcp-invalid-json", "")}},
	{rule: "C1", name: "bare servers", text: `¶¶{¶"s":{"type":"stdio","command":"c"}}`, disabled: true,
		want: []string{disable("mcp-schema-missing", ""), disable("mcp-servers-missing", ""), disable("mcp-unknown-field", "/s")}},
	{rule: "C1", name: "an unknown member", text: `{@M,¶"inputs":[],"mcpServers":{` + sibling + `}}`, disabled: true, want: []string{disable("mcp-unknown-field", "/inputs")}},
	{rule: "C1", name: "$schema missing", text: `¶{"mcpServers":{` + sibling + `}}`, disabled: true, want: []string{disable("mcp-schema-missing", "")}},
	{rule: "C1", name: "$schema empty", text: `{"$schema":¶"","mcpServers":{}}`, disabled: true, want: []string{disable("mcp-schema-missing", "/$schema")}},
	{rule: "C1", name: "$schema null", text: `{"$schema":¶null,"mcpServers":{}}`, disabled: true, want: []string{disable("mcp-wrong-type", "/$schema")}},
	{rule: "C1", name: "$schema of plugin.json", text: `{"$schema":¶"` + manifestSchema + `","mcpServers":{}}`, disabled: true, want: []string{disable("mcp-schema-unrecognized", "/$schema")}},
	{rule: "C1", name: "$schema of another version", text: `{"$schema":¶"https://agent-plugins.org/schemas/1.1.0/mcp.schema.json","mcpServers":{}}`, disabled: true, want: []string{disable("mcp-version-unsupported", "/$schema")}},
	{rule: "C1", name: "mcpServers missing", text: `¶{@M}`, disabled: true, want: []string{disable("mcp-servers-missing", "")}},
	{rule: "C1", name: "mcpServers null", text: `{@M,"mcpServers":¶null}`, disabled: true, want: []string{disable("mcp-wrong-type", "/mcpServers")}},
	{rule: "C1", name: "mcpServers array", text: `{@M,"mcpServers":¶[{"type":"stdio","command":"c"}]}`, disabled: true, want: []string{disable("mcp-wrong-type", "/mcpServers")}},
	{rule: "J1", name: "letter case", text: `¶{@M,¶"MCPServers":{}}`, disabled: true, want: []string{disable("mcp-servers-missing", ""), disable("mcp-unknown-field", "/MCPServers")}},
	{rule: "J2", name: "mcpServers twice", text: `{@M,"mcpServers":{},¶"mcp\u0053ervers":{` + sibling + `}}`, disabled: true, want: []string{disable("mcp-duplicate-member", "/mcpServers")}},
	{rule: "J2", name: "$schema twice", text: `{@M,¶@M,"mcpServers":{}}`, disabled: true, want: []string{disable("mcp-duplicate-member", "/$schema")}},
	{rule: "J2", name: "an unknown member twice", text: `{@M,¶"x":1,¶"x":2,"mcpServers":{}}`, disabled: true, want: []string{disable("mcp-unknown-field", "/x"), disable("mcp-duplicate-member", "/x")}},
	{rule: "J4", name: "unpaired in $schema", text: `{"$schema":¶"\ud800","mcpServers":{}}`, disabled: true, want: []string{disable("mcp-unpaired-surrogate", "/$schema")}},
	{rule: "J4", name: "unpaired in a top-level name", text: `{@M,¶¶"\ud800":1,"mcpServers":{}}`, disabled: true,
		want: []string{disable("mcp-unpaired-surrogate", "/\xed\xa0\x80"), disable("mcp-unknown-field", "/\xed\xa0\x80")}},
	{rule: "J4", name: "byte order mark", text: "\uFEFF¶{@M,\"mcpServers\":{}}", want: []string{info("byte-order-mark", "")}},
	{rule: "J5", name: "position behind CRLF", text: "{\r\n @M,\r\n \"mcpServers\": {\r\n  \"é\": ¶'x' } }", disabled: true, want: []string{disable("mcp-invalid-json", "")}},
	{rule: "L5", name: "too deep", text: `{@M,"mcpServers":{"s":` + strings.Repeat("[", 98) + `¶[`, disabled: true, want: []string{disable("mcp-too-complex", "")}},
	{rule: "L5", name: "too large", text: noServers, opts: plugin.Options{Limits: plugin.Limits{MCP: 20}}, disabled: true, want: []string{disable("mcp-too-large", "") + " whole"}},
	{rule: "L5", name: "more servers than the limit", text: servers(`"b":{"type":"stdio","command":"c"}`, `"a":¶1`, `¶"c":{"type":"stdio","command":"c"}`, `"d":1`),
		opts: plugin.Options{Limits: plugin.Limits{Servers: 2}}, servers: []string{"b"}, skipped: []string{"a"},
		want: []string{skip("server-not-object", "a", ""), disable("mcp-too-many-servers", "/mcpServers")}},
	{rule: "L5", name: "as many servers as the limit", text: servers(sibling, `"a":{"type":"stdio","command":"c"}`), opts: plugin.Options{Limits: plugin.Limits{Servers: 2}}, servers: []string{"good", "a"}},
	{rule: "C1", name: "a directory", files: map[string]string{"mcp.json/mcp.json": noServers}, disabled: true, want: []string{disable("mcp-not-regular", "") + " whole"}},
	{rule: "C1", name: "a link that dangles", text: "-> gone.json", disabled: true, want: []string{disable("mcp-not-regular", "") + " whole"}},
	{rule: "C1", name: "a loop", text: "-> ./mcp.json", disabled: true, want: []string{disable("mcp-not-regular", "") + " whole"}},
	{rule: "C1", name: "a link that leads out", text: "-> ../mcp.json", disabled: true, want: []string{disable("mcp-escapes", "") + " whole"}},
	{rule: "C1", name: "a link inside", text: "-> conf/m.json", files: map[string]string{"conf/m.json": fill.Replace(servers(sibling))}, servers: []string{"good"}},
	{rule: "L3", name: "an I/O error", text: noServers, errs: map[string]error{"mcp.json": fs.ErrPermission}, disabled: true,
		want: []string{disable("mcp-unreadable", "") + " whole"}},

	// [C2]
	{rule: "C2", name: "entries of the wrong kind", text: servers(`"a":¶1`, sibling, `"b":¶null`, `"c":¶"x"`, `"d":¶[]`, `"e":¶true`), servers: []string{"good"}, skipped: []string{"a", "b", "c", "d", "e"},
		want: []string{skip("server-not-object", "a", ""), skip("server-not-object", "b", ""), skip("server-not-object", "c", ""), skip("server-not-object", "d", ""), skip("server-not-object", "e", "")}},
	{rule: "C2", name: "type missing", text: servers(`"s":¶{"command":"c"}`, sibling), servers: []string{"good"}, skipped: []string{"s"}, want: []string{skip("server-type-missing", "s", "")}},
	{rule: "C2", name: "type unknown", text: servers(`"a":{"type":¶"http","url":"https://h"}`, `"b":{"type":¶"Stdio","command":"c"}`, `"c":{"type":¶"","command":"c"}`, `"d":{"type":¶"stdio ","command":"c"}`, sibling),
		servers: []string{"good"}, skipped: []string{"a", "b", "c", "d"},
		want: []string{skip("server-type-unknown", "a", "/type"), skip("server-type-unknown", "b", "/type"), skip("server-type-unknown", "c", "/type"), skip("server-type-unknown", "d", "/type")}},
	{rule: "C2", name: "type of the wrong type", text: servers(`"a":{"type":¶["stdio"],"command":"c"}`, `"b":{"type":¶null}`, sibling), servers: []string{"good"}, skipped: []string{"a", "b"},
		want: []string{skip("server-wrong-type", "a", "/type"), skip("server-wrong-type", "b", "/type")}},
	{rule: "C2", name: "command and url missing", text: servers(`"a":¶{"type":"stdio"}`, `"b":¶{"type":"streamable-http"}`, `"c":¶{"type":"sse","headers":{}}`), skipped: []string{"a", "b", "c"},
		want: []string{skip("server-field-missing", "a", ""), skip("server-field-missing", "b", ""), skip("server-field-missing", "c", "")}},
	{rule: "C2", name: "unknown members", text: servers(`"a":{"type":"stdio","command":"c",¶"timeout":5,¶"":0,¶"a/b~":null}`, `"b":{"type":"sse","url":"https://h",¶"Headers":{}}`, sibling), servers: []string{"good"}, skipped: []string{"a", "b"},
		want: []string{skip("server-unknown-field", "a", "/timeout"), skip("server-unknown-field", "a", "/"), skip("server-unknown-field", "a", "/a~1b~0"), skip("server-unknown-field", "b", "/Headers")}},
	{rule: "C2", name: "members of another type", text: servers(`"a":{"type":"stdio","command":"c",¶"url":"https://h",¶"headers":{}}`, `"b":{"type":"streamable-http","url":"https://h",¶"command":"c",¶"args":[],¶"env":{},¶"cwd":"./"}`), skipped: []string{"a", "b"},
		want: []string{skip("server-foreign-field", "a", "/url"), skip("server-foreign-field", "a", "/headers"), skip("server-foreign-field", "b", "/command"), skip("server-foreign-field", "b", "/args"), skip("server-foreign-field", "b", "/env"), skip("server-foreign-field", "b", "/cwd")}},
	{rule: "C2", name: "wrong types of stdio", text: servers(`"s":{"type":"stdio","command":¶["c"],"args":¶"x","env":¶[],"cwd":¶null}`), skipped: []string{"s"},
		want: []string{skip("server-wrong-type", "s", "/command"), skip("server-wrong-type", "s", "/args"), skip("server-wrong-type", "s", "/env"), skip("server-wrong-type", "s", "/cwd")}},
	{rule: "C2", name: "wrong types of remote", text: servers(`"s":{"type":"sse","url":¶null,"headers":¶[]}`, `"t":{"type":"sse","url":¶1,"headers":{"A":¶1,"B":¶null,"C":"c"}}`), skipped: []string{"s", "t"},
		want: []string{skip("server-wrong-type", "s", "/url"), skip("server-wrong-type", "s", "/headers"), skip("server-wrong-type", "t", "/url"), skip("server-wrong-type", "t", "/headers/A"), skip("server-wrong-type", "t", "/headers/B")}},
	{rule: "J2", name: "a server name twice", text: servers(`"a":{"type":"stdio","command":"c"}`, sibling, `¶"\u0061":1`, `"a":{"type":"stdio","command":"c"}`), servers: []string{"good"}, skipped: []string{"a"},
		want: []string{skip("server-duplicate-name", "a", "")}},
	{rule: "J2", name: "twice inside an entry", text: servers(`"a":{"type":"stdio","command":"c",¶"command":"d"}`, `"b":{"type":"stdio","command":"c","env":{"A":"1",¶"A":"1"}}`, `"c":{"type":"stdio","command":"c","x":[{"d":1,¶"d":1}]}`, `"d":{"type":"sse","url":"https://h","headers":{"A":"1",¶"A":"1"}}`, sibling),
		servers: []string{"good"}, skipped: []string{"a", "b", "c", "d"},
		want: []string{skip("server-duplicate-member", "a", "/command"), skip("server-duplicate-member", "b", "/env/A"), skip("server-duplicate-member", "c", "/x/0/d"), skip("server-duplicate-member", "d", "/headers/A")}},
	{rule: "J3", name: "null in args and env", text: servers(`"s":{"type":"stdio","command":"c","args":["a",¶null,¶1],"env":{"A":¶null,"B":"b","C":¶2}}`), skipped: []string{"s"},
		want: []string{skip("server-wrong-type", "s", "/args/1"), skip("server-wrong-type", "s", "/args/2"), skip("server-wrong-type", "s", "/env/A"), skip("server-wrong-type", "s", "/env/C")}},
	{rule: "J4", name: "unpaired in a server name", text: servers(`¶"\ud800":{"type":"stdio","command":"c"}`, `¶"\ud801":{"type":"stdio","command":"c"}`, `"\ud83d\ude00":{"type":"stdio","command":"c"}`), servers: []string{"😀"}, skipped: []string{"\xed\xa0\x80", "\xed\xa0\x81"},
		want: []string{skip("server-unpaired-surrogate", "\xed\xa0\x80", ""), skip("server-unpaired-surrogate", "\xed\xa0\x81", "")}},
	{rule: "J4", name: "unpaired in an entry", text: servers(`"a":{"type":"stdio","command":"c","args":[¶"\udc00"]}`, `"b":{"type":"stdio","command":"c","env":{¶"\ud800":"x"}}`, `"c":{"type":¶"\ud800"}`, sibling), servers: []string{"good"}, skipped: []string{"a", "b", "c"},
		want: []string{skip("server-unpaired-surrogate", "a", "/args/0"), skip("server-unpaired-surrogate", "b", "/env/\xed\xa0\x80"), skip("server-unpaired-surrogate", "c", "/type")}},
	{rule: "J3", name: "numbers of any size", text: servers(`"s":{"type":"stdio","command":"c","args":[¶1e999999999]}`), skipped: []string{"s"}, want: []string{skip("server-wrong-type", "s", "/args/0")}},

	// [C3] [C4] [C5] [C6] [C7], one row for each code; the tables are elsewhere
	{rule: "C3", name: "command", text: servers(`"a":{"type":"stdio","command":¶""}`, `"b":{"type":"stdio","command":¶"node server.js"}`, `"c":{"type":"stdio","command":¶"./../x"}`, `"d":{"type":"stdio","command":¶"./bin"}`, `"e":{"type":"stdio","command":¶"./gone"}`, sibling),
		files: map[string]string{"bin/x": ""}, servers: []string{"e", "good"}, skipped: []string{"a", "b", "c", "d"},
		want: []string{skip("server-command-invalid", "a", "/command"), skip("server-command-shell-line", "b", "/command"), skip("server-command-escapes", "c", "/command"), skip("server-command-not-regular", "d", "/command"),
			"server-command-missing warning field=e /mcpServers/e/command"}},
	{rule: "C5", name: "cwd", text: servers(`"a":{"type":"stdio","command":"c","cwd":¶""}`, `"b":{"type":"stdio","command":"c","cwd":¶"./.."}`, `"c":{"type":"stdio","command":"c","cwd":¶"./file"}`, `"d":{"type":"stdio","command":"c","cwd":¶"./gone"}`, `"e":{"type":"stdio","command":"c","cwd":¶"${PLUGIN_DATA}/../x"}`),
		files: map[string]string{"file": ""}, servers: []string{"d"}, skipped: []string{"a", "b", "c", "e"},
		want: []string{skip("server-cwd-invalid", "a", "/cwd"), skip("server-cwd-escapes", "b", "/cwd"), skip("server-cwd-not-directory", "c", "/cwd"), "server-cwd-missing warning field=d /mcpServers/d/cwd", skip("server-cwd-escapes", "e", "/cwd")}},
	{rule: "L3", name: "an I/O error at command and cwd", text: servers(`"s":{"type":"stdio","command":¶"./bin/x","cwd":¶"./bin"}`, sibling), files: map[string]string{"bin/x": ""}, errs: map[string]error{"lstat bin": fs.ErrPermission},
		servers: []string{"good"}, skipped: []string{"s"}, want: []string{skip("server-path-unreadable", "s", "/command"), skip("server-path-unreadable", "s", "/cwd")}},
	{rule: "P4", name: "NUL", text: servers(`"a":{"type":"stdio","command":¶"c\u0000","args":["",¶"\u0000"],"env":{"A":¶"x\u0000y"},"cwd":¶"./\u0000"}`), skipped: []string{"a"},
		want: []string{skip("server-nul", "a", "/command"), skip("server-nul", "a", "/args/1"), skip("server-nul", "a", "/env/A"), skip("server-nul", "a", "/cwd")}},
	{rule: "P5", name: "paths beyond what systems open", text: servers(`"a":{"type":"stdio","command":¶"./`+strings.Repeat("x", 4095)+`","cwd":¶"./`+strings.Repeat("a/", 2048)+`"}`, `"b":{"type":"stdio","command":"`+strings.Repeat("x", 4096)+`"}`), servers: []string{"b"}, skipped: []string{"a"},
		want: []string{skip("server-path-too-long", "a", "/command"), skip("server-path-too-long", "a", "/cwd")}},
	{rule: "C4", name: "env names", text: stdio(`"env":{¶"":"x",¶"A=B":"x",¶"A\u0000":"x",¶"PLUGIN_ROOT":"x",¶"PLUGIN_DATA":"${PLUGIN_DATA}","PLUGIN_ROOTS":"","a b.c-é":"",¶"=":¶1}`), skipped: []string{"s"},
		want: []string{skip("server-env-name", "s", "/env/"), skip("server-env-name", "s", "/env/A=B"), skip("server-env-name", "s", "/env/A\x00"), skip("server-env-reserved", "s", "/env/PLUGIN_ROOT"), skip("server-env-reserved", "s", "/env/PLUGIN_DATA"),
			skip("server-env-name", "s", "/env/="), skip("server-wrong-type", "s", "/env/=")}},
	{rule: "C6", name: "url", text: servers(`"a":{"type":"sse","url":¶"h"}`, `"b":{"type":"sse","url":¶"https://u@h"}`, `"c":{"type":"streamable-http","url":¶"https://h#"}`, `"d":{"type":"sse","url":¶"http://h"}`), skipped: []string{"a", "b", "c", "d"},
		want: []string{skip("server-url-invalid", "a", "/url"), skip("server-url-userinfo", "b", "/url"), skip("server-url-fragment", "c", "/url"), skip("server-url-insecure", "d", "/url")}},
	{rule: "C7", name: "headers", text: remote(`"url":"https://h","headers":{¶"":"x",¶"X A":"x","X-A":¶"a\n",¶"x-a":¶" ","Ok":¶"\t é","Fine":"a\té"}`), skipped: []string{"s"},
		want: []string{skip("server-header-name", "s", "/headers/"), skip("server-header-name", "s", "/headers/X A"), skip("server-header-value", "s", "/headers/X-A"),
			skip("server-header-duplicate", "s", "/headers/x-a"), skip("server-header-value", "s", "/headers/x-a"), skip("server-header-value", "s", "/headers/Ok")}},

	// [X7]
	{rule: "X7", name: "credentials with lint", opts: plugin.Options{Lint: true}, servers: []string{"a", "b"},
		text: servers(`"a":{"type":"stdio","command":"c","args":["--token","<token>",¶"--key=AKIAQ3Z7LM2XWC4R6TYB","--api-key",¶"v9Qm2xLr8sT",¶"--password=hunter2","--password","./file"],"env":{"GITHUB_TOKEN":¶"v9Qm2xLr8sT","API_KEY":"YOUR_KEY","DB":¶"postgres://a:kq8Zt3@db/x","LOG":"v9Qm2xLr8sT"}}`,
			`"b":{"type":"sse","url":¶"https://h/x?api_key=kq8Zt3Xw","headers":{"Authorization":¶"Bearer v9Qm2xLr8sT","X-Api-Key":"YOUR_KEY","X-Tenant":"v9Qm2xLr8sT"}}`),
		want: []string{"server-credential warning field=a /mcpServers/a/args/2", "server-credential warning field=a /mcpServers/a/args/4", "server-credential warning field=a /mcpServers/a/args/5", "server-credential warning field=a /mcpServers/a/env/GITHUB_TOKEN", "server-credential warning field=a /mcpServers/a/env/DB",
			"server-credential warning field=b /mcpServers/b/url", "server-credential warning field=b /mcpServers/b/headers/Authorization"}},
	{rule: "X7", name: "credentials without lint", servers: []string{"a"}, text: servers(`"a":{"type":"stdio","command":"c","env":{"GITHUB_TOKEN":"v9Qm2xLr8sT"}}`)},
	{rule: "X7", name: "credentials of an entry that is skipped", opts: plugin.Options{Lint: true}, skipped: []string{"a"}, text: servers(`"a":{"type":"stdio","command":¶"","env":{"GITHUB_TOKEN":"v9Qm2xLr8sT"}}`),
		want: []string{skip("server-command-invalid", "a", "/command")}},

	// [C8]
	{rule: "C8", name: "server names are free", text: servers(`"":{"type":"stdio","command":"c"}`, `".":{"type":"stdio","command":"c"}`, `"../x":{"type":"stdio","command":"c"}`, `"a/b~c":{"type":"stdio","command":"c"}`, `"日本 x":{"type":"stdio","command":"c"}`, `"\u0000\u202e":{"type":"stdio","command":"c"}`, `"é":{"type":"stdio","command":"c"}`, `"e\u0301":{"type":"stdio","command":"c"}`, `"A":{"type":"stdio","command":"c"}`, `"a":{"type":"stdio","command":"c"}`),
		servers: []string{"", ".", "../x", "a/b~c", "日本 x", "\x00\u202e", "é", "e\u0301", "A", "a"}},
	{rule: "C8", name: "bad entries with odd names", text: servers(`"":¶1`, `"a/b~":¶1`, `"\u001b\u202e":¶1`), skipped: []string{"", "a/b~", "\x1b\u202e"},
		want: []string{"server-not-object error server /mcpServers/", "server-not-object error server=a/b~ /mcpServers/a~1b~0", "server-not-object error server=\x1b\u202e /mcpServers/\x1b\u202e"}},

	// [C9]
	{rule: "C9", name: "a transport that the host does not support", text: servers(`"a":{"type":¶"sse","url":"https://h"}`, `"b":{"type":"streamable-http","url":"https://h"}`), opts: plugin.Options{Unsupported: []plugin.Transport{plugin.TransportSSE}}, servers: []string{"a", "b"},
		want: []string{"server-transport-unsupported info server=a /mcpServers/a/type"}},
	{rule: "C9", name: "a transport that the policy disables", text: servers(`"a":{"url":"https://h","type":¶"sse"}`, `"b":{"command":"c","type":¶"stdio"}`),
		opts: plugin.Options{Unsupported: []plugin.Transport{plugin.TransportSSE}, Disabled: []plugin.Transport{plugin.TransportStdio, plugin.TransportSSE}}, servers: []string{"a", "b"},
		want: []string{"server-transport-unsupported info server=a /mcpServers/a/type", "server-transport-disabled info server=b /mcpServers/b/type"}},
	{rule: "C9", name: "what is invalid is not called unsupported", text: servers(`"a":{"type":"sse","url":¶"http://h"}`, `"b":{"type":"stdio","command":"c",¶"x":1}`), skipped: []string{"a", "b"},
		opts: plugin.Options{Unsupported: []plugin.Transport{plugin.TransportSSE}, Disabled: []plugin.Transport{plugin.TransportStdio}},
		want: []string{skip("server-url-insecure", "a", "/url"), skip("server-unknown-field", "b", "/x")}},
}

const okSkill = "---\nname: ok\ndescription: A sibling that stays.\n---\n"

// TestMCP proves the rules for mcp.json, each row the one it names, and that a
// fault stays within its boundary: the skill beside it always loads.
// [C1] [C2] [C3] [C4] [C5] [C6] [C7] [C8] [C9] [L3] [L5] [J1] [J2] [J3] [J4] [J5] [P4] [X7]
func TestMCP(t *testing.T) {
	missing := codesWith("mcp-", "server-")
	delete(missing, finding.MCPVersionMismatch) // needs a second version: TestVersionMismatch
	for _, c := range mcpCases {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			text, at := positions(fill.Replace(c.text))
			files := map[string]string{"skills/ok/SKILL.md": okSkill}
			for name, text := range c.files {
				files[name] = text
			}
			if _, ok := files["mcp.json/mcp.json"]; !ok {
				files["mcp.json"] = text
			}
			p := mustLoadFS(t, faultyFS{memory(files), c.errs}, c.opts)
			if state := p.MCPState(); (state == plugin.MCPDisabled) != c.disabled || state == plugin.MCPAbsent {
				t.Errorf("state = %v", state)
			}
			checkFindings(t, p.Findings(), c.want, at)
			var names []string
			for _, s := range p.Servers() {
				names = append(names, s.Name())
				if p.Server(s.Name()) != s {
					t.Errorf("Server(%q) is another", s.Name())
				}
			}
			if !slices.Equal(names, c.servers) {
				t.Errorf("servers = %q, want %q", names, c.servers)
			}
			if got := p.SkippedServers(); !slices.Equal(got, c.skipped) {
				t.Errorf("skipped = %q, want %q", got, c.skipped)
			}
			if p.Skill("ok") == nil {
				t.Error("the skill did not load")
			}
			for _, f := range p.Findings() {
				delete(missing, f.Code)
				if f.File != "mcp.json" {
					t.Errorf("file = %q", f.File)
				}
			}
		})
	}
	if len(missing) > 0 && !t.Failed() {
		t.Errorf("no case shows %v", missing)
	}
}

// TestNoMCP: without an mcp.json there is no MCP and no finding, and no other
// file takes its place. [C1]
func TestNoMCP(t *testing.T) {
	for _, files := range []map[string]string{
		{},
		{".mcp.json": noServers, "mcp.jsonc": "{", "conf/mcp.json": "{", "MCP.JSON": "{"},
		{"plugin.json": fill.Replace(`{@S,"name":"a","mcpServers":{"s":{"type":"stdio","command":"c"}}}`)},
	} {
		p := mustLoadFS(t, memory(files), plugin.Options{})
		if p.MCPState() != plugin.MCPAbsent || len(p.Servers()) != 0 || p.SkippedServers() != nil || len(p.Findings().AtLeast(finding.SeverityError)) != 0 {
			t.Errorf("%v: %v, servers %v, findings %v", files, p.MCPState(), p.Servers(), p.Findings())
		}
	}
}

// TestServerFields shows that configuration is kept as it stands. [C4] [C6] [C7] [C9]
func TestServerFields(t *testing.T) {
	p := mustLoadFS(t, memory(map[string]string{"mcp.json": fill.Replace(servers(
		`"local":{"type":"stdio","command":"node","args":["","--x=/etc/../y","${PLUGIN_ROOT}/a b","../up"],"env":{"A":"","PATH":"../x","H":"${HOME}"},"cwd":"${PLUGIN_DATA}/x"}`,
		`"bare":{"type":"stdio","command":"c"}`,
		`"old":{"type":"sse","url":"http://localhost:1"}`))}), plugin.Options{Disabled: []plugin.Transport{plugin.TransportSSE}})
	if len(p.Servers()) != 3 {
		t.Fatalf("servers = %v, findings %v", p.Servers(), p.Findings())
	}
	s, ok := p.Server("local").Stdio()
	if !ok || s.Command != "node" || !slices.Equal(s.Args, []string{"", "--x=/etc/../y", "${PLUGIN_ROOT}/a b", "../up"}) ||
		len(s.Env) != 3 || s.Env["A"] != "" || s.Env["PATH"] != "../x" || s.Env["H"] != "${HOME}" || s.Cwd != "${PLUGIN_DATA}/x" {
		t.Errorf("local = %+v, %v", s, ok)
	}
	if _, ok := p.Server("local").Remote(); ok {
		t.Error("a stdio server is remote")
	}
	if s, ok := p.Server("bare").Stdio(); !ok || len(s.Args) != 0 || len(s.Env) != 0 || s.Cwd != "" {
		t.Errorf("bare = %+v, %v", s, ok)
	}
	old := p.Server("old")
	if _, ok := old.Stdio(); ok || old.Type() != plugin.TransportSSE || old.Status() != plugin.ServerDisabled || p.Server("local").Status() != plugin.ServerEnabled {
		t.Error("old is not a disabled sse server")
	}
	if p.Server("none") != nil {
		t.Error("a server that does not exist was found")
	}

	p = mustLoadFS(t, memory(map[string]string{"mcp.json": fill.Replace(remote(`"url":"HTTPS://H.example/${PLUGIN_ROOT}?q=é","headers":{"X-A":"${PLUGIN_ROOT}","accept":""}`))}), plugin.Options{})
	r, ok := p.Server("s").Remote()
	if !ok || r.URL != "HTTPS://H.example/${PLUGIN_ROOT}?q=é" || len(r.Headers) != 2 || r.Headers["X-A"] != "${PLUGIN_ROOT}" || r.Headers["accept"] != "" {
		t.Errorf("remote = %+v, %v", r, ok)
	}

	var zero plugin.Server
	_, local := zero.Stdio()
	_, web := zero.Remote()
	if local || web || zero.Name() != "" {
		t.Error("the zero server is of a type")
	}
	for status, want := range map[plugin.ServerStatus]string{plugin.ServerEnabled: "enabled", plugin.ServerUnsupported: "unsupported", plugin.ServerDisabled: "disabled"} {
		if status.String() != want {
			t.Errorf("status = %v", status)
		}
	}
	for state, want := range map[plugin.MCPState]string{plugin.MCPAbsent: "absent", plugin.MCPConfigured: "configured", plugin.MCPDisabled: "disabled"} {
		if state.String() != want {
			t.Errorf("state = %v", state)
		}
	}
}

// TestSecretsAreNotQuoted puts a marked value wherever a fault can be, and
// looks for it in every finding. [C4] [C6] [C7]
func TestSecretsAreNotQuoted(t *testing.T) {
	const secret = "s3cr3t"
	for _, members := range []string{
		`"type":"stdio","command":"c","args":["` + secret + `\u0000"]`,
		`"type":"stdio","command":"c","args":["` + secret + `",1,{"a":"` + secret + `"}]`,
		`"type":"stdio","command":"c","args":{"` + secret + `":"` + secret + `"}`,
		`"type":"stdio","command":"c","args":["` + secret + `\ud800"]`,
		`"type":"stdio","command":"c","env":{"A":"` + secret + `\u0000","PLUGIN_ROOT":"` + secret + `","":"` + secret + `"}`,
		`"type":"stdio","command":"c","env":{"A":["` + secret + `"]}`,
		`"type":"stdio","command":"c","env":"` + secret + `"`,
		`"type":"stdio","command":"c","url":"https://` + secret + `"`,
		`"type":"stdio","command":"c","x":"` + secret + `"`,
		`"type":"stdio","command":"c --token=` + secret + `"`,
		`"type":"stdio","command":"${` + secret + `}/x"`,
		`"type":"https://u:` + secret + `@h/?k=` + secret + `"`,
		`"type":"sse","url":"https://user:` + secret + `@h/"`,
		`"type":"sse","url":"https://h/?token=` + secret + `#"`,
		`"type":"sse","url":"https://h/%zz?token=` + secret + `"`,
		`"type":"sse","url":"http://h/?token=` + secret + `"`,
		`"type":"sse","url":"` + secret + `"`,
		`"type":"sse","url":"https://` + secret + ` "`,
		`"type":"sse","url":"https://` + secret + `:99999/"`,
		`"type":"sse","url":"https://[` + secret + `]/"`,
		`"type":"sse","url":"https://h","headers":{"A":"` + secret + `\n","X A":"` + secret + `","B":["` + secret + `"],"C":"` + secret + `","c":"` + secret + `"}`,
		`"type":"sse","url":"https://h","headers":"` + secret + `"`,
		`"type":"sse","url":"https://h","command":"` + secret + `"`,
	} {
		p := mustLoadFS(t, memory(map[string]string{"mcp.json": fill.Replace(servers(`"s":{` + members + `}`))}), plugin.Options{})
		if len(p.SkippedServers()) != 1 {
			t.Errorf("%s: not skipped", members)
		}
		for _, f := range p.Findings() {
			if strings.Contains(f.Message, secret) || strings.Contains(f.String(), secret) {
				t.Errorf("%s: %v quotes it", members, f)
			}
		}
	}
}

// TestManyServers: the limit counts, the order stays, and it is quick. [L5] [L7]
func TestManyServers(t *testing.T) {
	var entries, want []string
	for i := range 1001 {
		name := fmt.Sprintf("s%d", (i*7919)%1001)
		entries = append(entries, fmt.Sprintf(`%q:{"type":"stdio","command":"c","args":["%d"]}`, name, i))
		want = append(want, name)
	}
	p := mustLoadFS(t, memory(map[string]string{"mcp.json": fill.Replace(servers(entries...))}), plugin.Options{})
	var got []string
	for _, s := range p.Servers() {
		got = append(got, s.Name())
	}
	if !slices.Equal(got, want[:1000]) || len(p.Findings()) != 1 || p.Findings()[0].Code != finding.MCPTooManyServers || p.MCPState() != plugin.MCPConfigured {
		t.Errorf("%d servers, findings %v", len(got), p.Findings())
	}
}

// TestMCPIsLast: findings on plugin.json come before those on skills, and those
// before the ones on mcp.json. [L7]
func TestMCPIsLast(t *testing.T) {
	p, err := plugin.LoadFS(context.Background(), fstest.MapFS{
		"mcp.json":          {Data: []byte("{")},
		"plugin.json":       {Data: []byte(fill.Replace(`{@S,"name":"a","x":1}`))},
		"skills/b/SKILL.md": {},
		"skills/a/SKILL.md": {},
	}, plugin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range p.Findings() {
		files = append(files, f.File)
	}
	if want := []string{"plugin.json", "skills/a/SKILL.md", "skills/b/SKILL.md", "mcp.json"}; !slices.Equal(files, want) {
		t.Errorf("files = %q", files)
	}
}
