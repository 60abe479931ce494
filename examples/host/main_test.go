package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// TestMain makes the test binary the three programs that the example is, and a small
// agent for -agent.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("HOST_TEST") == "program", slices.ContainsFunc(os.Args[1:min(2, len(os.Args))], isWord):
		main()
	case len(os.Args) == 3 && os.Args[1] == "small-agent":
		if err := smallAgent(os.Args[2]); err != nil {
			fmt.Println("small agent:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func isWord(arg string) bool { return arg == "serve" || arg == "agent" }

// smallAgent is a program of somebody else's. It asks a question, copies its
// configuration to a file, and leaves a summary.
func smallAgent(copyTo string) error {
	ctx := context.Background()
	config, err := os.ReadFile(os.Getenv("PLUGBERTH_MCP_CONFIG"))
	if err != nil {
		return err
	}
	here, err := os.ReadFile(".mcp.json")
	if err != nil || !bytes.Equal(here, config) {
		return fmt.Errorf("the workspace has another configuration: %w", err)
	}
	if err := os.WriteFile(copyTo+os.Getenv("PLUGBERTH_TURN"), config, 0o600); err != nil {
		return err
	}
	skill, err := filepath.Glob(".agents/skills/*/SKILL.md")
	if err != nil {
		return err
	}
	a := &agent{in: nil, out: io.Discard}
	if err := a.connect(ctx, os.Getenv("PLUGBERTH_MCP_CONFIG")); err != nil {
		return err
	}
	defer a.session.Close()
	ask := func(tool string, arguments args) (*mcp.CallToolResult, error) {
		return a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	}
	answer, err := ask("ask_user", args{"question": "Ready?\x1b[2J", "choices": []string{"yes", "no"}})
	if err != nil {
		return err
	}
	state := answer.StructuredContent.(map[string]any)
	fmt.Printf("small agent: %v %v, %d skill\n", state["status"], state["answer"], len(skill))
	if state["status"] == "blocked" {
		return nil
	}
	if _, err := ask("record_progress", args{"text": "half\u202e"}); err != nil {
		return err
	}
	_, err = ask("report_summary", args{"summary": "All\x07 done."})
	return err
}

// result is what the program did.
type result struct {
	status         int
	stdout, stderr string
}

// tellStory runs the program as a user does, and looks for what it left behind.
func tellStory(t *testing.T, stdin string, arguments ...string) result {
	t.Helper()
	temp := ownTemp(t)
	before := goleak.IgnoreCurrent()
	var out, errs bytes.Buffer
	status := run(t.Context(), arguments, strings.NewReader(stdin), &out, &errs)
	nothingLeft(t, temp)
	goleak.VerifyNone(t, before)
	if strings.Contains(out.String(), "\x1b") || strings.ContainsAny(out.String(), "\x07\u202e") {
		t.Errorf("what others sent is shown as it is: %q", out.String())
	}
	if token := regexp.MustCompile(`plugberth_[^*]{8,}|Bearer`).FindString(out.String() + errs.String()); token != "" {
		t.Errorf("a token is shown: %s", token)
	}
	return result{status, out.String(), errs.String()}
}

// ownTemp gives the test and its programs a directory for temporary files.
func ownTemp(t *testing.T) string {
	t.Helper()
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	return temp
}

func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	// On Linux. All that is started has the directory in its arguments, or the path of
	// the configuration in its environment.
	processes, err := filepath.Glob("/proc/[0-9]*/[ce][mn][dv]*")
	if err != nil {
		t.Error(err)
	}
	for _, name := range processes {
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte(temp)) {
			t.Errorf("a process is left: %s %q", name, text)
		}
	}
}

// inOrder looks for texts one after the other.
func inOrder(t *testing.T, text string, wants ...string) {
	t.Helper()
	rest := text
	for _, want := range wants {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing, or not where it belongs, in\n%s", want, text)
		}
		rest = after
	}
}

