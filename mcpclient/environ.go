package mcpclient

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
)

const (
	envRoot = "PLUGIN_ROOT"
	envData = "PLUGIN_DATA"
)

const onWindows = runtime.GOOS == "windows"

// The variables of this process that servers get, and no others: what programs
// need to be found, to find the user's files and to speak the user's language.
// Everything else may be a secret of the host.
var (
	unixBase = []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"}

	windowsBase = []string{
		"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
		"COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LANG", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
		"PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
		"PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "TZ", "USERDOMAIN", "USERNAME",
		"USERPROFILE", "WINDIR",
	}
)

// BaseEnviron returns the base environment that stdio servers get by default,
// "NAME=value" each: of this process's variables PATH, HOME, USER, LOGNAME,
// SHELL, TMPDIR, TZ, LANG and those that begin with LC_, and on Windows those
// that programs need there to find themselves, their user and their temporary
// files. Others, in which a host may hold secrets, are left out (AP §9.1). A
// host that wants to give more appends to it and sets Options.Environ.
func BaseEnviron() []string { return baseEnviron(os.Environ(), onWindows) }

func baseEnviron(environ []string, windows bool) []string {
	allowed := unixBase
	if windows {
		allowed = windowsBase
	}
	var base []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		key := envKey(name, windows)
		if _, found := slices.BinarySearch(allowed, key); found || strings.HasPrefix(key, "LC_") {
			base = append(base, e)
		}
	}
	slices.Sort(base)
	return base
}

// envKey is what names that the platform takes for the same have in common.
func envKey(name string, windows bool) string {
	if windows {
		return strings.ToUpper(name)
	}
	return name
}

// lookupEnv returns the value of a variable, the last one where there are more.
func lookupEnv(environ []string, name string, windows bool) string {
	value := ""
	for _, e := range environ {
		if n, v, ok := strings.Cut(e, "="); ok && envKey(n, windows) == name {
			value = v
		}
	}
	return value
}

// mergeEnviron returns the whole environment of a server: the base, the plan's
// env over it, the host's credentials over that, and the plan's PLUGIN_ROOT and
// PLUGIN_DATA last (AP §9.1). Names are compared as the platform does, and the
// result is in their order. A name or value that no environment can hold is an
// error, which does not quote the value.
func mergeEnviron(base []string, plan, credentials map[string]string, windows bool) ([]string, error) {
	type variable struct{ name, value string }
	all := map[string]variable{}
	set := func(of, name, value string) error {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("no environment can hold a variable of the name %s, which stands in %s", printable.Quote(name), of)
		}
		if strings.Contains(value, "\x00") {
			return fmt.Errorf("there is a NUL character in the value of %s, which stands in %s", printable.Quote(name), of)
		}
		all[envKey(name, windows)] = variable{name, value}
		return nil
	}
	for _, e := range base {
		if windows && strings.HasPrefix(e, "=") {
			continue // the current directory of a drive, which Windows keeps there
		}
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			return nil, errors.New("the base environment has an entry that is not NAME=value")
		}
		if err := set("the base environment", name, value); err != nil {
			return nil, err
		}
	}
	for _, layer := range []struct {
		of   string
		vars map[string]string
	}{{"the server's env", plan}, {"the credentials", credentials}} {
		for _, name := range slices.Sorted(maps.Keys(layer.vars)) {
			if err := set(layer.of, name, layer.vars[name]); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range []string{envRoot, envData} {
		if err := set("the server's env", name, plan[name]); err != nil {
			return nil, err
		}
	}
	out := make([]string, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key].name+"="+all[key].value)
	}
	return out, nil
}
