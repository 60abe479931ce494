package mcpclient

import (
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin/finding"
)

// [R2] Variables that load code are named, others are not.
func TestLoaderOf(t *testing.T) {
	for _, name := range strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME
		BASH_ENV ENV BASH_FUNC_ls%% PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
		GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT LUA_INIT LUA_PATH LUA_CPATH DOTNET_STARTUP_HOOKS CORECLR_PROFILER COMPlus_Foo
		npm_config_registry NPM_CONFIG_SCRIPT_SHELL PIP_INDEX_URL UV_INDEX_URL PATH GCONV_PATH PHPRC R_PROFILE_USER JULIA_LOAD_PATH ERL_LIBS
		OPENSSL_CONF GTK_MODULES QT_PLUGIN_PATH QML2_IMPORT_PATH GOFLAGS CARGO_HOME RUSTC_WRAPPER BUN_CONFIG_REGISTRY DENO_DIR SSH_ASKPASS EDITOR LESSOPEN ZDOTDIR PSModulePath COMSPEC`) {
		if loaderOf(name, false) == "" {
			t.Errorf("[R2] %s is not known", name)
		}
	}
	for _, name := range strings.Fields(`CONFIG API_KEY HOME LOG_LEVEL PORT DATABASE_URL ld_preload node_options LD_ NODE_ MYPATH PATHS ENVIRONMENT DEBUG LANG R GIT QMLIMPORT`) {
		if who := loaderOf(name, false); who != "" {
			t.Errorf("[R2] %s is taken for a variable of %s", name, who)
		}
	}
	for _, name := range []string{"Node_Options", "path", "psmodulepath", "complus_x", "dotnet_startup_hooks"} {
		if loaderOf(name, true) == "" {
			t.Errorf("[R2] %s is not known on Windows", name)
		}
	}
}

func TestLoaderFindings(t *testing.T) {
	list := loaderFindings("a/b\x1b", map[string]string{
		"NODE_OPTIONS": "--require=SECRET", "LD_PRELOAD": "SECRET", "CONFIG": "SECRET", "PLUGIN_ROOT": "/r", "GIT_\u202e": "SECRET"}, false)
	if len(list) != 3 {
		t.Fatal(list)
	}
	for i, want := range []string{"/mcpServers/a~1b\x1b/env/GIT_\u202e", "/mcpServers/a~1b\x1b/env/LD_PRELOAD", "/mcpServers/a~1b\x1b/env/NODE_OPTIONS"} {
		f := list[i]
		if f.Code != finding.LaunchEnvLoadsCode || f.Layer != finding.LayerPolicy || f.Severity != finding.SeverityWarning || f.Pointer != want || f.Subject != "a/b\x1b" || f.File != "mcp.json" {
			t.Errorf("[R2] finding %d: %+v", i, f)
		}
		if strings.Contains(f.String(), "SECRET") || strings.ContainsAny(f.Message, "\x1b\u202e") {
			t.Errorf("[R2] finding %d shows what it must not: %q", i, f)
		}
	}
	if list := loaderFindings("x", map[string]string{"PLUGIN_ROOT": "/r"}, false); list != nil {
		t.Error(list)
	}
}