// TestStory: the program as the README has it. The agent uses a server's tool and a
// skill through the same catalog, and its token ends with its turn. [K8] [H3] [T5]
func TestStory(t *testing.T) {
	got := tellStory(t, "")
	if got.status != statusOK || got.stderr != "" {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	inOrder(t, got.stdout,
		"Three processes",
		"host    loads release-desk 1.2.0: Release notes the way the checkout team writes them.\n",
		"  skill release-notes, stdio server changes; no findings\n",
		"host    release-desk/changes wants to start …", "changes.json\n",
		"with the variables NOTES, PLUGIN_DATA, PLUGIN_ROOT; plan sha256:",
		"user    yes: this demo consents by itself",
		"plugin  release-desk/changes is connected (MCP ", "with 2 tools: merged_changes, save_notes\n",
		"host    serves http://127.0.0.1:", "/mcp, with 4 tools",
		"host    mints a token",
		"agent   reads that file, connects over HTTP, and finds 8 tools\n",
		"agent   → load_skill {\"name\":\"release-notes\"}\n",
		"agent   ← # Release notes",
		"agent   → read_skill_resource",
		"agent   ← # Style",
		"agent   → mcp__release-desk__changes__merged_changes {}\n",
		"plugin  release-desk/changes answers merged_changes (result, ",
		"agent   ← 4 changes for 2.4.0\n",
		"agent   → record_progress",
		"agent   → spawn_subtask",
		"agent   ← The subtask was created.",
		"agent   → ask_user",
		"host    asks the user, while the call waits: Change 418",
		"user    first (a script answers",
		"agent   ← first\n",
		"agent   → mcp__release-desk__changes__save_notes",
		"plugin  release-desk/changes answers save_notes",
		"agent   ← Saved as 2.4.0.md, 6 lines.\n",
		"agent   → report_summary",
		"host    revokes the token", "gets 401 Unauthorized\n",
		"host    progress: 40 %",
		"host    subtask-1, to be run: Check the upgrade guide\n",
		"host    summary: The notes of 2.4.0 are saved, with 4 changes; 418 stands first.\n",
		"host    data of release-desk", filepath.Join("notes", "2.4.0.md"),
		"nothing is left\n",
		"\nNext: -ask",
	)
	if n := strings.Count(got.stdout, "\n"); n > 45 {
		t.Errorf("%d lines are too many to read", n)
	}
}

// TestResume: the question is recorded, and a second process gets the answer. The
// user's answer counts. [H2] [T5]
func TestResume(t *testing.T) {
	got := tellStory(t, "3\nperhaps\n\n2\n", "-resume", "-ask")
	if got.status != statusOK || got.stderr != "" {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	inOrder(t, got.stdout,
		"mints a token for turn 1",
		"agent   → ask_user",
		"agent   ← Your question has been recorded",
		"agent   ends its turn\n",
		"revokes the token", "401 Unauthorized",
		"host    asks the user, now or next week: Change 418",
		"user    1  first\n", "user    2  last\n",
		"user    answer with a number", "user    answer with a number", "user    answer with a number", "user    answer with a number",
		"mints a token for turn 2",
		"agent   reads that file",
		"agent   → ask_user",
		"agent   ← last\n",
		"agent   ← Saved as 2.4.0.md",
		"revokes the token", "401 Unauthorized",
		"418 stands last.\n",
		"nothing is left\n",
	)
	if n := strings.Count(got.stdout, "→ spawn_subtask"); n != 1 {
		t.Errorf("%d subtasks were asked for", n)
	}
}

// TestNobodyAnswers: without an answer the question waits, and the program ends.
func TestNobodyAnswers(t *testing.T) {
	for _, arguments := range [][]string{{"-ask"}, {"-ask", "-resume"}} {
		got := tellStory(t, "", arguments...)
		if got.status != statusOK || got.stderr != "" {
			t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
		}
		inOrder(t, got.stdout,
			"user    no answer: standard input has ended\n",
			"a question still waits for its answer: Change 418",
			"nothing is left\n")
		if strings.Contains(got.stdout, "summary:") {
			t.Error("there is a summary without an answer")
		}
	}
}

// write makes a package of these files.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	schemas  = "https://agent-plugins.org/schemas/1.0.0/"
	manifest = `{"$schema": "` + schemas + `plugin.schema.json", "name": %q}`
	triage   = "---\nname: triage\ndescription: Sorts what came in.\n---\n# Triage\n"
)

// skillAlone writes a package that starts nothing.
func skillAlone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"plugin.json":            fmt.Sprintf(manifest, "triage"),
		"skills/triage/SKILL.md": triage,
	})
	return dir
}

