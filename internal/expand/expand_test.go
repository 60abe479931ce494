package expand_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/internal/expand"
)

var vars = expand.Vars{Root: "/p/top", Data: "/d/data"}

func TestExpand(t *testing.T) { // [E1]
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"${PLUGIN_ROOT}", "/p/top"},
		{"${PLUGIN_DATA}", "/d/data"},
		{"--a=${PLUGIN_ROOT}/x:${PLUGIN_DATA}/y:${PLUGIN_ROOT}", "--a=/p/top/x:/d/data/y:/p/top"},
		{"${PLUGIN_ROOT}${PLUGIN_ROOT}", "/p/top/p/top"},
		{"$PLUGIN_ROOT", "$PLUGIN_ROOT"},
		{"${PLUGIN_ROOT_X}", "${PLUGIN_ROOT_X}"},
		{"${PLUGIN_ROOT", "${PLUGIN_ROOT"},
		{"${plugin_root}", "${plugin_root}"},
		{"${HOME} %PLUGIN_ROOT% $(PLUGIN_ROOT)", "${HOME} %PLUGIN_ROOT% $(PLUGIN_ROOT)"},
		{"$${PLUGIN_ROOT}", "$/p/top"},
		{`\${PLUGIN_ROOT}`, `\/p/top`},
		{"${${PLUGIN_ROOT}}", "${/p/top}"},
		{"${PLUGIN_${PLUGIN_DATA}ROOT}", "${PLUGIN_/d/dataROOT}"},
		{"bytes \xff${PLUGIN_ROOT}\xff", "bytes \xff/p/top\xff"},
	} {
		if got := vars.Expand(tc.in); got != tc.want {
			t.Errorf("Expand(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestExpandIsOnePass(t *testing.T) { // [E1]
	for _, tc := range []struct {
		v        expand.Vars
		in, want string
	}{
		{expand.Vars{Root: "/p/${PLUGIN_DATA}", Data: "/d"}, "${PLUGIN_ROOT}/x", "/p/${PLUGIN_DATA}/x"},
		{expand.Vars{Root: "/p", Data: "/d/${PLUGIN_ROOT}"}, "${PLUGIN_DATA}", "/d/${PLUGIN_ROOT}"},
		{expand.Vars{Root: "${PLUGIN_ROOT}", Data: "/d"}, "${PLUGIN_ROOT}", "${PLUGIN_ROOT}"},
		{expand.Vars{Root: "${PLUGIN_", Data: "DATA}"}, "${PLUGIN_ROOT}DATA}", "${PLUGIN_DATA}"},
		{expand.Vars{Root: "$&\\1", Data: "/d"}, "${PLUGIN_ROOT}", "$&\\1"},
	} {
		if got := tc.v.Expand(tc.in); got != tc.want {
			t.Errorf("%+v: Expand(%q) = %q, want %q", tc.v, tc.in, got, tc.want)
		}
	}
}

func FuzzExpand(f *testing.F) { // [E1]
	f.Add("${PLUGIN_ROOT}/a ${PLUGIN_DATA}", "/r", "/d")
	f.Add("${PLUGIN_${PLUGIN_ROOT}}", "${PLUGIN_DATA}", "${PLUGIN_ROOT}")
	f.Add("${PLUGIN_ROOT}", "", "")
	f.Fuzz(func(t *testing.T, s, root, data string) {
		v := expand.Vars{Root: root, Data: data}
		got := v.Expand(s)
		if len(got) != v.Size(s) {
			t.Fatalf("Size(%q) = %d, Expand gives %d bytes", s, v.Size(s), len(got))
		}
		// An independent reading of the rule: cut at the next placeholder, whichever it is.
		var want strings.Builder
		for rest := s; rest != ""; {
			switch {
			case strings.HasPrefix(rest, expand.PluginRoot):
				want.WriteString(root)
				rest = rest[len(expand.PluginRoot):]
			case strings.HasPrefix(rest, expand.PluginData):
				want.WriteString(data)
				rest = rest[len(expand.PluginData):]
			default:
				want.WriteByte(rest[0])
				rest = rest[1:]
			}
		}
		if got != want.String() {
			t.Fatalf("Expand(%q) = %q, want %q", s, got, want.String())
		}
	})
}

func ExampleVars_Expand() {
	v := expand.Vars{Root: "/plugins/demo", Data: "/data/demo"}
	fmt.Println(v.Expand("--config=${PLUGIN_ROOT}/db.json"))
	fmt.Println(v.Expand("${HOME} stays, ${PLUGIN_DATA} does not"))
	// Output:
	// --config=/plugins/demo/db.json
	// ${HOME} stays, /data/demo does not
}
