package mcpclient

import (
	"slices"
	"strings"
	"testing"
)

func TestBaseEnviron(t *testing.T) {
	for _, c := range []struct {
		name    string
		windows bool
		in      []string
		want    []string
	}{
		{"[E2] an allow-list on Unix", false,
			[]string{"PATH=/bin", "HOME=/h", "USER=u", "LOGNAME=u", "SHELL=/bin/sh", "TMPDIR=/t", "TZ=UTC", "LANG=C", "LC_ALL=C", "LC_TIME=C",
				"AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "LD_PRELOAD=x", "path=x", "Home=x", "HTTPS_PROXY=x", "SSH_AUTH_SOCK=x", "LC=x", "MCPGODEBUG=x", "novalue"},
			[]string{"HOME=/h", "LANG=C", "LC_ALL=C", "LC_TIME=C", "LOGNAME=u", "PATH=/bin", "SHELL=/bin/sh", "TMPDIR=/t", "TZ=UTC", "USER=u"}},
		{"[E2] names in any letter case on Windows", true,
			[]string{`Path=C:\bin`, `SystemRoot=C:\Windows`, `ComSpec=c`, `=C:=C:\x`, `ProgramFiles(x86)=p`, `TEMP=t`, `PathExt=.EXE`, `SECRET=x`, `HOME=x`},
			[]string{`ComSpec=c`, `PathExt=.EXE`, `Path=C:\bin`, `ProgramFiles(x86)=p`, `SystemRoot=C:\Windows`, `TEMP=t`}},
		{"empty", false, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			slices.Sort(c.want)
			if got := baseEnviron(c.in, c.windows); !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
	if !slices.IsSorted(windowsBase) || !slices.IsSorted(unixBase) {
		t.Error("the lists are searched by halves and must be sorted")
	}
	t.Setenv("PLUGBERTH_SECRET", "x")
	t.Setenv("PATH", "/some/bin")
	if got := BaseEnviron(); !slices.Contains(got, "PATH=/some/bin") || slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, "SECRET") }) {
		t.Errorf("of this process: %q", got)
	}
}

func TestMergeEnviron(t *testing.T) {
	roots := func(m map[string]string) map[string]string {
		out := map[string]string{"PLUGIN_ROOT": "/r", "PLUGIN_DATA": "/d"}
		for k, v := range m {
			out[k] = v
		}
		return out
	}
	type vars = map[string]string
	for _, c := range []struct {
		name    string
		windows bool
		base    []string
		plan    vars
		creds   vars
		want    string // joined by blanks
		err     string
	}{
		{name: "[E2] the order of the layers", base: []string{"A=base", "B=base", "C=base", "PLUGIN_ROOT=base"},
			plan: vars{"B": "plan", "C": "plan"}, creds: vars{"C": "creds", "PLUGIN_DATA": "creds", "PLUGIN_ROOT": "creds"},
			want: "A=base B=plan C=creds PLUGIN_DATA=/d PLUGIN_ROOT=/r"},
		{name: "[E2] names differ by letter case on Unix", base: []string{"Path=1", "PATH=2", "PATH=3"}, plan: vars{"path": "4", "plugin_root": "5"},
			want: "PATH=3 PLUGIN_DATA=/d PLUGIN_ROOT=/r Path=1 path=4 plugin_root=5"},
		{name: "[E2] and do not on Windows", windows: true, base: []string{"Path=1", "=C:=x"}, plan: vars{"path": "2"}, creds: vars{"PATH": "3", "Plugin_Root": "evil"},
			want: "PATH=3 PLUGIN_DATA=/d PLUGIN_ROOT=/r"},
		{name: "values may hold anything else", base: []string{"A=b=c", "E="}, plan: vars{"N": "line\nline"}, want: "A=b=c E= N=line\nline PLUGIN_DATA=/d PLUGIN_ROOT=/r"},
		{name: "an entry without a value", base: []string{"SECRET"}, err: "not NAME=value"},
		{name: "a base entry without a name", base: []string{"=SECRET"}, err: `variable of the name "", which stands in the base environment`},
		{name: "a name with =", creds: vars{"A=B": "SECRET"}, err: `variable of the name "A=B", which stands in the credentials`},
		{name: "a name with NUL", creds: vars{"A\x00": "SECRET"}, err: `"A\x00"`},
		{name: "a value with NUL", creds: vars{"A": "SECRET\x00"}, err: `NUL character in the value of "A"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := mergeEnviron(c.base, roots(c.plan), c.creds, c.windows)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("error %v, want %q without the value", err, c.err)
				}
				return
			}
			if joined := strings.Join(got, " "); err != nil || joined != c.want {
				t.Errorf("got %q, %v\nwant %q", joined, err, c.want)
			}
		})
	}
}

func TestLookupEnv(t *testing.T) {
	environ := []string{"Path=a", "PATH=b", "PATH=c", "X"}
	if got := lookupEnv(environ, "PATH", false); got != "c" {
		t.Error(got)
	}
	if got := lookupEnv(environ[:1], "PATH", true); got != "a" {
		t.Error(got)
	}
	if got := lookupEnv(environ, "NONE", false); got != "" {
		t.Error(got)
	}
}