// tracker writes a package with a program, a skill and a remote server, beside one
// that is rejected, and returns the directory of both.
func tracker(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	program := "changes"
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	servers, err := json.Marshal(map[string]any{
		"$schema": schemas + "mcp.schema.json",
		"mcpServers": map[string]any{
			"local":  map[string]any{"type": "stdio", "command": "./bin/" + program, "args": []string{"serve", "${PLUGIN_ROOT}/changes.json"}},
			"remote": map[string]any{"type": "streamable-http", "url": url},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := demoFiles.ReadFile("demo/changes.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		"tracker/plugin.json":            fmt.Sprintf(manifest, "tracker"),
		"tracker/mcp.json":               string(servers),
		"tracker/changes.json":           string(changes),
		"tracker/skills/triage/SKILL.md": triage,
		"broken/plugin.json":             `{"name": "Broken"}`,
		".git/HEAD":                      "ref: refs/heads/main\n",
	})
	if err := copySelf(filepath.Join(dir, "tracker", "bin"), program); err != nil {
		t.Fatal(err)
	}
	return dir
}

// remoteServer is an MCP server that wants a key and has tools of three kinds.
func remoteServer(t *testing.T) (url string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "remote", Version: "1"}, nil)
	object := json.RawMessage(`{"type": "object"}`)
	answer := func(text string) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("%s", text), nil }
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for i := range 4 {
		server.AddTool(&mcp.Tool{Name: fmt.Sprint("status", i), InputSchema: object, Annotations: reads}, answer("fine\x1b[31m\u202e"))
	}
	server.AddTool(&mcp.Tool{Name: "wipe", InputSchema: object}, answer("wiped"))
	server.AddTool(&mcp.Tool{Name: "find", Annotations: reads, InputSchema: json.RawMessage(`{"type": "object", "required": ["text"]}`)}, answer("found"))
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Key") != "very secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, req)
	}))
	t.Cleanup(web.Close)
	return web.URL + "/mcp"
}

