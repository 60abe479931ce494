package mcpclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

// loaderVars are the variables by which a program is made to load code, to take
// options that load code, or to start another program, by whose they are. A
// name that ends in * stands for all that begin so; npm reads its variables in
// any letter case.
var loaderVars = []struct {
	reader string
	names  []string
}{
	{"the search for programs", []string{"PATH", "PATHEXT", "COMSPEC"}},
	{"the dynamic loader and the C library", []string{"LD_*", "DYLD_*", "LIBPATH", "SHLIB_PATH", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "MALLOC_CONF"}},
	{"Node.js and its package managers", []string{"NODE_*", "npm_*", "YARN_*", "PNPM_*", "COREPACK_*", "ELECTRON_RUN_AS_NODE", "TS_NODE_*", "TSX_*"}},
	{"Bun and Deno", []string{"BUN_*", "DENO_*"}},
	{"Python and its package managers", []string{"PYTHON*", "PIP_*", "PIPX_*", "PIPENV_*", "POETRY_*", "UV_*", "VIRTUAL_ENV", "CONDA_*", "PYENV_*"}},
	{"shells", []string{"BASH_ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "ENV", "PROMPT_COMMAND", "PS4", "ZDOTDIR", "FPATH", "IFS", "KSH_ENV"}},
	{"PowerShell", []string{"PSModulePath", "POWERSHELL_*"}},
	{"Perl", []string{"PERL5OPT", "PERL5LIB", "PERL5DB", "PERL5SHELL", "PERLLIB", "PERL_*"}},
	{"Ruby", []string{"RUBYOPT", "RUBYLIB", "RUBYSHELL", "RUBYPATH", "GEM_*", "BUNDLE_*", "BUNDLER_*"}},
	{"Java", []string{"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "JAVA_HOME", "CLASSPATH", "MAVEN_*", "GRADLE_*", "SBT_OPTS", "JBANG_*"}},
	{".NET", []string{"DOTNET_*", "CORECLR_*", "COR_*", "COMPlus_*", "MONO_*", "NUGET_*"}},
	{"PHP", []string{"PHPRC", "PHP_*", "COMPOSER_*"}},
	{"Lua", []string{"LUA_*", "LUAJIT_*"}},
	{"Go", []string{"GOFLAGS", "GOENV", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOSUMDB", "GOROOT", "GOTOOLDIR", "GOTOOLCHAIN", "GOBIN", "CGO_*"}},
	{"Rust", []string{"CARGO_*", "RUSTC", "RUSTC_*", "RUSTFLAGS", "RUSTDOC*", "RUSTUP_*"}},
	{"R and Julia", []string{"R_*", "JULIA_*"}},
	{"Erlang and Elixir", []string{"ERL_*", "ELIXIR_*", "MIX_*", "HEX_*"}},
	{"Guile, Tcl and OCaml", []string{"GUILE_*", "TCLLIBPATH", "CAML_LD_LIBRARY_PATH", "CAMLLIB", "OCAMLLIB"}},
	{"awk", []string{"AWKPATH", "AWKLIBPATH"}},
	{"Git", []string{"GIT_*"}},
	{"programs that ask for a password or start another program", []string{"SSH_ASKPASS", "SUDO_ASKPASS", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "MAKEFLAGS", "CMAKE_*"}},
	{"editors", []string{"VIMINIT", "GVIMINIT", "EXINIT", "EMACSLOADPATH"}},
	{"OpenSSL", []string{"OPENSSL_*"}},
	{"graphics and desktop libraries", []string{"GTK_MODULES", "GTK_PATH", "GTK_EXE_PREFIX", "GIO_MODULE_DIR", "GIO_EXTRA_MODULES", "GDK_PIXBUF_*", "GST_*", "QT_PLUGIN_PATH", "QT_QPA_*", "QML*_IMPORT_PATH", "LIBGL_DRIVERS_PATH", "VK_*"}},
	{"other libraries that load modules", []string{"SASL_PATH", "KRB5_CONFIG", "ODBCINI", "ODBCSYSINI", "P11_KIT_*", "PKCS11_*"}},
}

// loaderOf returns who takes code or options from a variable, or "".
func loaderOf(name string, windows bool) string {
	key := envKey(name, windows)
	for _, l := range loaderVars {
		for _, known := range l.names {
			got := key
			if prefix, rest, ok := strings.Cut(known, "*"); ok {
				if strings.EqualFold(known, "npm_*") {
					got = strings.ToLower(name)
				} else {
					prefix = envKey(prefix, windows)
				}
				if strings.HasPrefix(got, prefix) && len(got) > len(prefix) && strings.HasSuffix(got[len(prefix):], envKey(rest, windows)) {
					return l.reader
				}
			} else if got == envKey(known, windows) {
				return l.reader
			}
		}
	}
	return ""
}

// loaderFindings names what in a plan's env loads code into the server or what
// it starts. It never quotes a value.
func loaderFindings(server string, env map[string]string, windows bool) finding.List {
	var list finding.List
	for _, name := range slices.Sorted(maps.Keys(env)) {
		reader := loaderOf(name, windows)
		if reader == "" {
			continue
		}
		list = append(list, finding.New(finding.LaunchEnvLoadsCode, finding.Place{
			Subject: server,
			File:    "mcp.json",
			Pointer: "/mcpServers" + strictjson.Pointer(server) + "/env" + strictjson.Pointer(name),
		}, fmt.Sprintf("env sets %s, by which %s can be made to load or start code: look at its value before you allow the server", printable.Quote(name), reader)))
	}
	return list
}
