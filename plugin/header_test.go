package plugin

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/internal/expand"
)

var headerNames = map[string]bool{
	"X-A": true, "x": true, "A1": true, "!#$%&'*+-.^_`|~": true, "${X}": false, "Authorization": true, "Host": true, "Content-Length": true,
	"": false, " ": false, "X A": false, " X": false, "X ": false, "X:": false, ":path": false, "X\tA": false, "X\r\nY": false, "X\x00": false, "X\x7f": false,
	"Ü": false, "X\u00a0": false, "(X)": false, "X/Y": false, "X,Y": false, "X;Y": false, "X=Y": false, "X@Y": false, "[X]": false, "{X}": false, `"X"`: false, `X\Y`: false, "<X>": false, "X?": false,
}

var headerValues = map[string]bool{
	"": true, "a": true, "a b": true, "a\tb": true, "é": true, "日本": true, "\"q\"": true, "${PLUGIN_ROOT}": true, "a,b;c=d": true, "\xff\x80": true, "a\u0085b": true,
	strings.Repeat("v", 100_000): true,
	" a":                         false, "a ": false, "\ta": false, "a\t": false, " ": false, "\t": false,
	"a\nb": false, "a\rb": false, "a\r\nX: y": false, "a\r\n b": false, "a\x00": false, "\x01": false, "\x1b[2J": false, "\x1f": false, "a\x7f": false, "\v": false, "\f": false,
}

// [C7]
func TestHeaders(t *testing.T) {
	for name, want := range headerNames {
		if isToken(name) != want {
			t.Errorf("isToken(%q) = %v", name, !want)
		}
	}
	for value, want := range headerValues {
		if isFieldValue(value) != want {
			t.Errorf("isFieldValue(%.40q) = %v", value, !want)
		}
	}
	for c := range 256 {
		name, value := "X"+string([]byte{byte(c)}), "a"+string([]byte{byte(c)})+"b"
		if got := isToken(name); got != sendable(name, "v") {
			t.Errorf("isToken with byte %#x = %v, but net/http differs", c, got)
		}
		if got := isFieldValue(value); got != sendable("X", value) {
			t.Errorf("isFieldValue with byte %#x = %v, but net/http differs", c, got)
		}
	}
}

// sendable reports whether net/http's own checks let a header through: it
// refuses a bad one before it dials.
func sendable(name, value string) bool {
	req := &http.Request{Method: "GET", Header: http.Header{name: {value}}}
	req.URL = httptest.NewRequest("GET", "http://invalid.example/", nil).URL
	dialed := false
	transport := &http.Transport{DialContext: noDial(&dialed)}
	resp, err := transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return dialed
}

// TestHeadersArrive: what is accepted reaches a server unchanged. [C7]
func TestHeadersArrive(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	for value, ok := range headerValues {
		if !ok {
			continue
		}
		req, err := http.NewRequest("GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["X-A"] = []string{value}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Errorf("%.40q: %v", value, err)
			continue
		}
		resp.Body.Close()
		if !slices.Equal(got["X-A"], []string{value}) {
			t.Errorf("%.40q arrived as %.40q", value, got["X-A"])
		}
	}
}

// [C4]
func TestReservedEnv(t *testing.T) {
	for name, want := range map[string][2]bool{ // on Unix, on Windows
		"PLUGIN_ROOT": {true, true}, "PLUGIN_DATA": {true, true}, "Plugin_Root": {false, true}, "plugin_data": {false, true},
		"PLUGIN_ROOTS": {}, "PLUGIN_ROO": {}, " PLUGIN_ROOT": {}, "PLUGIN_ROOT ": {}, "": {}, "PATH": {}, "PLUGIN-ROOT": {}, "PLUGİN_ROOT": {},
	} {
		if got := [2]bool{reservedEnv(name, false), reservedEnv(name, true)}; got != want {
			t.Errorf("reservedEnv(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestOverlay: the client's variables come last, and names are compared as the
// platform does. [E1] [E2]
func TestOverlay(t *testing.T) {
	vars := expand.Vars{Root: "/top/${PLUGIN_DATA}", Data: "/data"}
	for _, c := range []struct {
		name    string
		windows bool
		env     map[string]string
		want    map[string]string
	}{
		{"nil", false, nil, nil},
		{"values are expanded once, names never", false, map[string]string{"A": "${PLUGIN_ROOT}:${PLUGIN_DATA}:${PLUGIN_X}:$PLUGIN_ROOT:%PLUGIN_ROOT%", "${PLUGIN_ROOT}": "x"},
			map[string]string{"A": "/top/${PLUGIN_DATA}:/data:${PLUGIN_X}:$PLUGIN_ROOT:%PLUGIN_ROOT%", "${PLUGIN_ROOT}": "x"}},
		{"letters differ on Unix", false, map[string]string{"a": "1", "A": "2", "plugin_root": "x"}, map[string]string{"a": "1", "A": "2", "plugin_root": "x"}},
		{"and do not on Windows", true, map[string]string{"Path": "1", "PATH": "2", "path": "3", "b": "4"}, map[string]string{"path": "3", "b": "4"}},
		{"the client's win", false, map[string]string{"PLUGIN_ROOT": "x", "PLUGIN_DATA": "y"}, nil},
		{"in any letter case on Windows", true, map[string]string{"Plugin_Root": "x", "plugin_data": "y", "PLUGIN_DATA": "z"}, nil},
	} {
		want := maps.Clone(c.want)
		if want == nil {
			want = map[string]string{}
		}
		want["PLUGIN_ROOT"], want["PLUGIN_DATA"] = vars.Root, vars.Data
		before := maps.Clone(c.env)
		for range 20 { // maps have no order
			if got := overlay(c.env, vars, c.windows); !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", c.name, got, want)
				break
			}
		}
		if !maps.Equal(c.env, before) {
			t.Errorf("%s: the entry's env was changed", c.name)
		}
	}
}

func noDial(dialed *bool) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		*dialed = true
		return nil, errors.New("no network")
	}
}