// TestPlugins: packages on disk, one of them broken, with a credential for a remote
// server and consent for a program. What may change something is not called.
func TestPlugins(t *testing.T) {
	url := remoteServer(t)
	dir := tracker(t, url)
	secrets := filepath.Join(t.TempDir(), "credentials.json")
	text := `{"tracker/remote": {"origin": "` + strings.TrimSuffix(url, "/mcp") + `", "headers": {"X-Key": "very secret"}},
		"tracker/remot": {"headers": {"X-Key": "no"}}}`
	if err := os.WriteFile(secrets, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tellStory(t, "", "-plugins", dir, "-plugins", filepath.Join(dir, "tracker"), "-allow-stdio", "-credentials", secrets)
	if got.status != statusOK || got.stderr != "" {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	inOrder(t, got.stdout,
		"host    rejects ", "broken: plugin.json:1:1: error: $schema is missing",
		"host    loads tracker", "skill triage, stdio server local, streamable-http server remote",
		"another package has its name, tracker\n",
		"has credentials for tracker/remot, which is no remote server here\n",
		"tracker/local wants to start ", "user    yes: -allow-stdio was given\n",
		"plugin  tracker/local is connected", "2 tools: merged_changes, save_notes\n",
		"plugin  tracker/remote is connected", "6 tools: ",
		"agent   → load_skill {\"name\":\"triage\"}\n",
		"agent   → mcp__tracker__local__merged_changes {}\n",
		"agent   ← 4 changes for 2.4.0\n",
		"agent   → mcp__tracker__remote__status0 {}\n",
		"agent   ← fine",
		"leaves out 2 tools, as each may change something\n",
		"leaves out 1 tool, as each needs arguments\n",
		"leaves out 2 tools, as each would be one more of the kind\n",
		"progress: 50 %, loaded the skill triage, called 3 tools\n",
		"nothing is left\n",
	)
	if strings.Contains(got.stdout, "secret") || strings.Contains(got.stdout, ".git") {
		t.Errorf("it tells too much:\n%s", got.stdout)
	}
}

// TestPluginsRefused: without consent and credentials there are the skills still.
func TestPluginsRefused(t *testing.T) {
	dir := tracker(t, remoteServer(t))
	got := tellStory(t, "", "-plugins", filepath.Join(dir, "tracker"))
	if got.status != statusOK || got.stderr != "" {
		t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	inOrder(t, got.stdout,
		"user    no: -allow-stdio was not given\n",
		"plugin  tracker/local is not connected (disabled): ", "not given\n",
		"plugin  tracker/remote is not connected (failed): ", "401",
		"agent   → load_skill {\"name\":\"triage\"}\n",
		"called no tools\n",
	)
}

// smallAgentCommand is a line for the shell.
func smallAgentCommand(t *testing.T, copyTo string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`"%s" small-agent "%s"`, self, copyTo)
}

// TestAgent: a program of somebody else's, with a user at standard input, who
// answers while it waits or later. The token is in the configuration, and nowhere
// else. [T7]
func TestAgent(t *testing.T) {
	for _, mode := range []struct {
		flags []string
		turns int
		wants []string
	}{
		{nil, 1, []string{
			"host    asks the user, while the call waits: Ready?\\x1b[2J\n", "user    1  yes\n", "or with a line of your own:\n",
			"agent   → ask_user: ok\n", "agent   → record_progress: ok\n", "agent   → report_summary: ok\n",
		}},
		{[]string{"-resume"}, 2, []string{
			"agent   → ask_user: blocked\n", "host    asks the user, now or next week: Ready?\\x1b[2J\n",
			"turn 2", "agent   → report_summary: ok\n",
		}},
	} {
		copyTo := filepath.Join(t.TempDir(), "config")
		got := tellStory(t, "perhaps\n", append(mode.flags, "-agent", smallAgentCommand(t, copyTo))...)
		if got.status != statusOK || got.stderr != "" {
			t.Fatalf("status %d: %s%s", got.status, got.stdout, got.stderr)
		}
		inOrder(t, got.stdout, append(mode.wants, "progress: half\\u202e\n", "summary: All\\a done.\n", "nothing is left\n")...)
		// Two programs write here at a time, so this has no place in the order.
		if !strings.Contains(got.stdout, "small agent: answered perhaps, 1 skill\n") {
			t.Errorf("what the agent printed is missing:\n%s", got.stdout)
		}
		tokens := map[string]bool{}
		for turn := range mode.turns {
			text, err := os.ReadFile(copyTo + fmt.Sprint(turn+1))
			if err != nil {
				t.Fatal(err)
			}
			token := regexp.MustCompile(`Bearer ([^"]+)`).FindSubmatch(text)
			if token == nil || strings.Contains(got.stdout, string(token[1])) {
				t.Errorf("the token of turn %d is missing or shown", turn+1)
				continue
			}
			tokens[string(token[1])] = true
		}
		if len(tokens) != mode.turns {
			t.Errorf("%d tokens for %d turns", len(tokens), mode.turns)
		}
	}
}

// TestAgentFails: the host tells what it has all the same.
func TestAgentFails(t *testing.T) {
	got := tellStory(t, "", "-plugins", skillAlone(t), "-agent", "exit 7")
	if got.status != statusFailed || !strings.Contains(got.stderr, "the agent failed: exit status 7") {
		t.Errorf("status %d: %s", got.status, got.stderr)
	}
	inOrder(t, got.stdout, "The host keeps what came of it", "nothing is left\n")
}

// TestUsage: what cannot be done is said, with status 2, and nothing is started.
func TestUsage(t *testing.T) {
	temp := t.TempDir()
	open := filepath.Join(temp, "open.json")
	if err := os.WriteFile(open, []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(temp, "wrong.json")
	if err := os.WriteFile(wrong, []byte(`{"a/b": "top secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := [][]string{
		{"extra"}, {"-nonsense"}, {"-credentials", wrong}, {"-credentials", temp}, {"-credentials", filepath.Join(temp, "gone")},
		{"-plugins", filepath.Join(temp, "gone")}, {"-plugins", t.TempDir()},
	}
	if runtime.GOOS != "windows" {
		cases = append(cases, []string{"-credentials", open})
	}
	for _, arguments := range cases {
		got := tellStory(t, "", arguments...)
		if got.status != statusUnable || got.stderr == "" || strings.Contains(got.stderr, "secret") {
			t.Errorf("%q: status %d, %q", arguments, got.status, got.stderr)
		}
	}
	got := tellStory(t, "", "-h")
	if got.status != statusOK || got.stdout != "" || !strings.Contains(got.stderr, "usage: host") {
		t.Errorf("-h: status %d, %q", got.status, got.stderr)
	}
}

// TestOutputFails: a story that nobody can read is not told to its end in silence.
func TestOutputFails(t *testing.T) {
	packages := skillAlone(t)
	temp := ownTemp(t)
	var errs bytes.Buffer
	full := errors.New("no room")
	if status := run(t.Context(), []string{"-plugins", packages}, strings.NewReader(""), failing{full}, &errs); status != statusUnable || !strings.Contains(errs.String(), "no room") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	nothingLeft(t, temp)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestShown: in what a person consents to, one argument does not pass for two.
func TestShown(t *testing.T) {
	for word, want := range map[string]string{
		"serve": "serve", "--a=b": "--a=b", `C:\bin\server.exe`: `C:\bin\server.exe`,
		"": `""`, "a b": `"a b"`, "a\u00a0b": `"a\u00a0b"`, "a\nb": `"a\nb"`, `a"`: `"a\""`, "it's": `"it's"`,
	} {
		if got := shown(word); got != want {
			t.Errorf("%q is shown as %s, want %s", word, got, want)
		}
	}
}
