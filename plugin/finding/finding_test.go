package finding_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin/finding"
)

func TestNew(t *testing.T) {
	got := finding.New(finding.ManifestNameInvalid, finding.Place{File: "plugin.json", Pointer: "/name", Line: 3, Column: 11}, "what to change")
	want := finding.Finding{Code: "manifest-name-invalid", Severity: finding.SeverityError, Boundary: finding.BoundaryPlugin, Layer: finding.LayerSpec, Section: "AP §5.5",
		File: "plugin.json", Pointer: "/name", Line: 3, Column: 11, Message: "what to change"}
	if got != want {
		t.Errorf("got %+v", got)
	}
	if f := finding.New("no-such-code", finding.Place{}, "m"); f.Severity != 0 || f.Severity.String() != "invalid" || f.Boundary.String() != "invalid" || f.Layer.String() != "invalid" {
		t.Errorf("an unknown code gives %+v", f)
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		f    finding.Finding
		want string
	}{
		{finding.New(finding.ManifestNameInvalid, finding.Place{File: "plugin.json", Pointer: "/name", Line: 3, Column: 11}, "m"), "plugin.json:3:11: error: m [manifest-name-invalid, AP §5.5]"},
		{finding.New(finding.ManifestMissing, finding.Place{File: "plugin.json"}, "m"), "plugin.json: error: m [manifest-missing, AP §4.1]"},
		{finding.New(finding.SkillEmptyValue, finding.Place{}, "m"), "warning: m [skill-empty-value, AS]"},
		{finding.New(finding.LintVersion, finding.Place{File: "a\x1b[2J\u202e\xff\n/b"}, "m"), `a\x1b[2J\u202e\xff\n/b: info: m [lint-version, AP §10.2]`},
	} {
		if got := c.f.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		f    finding.Finding
		want string
	}{
		{finding.New(finding.ManifestNameInvalid, finding.Place{File: "plugin.json", Pointer: "/name", Line: 3, Column: 11}, "m"),
			`{"code":"manifest-name-invalid","severity":"error","boundary":"plugin","layer":"spec","section":"AP §5.5","file":"plugin.json","pointer":"/name","line":3,"column":11,"message":"m"}`},
		{finding.New(finding.ManifestMissing, finding.Place{File: "plugin.json"}, "m"),
			`{"code":"manifest-missing","severity":"error","boundary":"plugin","layer":"spec","section":"AP §4.1","file":"plugin.json","message":"m"}`},
		// A server's or skill's name may be empty, and is there all the same.
		{finding.New(finding.ServerNotObject, finding.Place{File: "mcp.json", Pointer: "/mcpServers/", Line: 1, Column: 2}, "m"),
			`{"code":"server-not-object","severity":"error","boundary":"server","subject":"","layer":"spec","section":"AP §7.2.1","file":"mcp.json","pointer":"/mcpServers/","line":1,"column":2,"message":"m"}`},
		{finding.New(finding.SkillEscapes, finding.Place{}, "m"),
			`{"code":"skill-escapes","severity":"error","boundary":"skill","subject":"","layer":"spec","section":"AP §4.1","file":"","message":"m"}`},
		// A field of a server names the server.
		{finding.New(finding.ServerCwdMissing, finding.Place{Subject: "s", File: "mcp.json"}, "m"),
			`{"code":"server-cwd-missing","severity":"warning","boundary":"field","subject":"s","layer":"spec","section":"AP §7.2.1","file":"mcp.json","message":"m"}`},
		{finding.New(finding.ServerTransportDisabled, finding.Place{Subject: "a\xff\xed\xa0\x80é", File: "\xfe", Pointer: "/\x80"}, "m"),
			`{"code":"server-transport-disabled","severity":"info","boundary":"server","subject":"a\\xff\\xed\\xa0\\x80é","layer":"policy","section":"AP §7.2.2","file":"\\xfe","pointer":"/\\x80","message":"m"}`},
	} {
		got, err := json.Marshal(c.f)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestLogValue(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("x", "finding", finding.New(finding.ServerTransportDisabled, finding.Place{Subject: "a\x1b\u202e", File: "f\n", Pointer: "/p\xff", Line: 1, Column: 2}, "m"))
	const want = `{"level":"INFO","msg":"x","finding":{"code":"server-transport-disabled","severity":"info","boundary":"server","layer":"policy","section":"AP §7.2.2","subject":"a\\x1b\\u202e","file":"f\\n","pointer":"/p\\xff","line":1,"column":2,"message":"m"}}`
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestList(t *testing.T) {
	info := finding.New(finding.LintVersion, finding.Place{File: "a"}, "1")
	warning := finding.New(finding.SkillEmptyValue, finding.Place{File: "b"}, "2")
	failure := finding.New(finding.ManifestMissing, finding.Place{File: "c"}, "3")
	list := finding.List{warning, info, failure, warning}
	for severity, want := range map[finding.Severity]int{finding.SeverityInfo: 4, finding.SeverityWarning: 3, finding.SeverityError: 1} {
		if got := list.AtLeast(severity); len(got) != want {
			t.Errorf("AtLeast(%v) = %v", severity, got)
		}
	}
	if got := list.AtLeast(finding.SeverityWarning); got[0] != warning || got[1] != failure || got[2] != warning {
		t.Errorf("order = %v", got)
	}
	if text := list[:2].String(); text != "b: warning: 2 [skill-empty-value, AS]\na: info: 1 [lint-version, AP §10.2]" {
		t.Errorf("text = %q", text)
	}
	var none finding.List
	if none.String() != "" || none.AtLeast(finding.SeverityInfo) != nil {
		t.Error("a nil list is not empty")
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[interface{ MarshalText() ([]byte, error) }]string{
		finding.SeverityInfo: "info", finding.SeverityWarning: "warning", finding.SeverityError: "error", finding.Severity(9): "invalid",
		finding.BoundaryPlugin: "plugin", finding.BoundaryComponent: "component", finding.BoundarySkill: "skill", finding.BoundaryServer: "server", finding.BoundaryField: "field",
		finding.LayerSpec: "spec", finding.LayerSafety: "safety", finding.LayerPolicy: "policy",
	} {
		if text, err := got.MarshalText(); string(text) != want || err != nil {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}
