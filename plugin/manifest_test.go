package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/plugin"
	"github.com/plugberth/plugberth/plugin/finding"
)

// manifestCase is one plugin.json and what is to be said of it. In the text,
// @S stands for the $schema member and ¶ marks the positions of the findings.
type manifestCase struct {
	rule   string // of the requirements
	name   string
	text   string
	lint   bool
	limits plugin.Limits
	fsys   fs.FS // instead of text
	loads  bool
	want   []string // code severity boundary [pointer]; "whole" where there is no position
}

// Short forms of findings: an error that rejects, a warning, an info.
func reject(code, pointer string) string { return strings.TrimSpace(code + " error plugin " + pointer) }
func warn(code, pointer string) string   { return code + " warning field " + pointer }
func info(code, pointer string) string   { return strings.TrimSpace(code + " info field " + pointer) }

var manifestCases = []manifestCase{
	// [M1]
	{rule: "M1", name: "smallest", text: `{@S,"name":"a"}`, loads: true},
	{rule: "M1", name: "all members", text: `{@S,"name":"a","version":"1.0.0","description":"d","author":{"name":"n","email":"a@b.c","url":"https://u.example"},` +
		`"homepage":"https://h.example","repository":"https://r.example","license":"MIT","keywords":["k"],"extensions":{"com.example":{}}}`, lint: true, loads: true},
	{rule: "M1", name: "one warning for each unknown member", text: `{@S,¶"skills":"./x","name":"a",¶"mcpServers":{"s":{}},¶"commands":[1,null]}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/skills"), warn("manifest-unknown-field", "/mcpServers"), warn("manifest-unknown-field", "/commands")}},
	{rule: "M1", name: "unknown members with odd names", loads: true,
		text: `{@S,"name":"a",¶"":1,¶"a/b~c":2,¶"\u202e\u0007":3,¶"~/":4,¶"é":5,¶"line\nbreak":6}`,
		want: []string{warn("manifest-unknown-field", "/"), warn("manifest-unknown-field", "/a~1b~0c"), warn("manifest-unknown-field", "/\u202e\a"),
			warn("manifest-unknown-field", "/~0~1"), warn("manifest-unknown-field", "/é"), warn("manifest-unknown-field", "/line\nbreak")}},
	{rule: "M1", name: "an array", text: `  ¶[]`, want: []string{reject("manifest-not-object", "")}},
	{rule: "M1", name: "null", text: `¶null`, want: []string{reject("manifest-not-object", "")}},
	{rule: "M1", name: "a string", text: `¶"x"`, want: []string{reject("manifest-not-object", "")}},
	{rule: "M1", name: "what is unknown is not judged", text: `{@S,"name":"a",¶"x":{"name":1,"$schema":null}}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/x")}},

	// [M2]
	{rule: "M2", name: "$schema missing", text: `¶{"name":"a"}`, want: []string{reject("manifest-schema-missing", "")}},
	{rule: "M2", name: "$schema empty", text: `{"$schema":¶"","name":"a"}`, want: []string{reject("manifest-schema-missing", "/$schema")}},
	{rule: "M2", name: "$schema of another type", text: `{"$schema":¶["` + manifestSchema + `"],"name":"a"}`, want: []string{reject("manifest-wrong-type", "/$schema")}},
	{rule: "M2", name: "another version", text: `{"$schema":¶"https://agent-plugins.org/schemas/9.9.9/plugin.schema.json","name":"a"}`,
		want: []string{reject("manifest-version-unsupported", "/$schema")}},
	{rule: "M2", name: "the draft is not recognized", text: `{"$schema":¶"https://agent-plugins.org/schemas/1.1.0/plugin.schema.json","name":"a"}`,
		want: []string{reject("manifest-version-unsupported", "/$schema")}},
	{rule: "M2", name: "a draft version", text: `{"$schema":¶"https://agent-plugins.org/schemas/2.0.0-rc.1/plugin.schema.json","name":"a"}`,
		want: []string{reject("manifest-version-unsupported", "/$schema")}},
	{rule: "M2", name: "another version's rules are not known", text: `{"$schema":¶"https://agent-plugins.org/schemas/2.0.0/plugin.schema.json","name":7,"new":1}`,
		want: []string{reject("manifest-version-unsupported", "/$schema")}},
	{rule: "M2", name: "the other document's identifier", text: `{"$schema":¶"` + mcpSchema + `","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "http", text: `{"$schema":¶"http://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "upper case", text: `{"$schema":¶"https://Agent-Plugins.org/schemas/1.0.0/plugin.schema.json","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "trailing slash", text: `{"$schema":¶"` + manifestSchema + `/","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "fragment", text: `{"$schema":¶"` + manifestSchema + `#","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "blank behind", text: `{"$schema":¶"` + manifestSchema + ` ","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "line break behind", text: `{"$schema":¶"https://agent-plugins.org/schemas/9.9.9/plugin.schema.json\n","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "short version", text: `{"$schema":¶"https://agent-plugins.org/schemas/1.0/plugin.schema.json","name":"a"}`, want: []string{reject("manifest-schema-unrecognized", "/$schema")}},
	{rule: "M2", name: "escaped spelling is the same text", text: `{"\u0024schema":"https:\/\/agent-plugins.org/schemas/1.0.0/plugin.schema.jso\u006e","name":"a"}`, loads: true},

	// [M3]
	{rule: "M3", name: "name missing", text: `¶{@S}`, want: []string{reject("manifest-name-missing", "")}},
	{rule: "M3", name: "name empty", text: `{@S,"name":¶""}`, want: []string{reject("manifest-name-missing", "/name")}},
	{rule: "M3", name: "name invalid", text: `{@S,"name":¶"My-Plugin"}`, want: []string{reject("manifest-name-invalid", "/name")}},
	{rule: "M3", name: "name with what does not print", text: `{@S,"name":¶"a\u202eb\u001b[2J"}`, want: []string{reject("manifest-name-invalid", "/name")}},
	{rule: "M3", name: "empty object", text: `¶¶{}`, want: []string{reject("manifest-schema-missing", ""), reject("manifest-name-missing", "")}},

	// [M4]
	{rule: "M4", name: "wrong types", text: `{@S,"name":¶1,"version":¶1.0,"description":¶true,"author":¶"A. Writer","homepage":¶[],"repository":¶{},"license":¶false,"keywords":¶"k"}`,
		want: []string{reject("manifest-wrong-type", "/name"), reject("manifest-wrong-type", "/version"), reject("manifest-wrong-type", "/description"), reject("manifest-wrong-type", "/author"),
			reject("manifest-wrong-type", "/homepage"), reject("manifest-wrong-type", "/repository"), reject("manifest-wrong-type", "/license"), reject("manifest-wrong-type", "/keywords")}},
	{rule: "M4", name: "author is closed", text: `{@S,"name":"a","author":{"name":"n",¶"Name":"N",¶"twitter":"t"}}`,
		want: []string{reject("manifest-author-member", "/author/Name"), reject("manifest-author-member", "/author/twitter")}},
	{rule: "M4", name: "author members are strings", text: `{@S,"name":"a","author":{"name":¶1,"email":¶null,"url":¶{}}}`,
		want: []string{reject("manifest-wrong-type", "/author/name"), reject("manifest-wrong-type", "/author/email"), reject("manifest-wrong-type", "/author/url")}},
	{rule: "M4", name: "keywords are strings", text: `{@S,"name":"a","keywords":["a",¶1,"b",¶null,¶["c"]]}`,
		want: []string{reject("manifest-wrong-type", "/keywords/1"), reject("manifest-wrong-type", "/keywords/3"), reject("manifest-wrong-type", "/keywords/4")}},
	{rule: "M4", name: "empty author and keywords", text: `{@S,"name":"a","author":{},"keywords":[]}`, loads: true},
	{rule: "M4", name: "numbers of any size have the wrong type", text: `{@S,"name":"a","version":¶1e999999999,"keywords":[¶-1E+999999999]}`,
		want: []string{reject("manifest-wrong-type", "/version"), reject("manifest-wrong-type", "/keywords/0")}},

	// [M5]
	{rule: "M5", name: "metadata of any form", text: `{@S,"name":"a","version":"","description":"","homepage":"docs","repository":"","license":"do what you want","author":{"url":"x","email":"y","name":""},"keywords":["","a","a"]}`, loads: true},
	{rule: "M5", name: "metadata of any form with lint", lint: true, loads: true,
		text: `{@S,"name":"a","version":¶"v1","homepage":¶"docs","repository":¶"git@host:x","license":¶"do what you want","author":{"url":¶"x","email":¶"y"},"extensions":{¶"vendor":{},"com.example":{}}}`,
		want: []string{info("lint-version", "/version"), info("lint-url", "/homepage"), info("lint-url", "/repository"), info("lint-license", "/license"),
			info("lint-url", "/author/url"), info("lint-email", "/author/email"), info("lint-namespace", "/extensions/vendor")}},
	{rule: "M5", name: "lint does not judge a rejected manifest", lint: true, text: `{@S,"name":¶"","version":"v1"}`, want: []string{reject("manifest-name-missing", "/name")}},
	{rule: "M5", name: "forms that lint takes", lint: true, loads: true,
		text: `{@S,"name":"a","version":"1.0.0-rc.1+b.2","license":"(MIT OR Apache-2.0) AND LicenseRef-X WITH Classpath-exception-2.0","author":{"email":"a.b+c@example.com"},"homepage":"http://localhost:1/x?y#z","extensions":{"com.example-x.Client":{}}}`},
	{rule: "M5", name: "forms that lint does not take", lint: true, loads: true,
		text: `{@S,"name":"a","version":¶"01.0.0","license":¶"","author":{"email":¶"A <a@example.com>"},"homepage":¶"https:///x","extensions":{¶"":{},¶"com.":{},¶"com..x":{},¶"-com.x":{},¶"com.x/y":{}}}`,
		want: []string{info("lint-version", "/version"), info("lint-license", "/license"), info("lint-email", "/author/email"), info("lint-url", "/homepage"),
			info("lint-namespace", "/extensions/"), info("lint-namespace", "/extensions/com."), info("lint-namespace", "/extensions/com..x"), info("lint-namespace", "/extensions/-com.x"), info("lint-namespace", "/extensions/com.x~1y")}},

	// [M6]
	{rule: "M6", name: "extensions null", text: `{@S,"name":"a","extensions":¶null}`, loads: true, want: []string{warn("manifest-extensions-not-object", "/extensions")}},
	{rule: "M6", name: "extensions array", text: `{@S,"name":"a","extensions":¶[{"com.x":{}}]}`, loads: true, want: []string{warn("manifest-extensions-not-object", "/extensions")}},
	{rule: "M6", name: "extensions string", text: `{@S,"name":"a","extensions":¶"com.x"}`, loads: true, want: []string{warn("manifest-extensions-not-object", "/extensions")}},
	{rule: "M6", name: "namespaces that are no objects", text: `{@S,"name":"a","extensions":{"com.a":¶1,"com.b":¶null,"com.c":{"x":null},"com.d":¶[]}}`, loads: true,
		want: []string{warn("manifest-extension-not-object", "/extensions/com.a"), warn("manifest-extension-not-object", "/extensions/com.b"), warn("manifest-extension-not-object", "/extensions/com.d")}},
	{rule: "M6", name: "contents are never judged", text: `{@S,"name":"a","extensions":{"com.a":{"name":1,"":[[null]],"$schema":"x"}}}`, lint: true, loads: true},

	// [M7] and the other ways in which there is no manifest
	{rule: "M7", name: "missing", fsys: fstest.MapFS{"README.md": {}}, want: []string{reject("manifest-missing", "") + " whole"}},
	{rule: "M7", name: "another manifest does not replace it", want: []string{reject("manifest-missing", "") + " whole"},
		fsys: fstest.MapFS{".claude-plugin/plugin.json": {Data: []byte(smallManifest)}, "package.json": {Data: []byte(smallManifest)}, "plugin.yaml": {}, "plugin.JSON": {Data: []byte(smallManifest)}}},
	{rule: "M7", name: "a directory", fsys: fstest.MapFS{"plugin.json/plugin.json": {Data: []byte(smallManifest)}}, want: []string{reject("manifest-not-regular", "") + " whole"}},
	{rule: "M7", name: "a device", fsys: fstest.MapFS{"plugin.json": {Mode: fs.ModeDevice}}, want: []string{reject("manifest-not-regular", "") + " whole"}},
	{rule: "M7", name: "a link that dangles", fsys: memory(map[string]string{"plugin.json": "-> gone"}), want: []string{reject("manifest-not-regular", "") + " whole"}},
	{rule: "M7", name: "a link to itself", fsys: memory(map[string]string{"plugin.json": "-> plugin.json"}), want: []string{reject("manifest-not-regular", "") + " whole"}},
	{rule: "M7", name: "a link to a directory", fsys: memory(map[string]string{"plugin.json": "-> d", "d/": ""}), want: []string{reject("manifest-not-regular", "") + " whole"}},
	{rule: "M7", name: "a link that leads out", fsys: memory(map[string]string{"plugin.json": "-> ../plugin.json"}), want: []string{reject("manifest-escapes", "") + " whole"}},
	{rule: "M7", name: "an absolute link in a file system", fsys: memory(map[string]string{"plugin.json": "-> /etc/passwd"}), want: []string{reject("manifest-escapes", "") + " whole"}},
	{rule: "M7", name: "a link inside", fsys: memory(map[string]string{"plugin.json": "-> d/../d/p", "d/p": smallManifest}), loads: true},
	{rule: "L3", name: "an I/O error", fsys: faultyFS{memory(nil), map[string]error{"plugin.json": fs.ErrPermission}}, want: []string{reject("manifest-unreadable", "") + " whole"}},
	{rule: "L5", name: "over the size limit", text: `{@S,"name":"a"}`, limits: plugin.Limits{Manifest: 20}, want: []string{reject("manifest-too-large", "") + " whole"}},

	// [J1]
	{rule: "J1", name: "letter case", text: `{@S,"name":"good",¶"NAME":"evil",¶"Name":"evil",¶"Extensions":{"com.x":{}}}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/NAME"), warn("manifest-unknown-field", "/Name"), warn("manifest-unknown-field", "/Extensions")}},
	{rule: "J1", name: "KELVIN SIGN", text: `{@S,"name":"a",¶"` + "\u212a" + `eywords":["evil"],¶"\u212aeywords":1}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/\u212aeywords"), warn("manifest-duplicate-ignored", "/\u212aeywords")}},
	{rule: "J1", name: "LONG S", text: `{@S,"name":"a",¶"` + "\u017f" + `kills":1,¶"licen` + "\u017f" + `e":1}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/\u017fkills"), warn("manifest-unknown-field", "/licen\u017fe")}},
	{rule: "J1", name: "only the twin is there", text: `¶{@S,¶"Name":"a"}`, want: []string{reject("manifest-name-missing", ""), warn("manifest-unknown-field", "/Name")}},

	// [J2]
	{rule: "J2", name: "name twice", text: `{@S,"name":"a",¶"name":"b"}`, want: []string{reject("manifest-duplicate-member", "/name")}},
	{rule: "J2", name: "name twice, spelled with an escape", text: `{@S,"name":"a",¶"n\u0061me":"a"}`, want: []string{reject("manifest-duplicate-member", "/name")}},
	{rule: "J2", name: "$schema twice", text: `{@S,"name":"a",¶@S}`, want: []string{reject("manifest-duplicate-member", "/$schema")}},
	{rule: "J2", name: "extensions twice", text: `{@S,"name":"a","extensions":{},¶"extensions":{}}`, want: []string{reject("manifest-duplicate-member", "/extensions")}},
	{rule: "J2", name: "inside author", text: `{@S,"name":"a","author":{"name":"x",¶"name":"x"}}`, want: []string{reject("manifest-duplicate-member", "/author/name")}},
	{rule: "J2", name: "three times", text: `{@S,"name":"a",¶"name":"a",¶"name":"a"}`, want: []string{reject("manifest-duplicate-member", "/name"), reject("manifest-duplicate-member", "/name")}},
	{rule: "J2", name: "an unknown member twice", text: `{@S,"name":"a",¶"x":1,¶"x":2,"x":3}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/x"), warn("manifest-duplicate-ignored", "/x")}},
	{rule: "J2", name: "inside unknown members, one warning each", text: `{@S,"name":"a",¶"x":{"a":1,¶"a":2,"a":3,"b":[{"c":1,"c":2}]},¶"y":{"a":1,¶"a":2}}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/x"), warn("manifest-duplicate-ignored", "/x/a"), warn("manifest-unknown-field", "/y"), warn("manifest-duplicate-ignored", "/y/a")}},
	{rule: "J2", name: "inside extensions", text: `{@S,"name":"a","extensions":{"com.a":{"k":1,¶"k":2,"k":3},"com.b":{},"com.b":{}}}`, loads: true,
		want: []string{warn("manifest-duplicate-ignored", "/extensions/com.a/k")}},

	// [J3]
	{rule: "J3", name: "null everywhere", text: `{"$schema":¶null,"name":¶null,"version":¶null,"description":¶null,"author":¶null,"homepage":¶null,"repository":¶null,"license":¶null,"keywords":¶null,"extensions":¶null}`,
		want: []string{reject("manifest-wrong-type", "/$schema"), reject("manifest-wrong-type", "/name"), reject("manifest-wrong-type", "/version"), reject("manifest-wrong-type", "/description"), reject("manifest-wrong-type", "/author"),
			reject("manifest-wrong-type", "/homepage"), reject("manifest-wrong-type", "/repository"), reject("manifest-wrong-type", "/license"), reject("manifest-wrong-type", "/keywords"), warn("manifest-extensions-not-object", "/extensions")}},
	{rule: "J3", name: "null in an unknown member", text: `{@S,"name":"a",¶"x":null}`, loads: true, want: []string{warn("manifest-unknown-field", "/x")}},

	// [J4]
	{rule: "J4", name: "not UTF-8", text: "{@S,\n\"name\":\"aé" + "¶\xff\"}", want: []string{reject("manifest-invalid-encoding", "")}},
	{rule: "J4", name: "an encoded surrogate", text: "{@S,\"name\":\"¶\xed\xa0\x80\"}", want: []string{reject("manifest-invalid-encoding", "")}},
	{rule: "J4", name: "UTF-16", text: utf16Text(smallManifest), want: []string{reject("manifest-invalid-encoding", "") + " 1:1"}},
	{rule: "J4", name: "byte order mark", text: "\uFEFF¶{@S,\"name\":\"a\"}", loads: true, want: []string{info("byte-order-mark", "")}},
	{rule: "J4", name: "columns behind a byte order mark", text: "\uFEFF¶{¶\"x\":1,@S,\"name\":\"a\"}", loads: true, want: []string{info("byte-order-mark", ""), warn("manifest-unknown-field", "/x")}},
	{rule: "J4", name: "unpaired in a value", text: `{@S,"name":"a","version":¶"\ud800"}`, want: []string{reject("manifest-unpaired-surrogate", "/version")}},
	{rule: "J4", name: "unpaired in the name: one fault, one finding", text: `{@S,"name":¶"a\udc00"}`, want: []string{reject("manifest-unpaired-surrogate", "/name")}},
	{rule: "J4", name: "unpaired in $schema: one fault, one finding", text: `{"$schema":¶"` + manifestSchema + `\ud83d","name":"a"}`, want: []string{reject("manifest-unpaired-surrogate", "/$schema")}},
	{rule: "J4", name: "unpaired in keywords", text: `{@S,"name":"a","keywords":["\ud83d\ude00",¶"\ud83d"]}`, want: []string{reject("manifest-unpaired-surrogate", "/keywords/1")}},
	{rule: "J4", name: "unpaired in author", text: `{@S,"name":"a","author":{"name":¶"\ude00\ud83d"}}`, want: []string{reject("manifest-unpaired-surrogate", "/author/name")}},
	{rule: "J4", name: "unpaired below extensions", text: `{@S,"name":"a","extensions":{"com.a":{"x":¶"\ud800","y":"\ud800"}}}`, loads: true,
		want: []string{warn("manifest-unpaired-surrogate-ignored", "/extensions/com.a/x")}},
	{rule: "J4", name: "unpaired in an unknown member", text: `{@S,"name":"a",¶"x":[¶"\ud800"]}`, loads: true,
		want: []string{warn("manifest-unknown-field", "/x"), warn("manifest-unpaired-surrogate-ignored", "/x/0")}},
	{rule: "J4", name: "unpaired in an unknown name", text: `{@S,"name":"a",¶¶"\ud800":1}`, loads: true,
		want: []string{warn("manifest-unpaired-surrogate-ignored", "/\xed\xa0\x80"), warn("manifest-unknown-field", "/\xed\xa0\x80")}},
	{rule: "J4", name: "a pair is text", text: `{@S,"name":"a","description":"\ud83d\ude00"}`, loads: true},
	{rule: "J4", name: "data behind", text: `{@S,"name":"a"} ¶{}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J4", name: "NUL behind", text: `{@S,"name":"a"}` + "¶\x00", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J4", name: "comment", text: "{@S,\n  ¶// the name\n  \"name\":\"a\"}", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J4", name: "block comment first", text: "¶/* x */{@S,\"name\":\"a\"}", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J4", name: "trailing comma", text: `{@S,"name":"a",¶}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J4", name: "trailing comma in an array", text: `{@S,"name":"a","keywords":["k",¶]}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J4", name: "a second byte order mark", text: "\uFEFF¶¶\uFEFF{}", want: []string{info("byte-order-mark", ""), reject("manifest-invalid-json", "")}},

	// [J5]
	{rule: "J5", name: "empty", text: `¶`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "blank", text: " \n ¶", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "missing comma after CRLF", text: "{\r\n  @S\r\n  ¶\"name\": \"a\"\r\n}\r\n", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "line and column by hand", text: "{\r\n\t\"ünï\": 1,\r\n  \"né\" 2}", want: []string{reject("manifest-invalid-json", "") + " 3:8"}},
	{rule: "J5", name: "end of file", text: "{@S,\n\"name\":\"a\"¶", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "open string", text: "{\"name\":\"a¶", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "line break in a string", text: "{\"name\":\"a¶\n\"}", want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "bad escape", text: `{"name":"\¶x"}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "bad literal", text: `{"name":nul¶1}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "leading zero", text: `{"name":0¶1}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "NaN", text: `{"name":¶NaN}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "quotes", text: `{¶'name':1}`, want: []string{reject("manifest-invalid-json", "")}},
	{rule: "J5", name: "no-break space", text: "{¶\u00a0}", want: []string{reject("manifest-invalid-json", "")}},

	// [L5]
	{rule: "L5", name: "nested too deep", text: `{@S,"name":"a","x":` + strings.Repeat("[", 99) + `¶[` + strings.Repeat("]", 100) + `}`, want: []string{reject("manifest-too-complex", "")}},
	{rule: "L5", name: "nested as deep as allowed", text: `{@S,"name":"a",¶"x":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`, loads: true, want: []string{warn("manifest-unknown-field", "/x")}},
	{rule: "L5", name: "many values", text: `{@S,"name":"a","keywords":[` + strings.Repeat(`"a",`, 100_000) + `"b"]}`, loads: true},
	{rule: "L5", name: "many ignored values", text: `{@S,"name":"a","extensions":{"com.a":{"x":[` + strings.Repeat(`0,`, 300_000) + `0]}}}`, loads: true},

	// several faults at once, in document order
	{rule: "L7", name: "several faults", text: "¶{\r\n  ¶\"zeta\": {\"a\":1,¶\"a\":2},\r\n  \"name\": ¶\"Bad\",\r\n  \"keywords\": [¶1],\r\n  \"extensions\": ¶3,\r\n  \"author\": {¶\"x\": 1, \"name\": ¶2}\r\n}",
		want: []string{reject("manifest-schema-missing", ""), warn("manifest-unknown-field", "/zeta"), warn("manifest-duplicate-ignored", "/zeta/a"), reject("manifest-name-invalid", "/name"), reject("manifest-wrong-type", "/keywords/0"),
			warn("manifest-extensions-not-object", "/extensions"), reject("manifest-author-member", "/author/x"), reject("manifest-wrong-type", "/author/name")}},
}

func utf16Text(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

// TestManifest proves the rules for plugin.json, each row the one it names.
// [J1] [J2] [J3] [J4] [J5] [M1] [M2] [M3] [M4] [M5] [M6] [M7]
func TestManifest(t *testing.T) {
	missing := codesWith("manifest-", "lint-", "byte-order-mark")
	for _, elsewhere := range []finding.Code{finding.LintMisplaced, finding.LintNoComponent, finding.LintNoSkill, finding.LintPlaceholder} {
		delete(missing, elsewhere) // they are not about the manifest: TestLint
	}
	for _, c := range manifestCases {
		t.Run(c.rule+" "+c.name, func(t *testing.T) {
			text, at := positions(fill.Replace(c.text))
			fsys := c.fsys
			if fsys == nil {
				// With a skill, lint has nothing to say of the package as a whole.
				fsys = fstest.MapFS{"plugin.json": {Data: []byte(text)}, "skills/ok/SKILL.md": {Data: []byte(okSkill)}}
			}
			p, err := plugin.LoadFS(context.Background(), fsys, plugin.Options{Lint: c.lint, Limits: c.limits})
			if (err == nil) != c.loads {
				t.Errorf("error %v, loads = %v", err, c.loads)
			}
			list := outcome(t, p, err)
			checkFindings(t, list, c.want, at)
			for _, f := range list {
				delete(missing, f.Code)
				if f.File != "plugin.json" {
					t.Errorf("file = %q", f.File)
				}
			}
		})
	}
	if len(missing) > 0 && !t.Failed() {
		t.Errorf("no case shows %v", missing)
	}
}

// TestManifestMessages shows that what an author needs is in the message, and
// that a package's text in it cannot act on a terminal. [M2] [M1]
func TestManifestMessages(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"$schema":"https://agent-plugins.org/schemas/9.8.7/plugin.schema.json","name":"a"}`, "9.8.7"},
		{`{"$schema":"https://agent-plugins.org/schemas/9.8.7/plugin.schema.json","name":"a"}`, "1.0.0"},
		{`{"name":"a"}`, manifestSchema},
		{`{@S,"name":"My Plugin"}`, `"My Plugin" is no plugin name, it has upper-case letters; it has characters other than a-z, 0-9, hyphen and period: write "my-plugin"`},
		{`{@S,"name":"日本"}`, "use 1 to 64 of a-z, 0-9, hyphen and period"},
		{`{@S,"name":"a","skills":[]}`, "skills stand in skills/NAME/SKILL.md"}, {`{@S,"name":"a","mcpServers":{}}`, "servers stand in mcp.json"},
		{`{@S,"name":"a","commands":[]}`, "a package has only skills and MCP servers"}, {`{@S,"name":"a","x":[]}`, "below a namespace in extensions ["},
		{`{@S,"name":"My_Plugin"}`, `"My_Plugin"`},
		{`{@S,"name":"a","` + "\u202e" + `\u001b]0;x":1}`, `"\u202e\x1b]0;x"`},
		{`{@S,"name":"a","\ud800":1}`, `"\xed\xa0\x80"`},
		{`{@S,"name":"a","` + strings.Repeat("x", 90) + `":1}`, `"` + strings.Repeat("x", 80) + `…"`},
		{`{@S,"name":"a","author":{"email":1}}`, "author.email"},
		{"\xff\xfe{\x00", "UTF-16"},
		{`{@S,"name":"a",}`, "comma"},
		{`{@S,/**/"name":"a"}`, "comments"},
	} {
		p, err := plugin.LoadFS(context.Background(), fstest.MapFS{"plugin.json": {Data: []byte(fill.Replace(c.text))}}, plugin.Options{})
		list := outcome(t, p, err)
		checkMessages(t, list)
		if !strings.Contains(list.String(), c.want) {
			t.Errorf("%s: %q is not in %v", c.text, c.want, list)
		}
	}
}

// TestManifestFields shows what is read, and that nothing of it is shared. [M5]
func TestManifestFields(t *testing.T) {
	text := fill.Replace(`{@S,"name":"acme.tools","version":"v1","description":"d \u00e9","author":{"name":"n","email":"e","url":"u"},"homepage":"h","repository":"r","license":"l","keywords":["a","","a"]}`)
	p := mustLoadFS(t, memory(map[string]string{"plugin.json": text}), plugin.Options{})
	want := plugin.Manifest{Schema: manifestSchema, SpecVersion: "1.0.0", Name: "acme.tools", Version: "v1", Description: "d é",
		Author: plugin.Author{Name: "n", Email: "e", URL: "u"}, Homepage: "h", Repository: "r", License: "l", Keywords: []string{"a", "", "a"}}
	for range 2 {
		m := p.Manifest()
		if m.Schema != want.Schema || m.SpecVersion != want.SpecVersion || m.Name != want.Name || p.Name() != want.Name || m.Version != want.Version || m.Description != want.Description ||
			m.Author != want.Author || m.Homepage != want.Homepage || m.Repository != want.Repository || m.License != want.License || !slices.Equal(m.Keywords, want.Keywords) {
			t.Errorf("manifest = %+v", m)
		}
		m.Keywords[0] = "changed"
	}
	if v := plugin.SpecVersions(); !slices.Equal(v, []string{"1.0.0"}) {
		t.Errorf("versions = %q", v)
	}

	// Declares tells an empty member from a missing one, and knows no other.
	p = mustLoadFS(t, memory(map[string]string{"plugin.json": fill.Replace(`{@S,"name":"a","version":"","extensions":null,"skills":1}`)}), plugin.Options{})
	for member, want := range map[string]bool{"$schema": true, "name": true, "version": true, "description": false, "extensions": true, "skills": false, "": false} {
		if p.Declares(member) != want {
			t.Errorf("Declares(%q) = %v", member, !want)
		}
	}
}

// TestExtensions shows that a host reads the JSON of a namespace as it stands
// in the file, and only where one clear object stands there. [M6]
func TestExtensions(t *testing.T) {
	p := mustLoadFS(t, memory(map[string]string{"plugin.json": fill.Replace("{@S,\"name\":\"a\",\"extensions\": {\r\n" +
		` "com.b" : { "x": [1, 1e3, "\u00e9"], "x": null } , "com.a":{}, "com.n":null, "com.s":"{}", "com.t":{"a":1}, "com.t":{"a":2}, "":{}, "~/":{}, "\ud800":{} }}`)}), plugin.Options{})
	if got := p.Extensions(); !slices.Equal(got, []string{"", "com.a", "com.b", "~/"}) {
		t.Errorf("namespaces = %q", got)
	}
	const raw = `{ "x": [1, 1e3, "\u00e9"], "x": null }`
	for range 2 {
		got, ok := p.Extension("com.b")
		if !ok || string(got) != raw || !json.Valid(got) {
			t.Errorf("com.b = %s, %v", got, ok)
		}
		got[0] = '!'
	}
	for _, name := range []string{"com.n", "com.s", "com.t", "com.x", "COM.A"} {
		if got, ok := p.Extension(name); ok || got != nil {
			t.Errorf("%s = %s, %v", name, got, ok)
		}
	}
	if p = mustLoadFS(t, memory(nil), plugin.Options{}); len(p.Extensions()) != 0 {
		t.Errorf("namespaces = %q", p.Extensions())
	}
}

// TestExtensionFS shows the contained access to extension directories. [M6] [P6]
func TestExtensionFS(t *testing.T) {
	dir := write(t, map[string]string{
		"com.in/hooks/h.json": "hook",
		"com.in/out":          "-> ../../outside",
		"com.in/up":           "-> ../README",
		"README":              "readme",
		"com.linked":          "-> com.in",
		"com.out":             "-> ../outside",
		"com.loop":            "-> com.loop",
		"com.dangling":        "-> nothing",
		"com.file":            "text",
		"../outside/h.json":   "secret",
	})
	p := mustLoad(t, dir)
	for _, name := range []string{"com.in", "com.linked"} {
		fsys, err := p.ExtensionFS(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(fsys, "hooks/h.json"); err != nil || string(got) != "hook" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := fs.ReadFile(fsys, "up"); err != nil || string(got) != "readme" {
			t.Errorf("%s: a link that stays inside: %q, %v", name, got, err)
		}
		if got, err := fs.ReadFile(fsys, "out/h.json"); !errors.Is(err, paths.ErrEscape) {
			t.Errorf("%s: a link that leads out: %q, %v", name, got, err)
		}
		if _, err := fs.ReadFile(fsys, "../README"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: .. gives %v", name, err)
		}
	}
	for name, want := range map[string]error{
		"com.none": fs.ErrNotExist, "com.out": paths.ErrEscape, "com.loop": paths.ErrLoop, "com.dangling": fs.ErrNotExist, "com.file": fs.ErrNotExist,
		"": fs.ErrInvalid, ".": fs.ErrInvalid, "..": fs.ErrInvalid, "com.in/hooks": fs.ErrInvalid, "../outside": fs.ErrInvalid, `..\outside`: fs.ErrInvalid,
		"/": fs.ErrInvalid, "com.in\x00": fs.ErrInvalid, "com.\xff": fs.ErrInvalid,
	} {
		if fsys, err := p.ExtensionFS(name); !errors.Is(err, want) || fsys != nil {
			t.Errorf("ExtensionFS(%q) = %v, %v, want %v", name, fsys, err, want)
		}
	}
}

// TestFindingsAreCopies: a caller cannot change what a plugin holds.
func TestFindingsAreCopies(t *testing.T) {
	p := mustLoadFS(t, memory(map[string]string{
		"plugin.json":       fill.Replace(`{@S,"name":"a","x":1}`),
		"mcp.json":          fill.Replace(`{@M,"mcpServers":{"s":{"type":"stdio","command":"c","args":["1"],"env":{"A":"1"}},"r":{"type":"sse","url":"https://h","headers":{"A":"1"}},"bad":1}}`),
		"skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n",
		"skills/b/SKILL.md": "",
	}), plugin.Options{})
	p.Findings()[0] = finding.Finding{}
	p.Servers()[0] = nil
	p.SkippedServers()[0] = "changed"
	p.Skills()[0] = nil
	p.SkippedSkills()[0] = "changed"
	s, _ := p.Server("s").Stdio()
	s.Args[0], s.Env["A"] = "changed", "changed"
	r, _ := p.Server("r").Remote()
	r.Headers["A"] = "changed"
	s, _ = p.Server("s").Stdio()
	r, _ = p.Server("r").Remote()
	if p.Findings()[0].Code != finding.ManifestUnknownField || p.Servers()[0].Name() != "s" || p.SkippedServers()[0] != "bad" ||
		p.Skill("a") == nil || p.SkippedSkills()[0] != "b" || s.Args[0] != "1" || s.Env["A"] != "1" || r.Headers["A"] != "1" {
		t.Error("a change of a returned slice or map changed the plugin")
	}
}
