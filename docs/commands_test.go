package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// runVariable is the environment variable by which TestCommandsRun runs; .ci/run
// sets it.
const runVariable = "PLUGBERTH_DOCS"

// A special command of the pages is not simply run to its end. All others are, by
// TestCommandsRun.
type special struct {
	prefix string // of the command
	how    how
	input  string // standard input, where the command waits for some
	why    string
}

type how int

const (
	elsewhere how = iota // it is run by .ci/run or by a test, and not again here
	serves               // it is ended once it has printed a line, and has to be the last of its block
	asks                 // it gets the input, and has to be the only one of its block
)

var specials = []special{
	{".ci/run", elsewhere, "", "it runs these commands"},
	{"go test ./...", elsewhere, "", "a step of .ci/run"},
	{"go test -race ./...", elsewhere, "", "a step of .ci/run"},
	{"go vet ./...", elsewhere, "", "a step of .ci/run"},
	{"go run ./examples/taskserver", serves, "", "it serves until it is stopped"},
	{"go run ./examples/host -ask", asks, "1\n", "it asks the user"},
}

// specialOf returns what is special about a command.
func specialOf(command string) (special, bool) {
	for _, s := range specials {
		if command == s.prefix || strings.HasPrefix(command, s.prefix+" ") {
			return s, true
		}
	}
	return special{}, false
}

// rewrites put the source at hand in the place of a release, since the pages are
// checked before it is made. $BIN is a directory with the examples, $SOURCE the
// repository.
var rewrites = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\bgo run ` + modulePath + `/examples/(\w+)@(?:latest|v[\w.-]+)`), `"$$BIN/$1"`},
	{regexp.MustCompile(`\bgo install ` + modulePath + `/examples/(\w+)@(?:latest|v[\w.-]+)`), `cp "$$BIN/$1" "$$GOBIN/"`},
	{regexp.MustCompile(`\bgo get -tool ` + modulePath + `/examples/(\w+)@(?:latest|v[\w.-]+)`), `go get -tool ./examples/$1`},
	{regexp.MustCompile(`\bgit clone https://` + modulePath + `(?:\.git)?`), `cp -R "$$SOURCE" plugberth`},
}

// rewrite returns a script that runs against the source at hand.
func rewrite(script string) string {
	for _, r := range rewrites {
		script = r.from.ReplaceAllString(script, r.to)
	}
	return script
}

// shellBlocks returns the blocks of a page that a reader types into a shell.
func (p *page) shellBlocks() []block {
	var out []block
	for _, b := range p.blocks {
		if b.language == "sh" {
			out = append(out, b)
		}
	}
	return out
}

// commands returns the lines of a block, those that go on joined.
func (b block) commands() []string {
	var out []string
	joined := strings.ReplaceAll(strings.Join(b.lines, "\n"), "\\\n", " ")
	for line := range strings.SplitSeq(joined, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// simple splits a line of a shell into its commands and these into words, quotes
// taken off. It knows as much of a shell as the pages need.
func simple(line string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	quote, inWord := byte(0), false
	endWord := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
scan:
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			endWord()
		case c == '|' || c == ';' || c == '&':
			endCommand()
		case c == '#' && !inWord:
			break scan
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endCommand()
	return out
}

// A commandCheck judges commands without running them.
type commandCheck struct {
	commands map[string]map[string]bool // the flags of each, by directory
	tests    map[string]map[string]bool // the flags that tests define, by directory
	funcs    map[string][]string        // the functions of tests, by directory
}

// newCommandCheck reads what commands may name.
var newCommandCheck = sync.OnceValues(func() (commandCheck, error) {
	c := commandCheck{map[string]map[string]bool{}, map[string]map[string]bool{}, map[string][]string{}}
	files, err := goFiles()
	for _, f := range files {
		test := strings.HasSuffix(f.path, "_test.go")
		if !test && !strings.HasPrefix(f.path, "examples/") && !strings.HasPrefix(f.path, "internal/mcpconformance/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
		if err != nil {
			return c, err
		}
		dir := path.Dir(f.path)
		into := c.commands
		if test {
			into = c.tests
		} else if file.Name.Name != "main" {
			continue
		}
		if into[dir] == nil {
			into[dir] = map[string]bool{}
		}
		for _, name := range definedFlags(file) {
			into[dir][name] = true
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && test && fn.Recv == nil {
				c.funcs[dir] = append(c.funcs[dir], fn.Name.Name)
			}
		}
	}
	return c, err
})

// commandsKnown is newCommandCheck for a test.
func commandsKnown(t *testing.T) commandCheck {
	t.Helper()
	c, err := newCommandCheck()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// definedFlags returns the names of the flags that a file defines with package
// flag, by itself or through functions of its own that take the name first.
func definedFlags(file *ast.File) []string {
	var out []string
	through := map[string]bool{} // such functions
	for range 2 {                // they stand before what they are called by, or after
		out = nil
		ast.Inspect(file, func(n ast.Node) bool {
			if assigned, ok := n.(*ast.AssignStmt); ok && len(assigned.Lhs) == 1 {
				name, isName := assigned.Lhs[0].(*ast.Ident)
				if fn, ok := assigned.Rhs[0].(*ast.FuncLit); ok && isName && definesItsFirst(fn) {
					through[name.Name] = true
				}
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := flagArgument(call)
			if fn, ok := call.Fun.(*ast.Ident); ok && through[fn.Name] && len(call.Args) > 0 {
				name = call.Args[0]
			}
			if literal, ok := name.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					out = append(out, text)
				}
			}
			return true
		})
	}
	return out
}

// flagArgument returns the argument of a call of package flag, or of a FlagSet,
// that names the flag, or nil.
func flagArgument(call *ast.CallExpr) ast.Expr {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	kind, variable := strings.CutSuffix(method.Sel.Name, "Var")
	if !slices.Contains([]string{"", "Bool", "BoolFunc", "Duration", "Float64", "Func", "Int", "Int64", "String", "Text", "Uint", "Uint64"}, kind) {
		return nil
	}
	at := 0
	if variable {
		at = 1 // the variable comes before the name
	}
	if len(call.Args) < at+2 {
		return nil
	}
	return call.Args[at]
}

// definesItsFirst reports whether a function defines the flag that its first
// argument names.
func definesItsFirst(fn *ast.FuncLit) bool {
	if len(fn.Type.Params.List) == 0 {
		return false
	}
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name, isName := flagArgument(call).(*ast.Ident)
			found = found || isName && name.Name == fn.Type.Params.List[0].Names[0].Name
		}
		return true
	})
	return found
}

var (
	assignment    = regexp.MustCompile(`^\w+=`)
	shellVariable = regexp.MustCompile(`\$\w`)
	goCommand     = regexp.MustCompile(`^(?:\w+=\S* )*go (?:run|test) `) // with variables before it or not
)

// exists reports whether a path of the repository is there.
func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// judge returns what is wrong with a line of a shell, as far as it is about this
// repository.
func (c commandCheck) judge(line string) []string {
	var out []string
	for _, words := range simple(line) {
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		for _, word := range words {
			if name := repositoryPath(word); name != "" && !exists(name) && !exists("fixtures/corpus/"+name+".txtar") {
				out = append(out, "there is no "+name)
			}
		}
		if words[0] != "go" || len(words) < 2 {
			continue
		}
		switch words[1] {
		case "run":
			out = append(out, c.goRun(words[2:])...)
		case "test":
			out = append(out, c.goTest(words[2:])...)
		}
	}
	return out
}

// repositoryPath returns the path of the repository that a word is, or "".
func repositoryPath(word string) string {
	name := strings.TrimPrefix(word, "./")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "..."), "/")
	first, _, deeper := strings.Cut(name, "/")
	if first == "" || strings.Trim(name, ".") == "" || !deeper && name == word || !exists(first) {
		return ""
	}
	return name
}

// packageDir returns the directory of the repository that a package argument
// names, "" where it names none.
func packageDir(word string) string {
	if name, ok := strings.CutPrefix(word, "./"); ok {
		return path.Clean(strings.TrimSuffix(name, "..."))
	}
	if name, ok := strings.CutPrefix(word, modulePath+"/"); ok {
		name, _, _ = strings.Cut(name, "@")
		return name
	}
	return ""
}

// covers reports whether a package argument means a directory.
func covers(argument, dir string) bool {
	of := packageDir(argument)
	return of == dir || strings.HasSuffix(argument, "/...") && (of == "." || strings.HasPrefix(dir, of+"/"))
}

// goRun judges go run: the command is there, and so are its flags.
func (c commandCheck) goRun(words []string) []string {
	if len(words) == 0 {
		return []string{"go run of nothing"}
	}
	if strings.Contains(words[0], "@") && !strings.HasPrefix(words[0], modulePath) {
		return nil // another module's
	}
	dir := packageDir(words[0])
	flags, ok := c.commands[dir]
	if dir == "" || !ok {
		return []string{fmt.Sprintf("%s is no command of the repository", words[0])}
	}
	var out []string
	for _, word := range words[1:] {
		if name := flagName(word); name != "" && !flags[name] {
			out = append(out, fmt.Sprintf("%s has no flag -%s", dir, name))
		}
	}
	return out
}

// flagName is the name of the flag that a word begins, or "".
func flagName(word string) string {
	name, ok := strings.CutPrefix(word, "-")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	if !regexp.MustCompile(`^[a-z][a-z0-9.-]*$`).MatchString(name) {
		return ""
	}
	return name
}

// testFlags are those of go test that pages may name, with whether a value
// follows.
var testFlags = map[string]bool{
	"v": false, "race": false, "short": false, "benchmem": false, "json": false, "cover": false, "failfast": false,
	"run": true, "bench": true, "fuzz": true, "fuzztime": true, "fuzzminimizetime": true,
	"count": true, "timeout": true, "parallel": true, "cpu": true, "list": true, "shuffle": true, "benchtime": true, "cpuprofile": true, "memprofile": true,
}

// goTest judges go test: the packages are there, what is to be run is in one of
// them, and flags are those of go test or of the tests.
func (c commandCheck) goTest(words []string) []string {
	var out, packages, own []string
	patterns := map[string]string{}
	for i := 0; i < len(words); i++ {
		if dir := packageDir(words[i]); dir != "" {
			if !exists(dir) {
				out = append(out, fmt.Sprintf("there is no package %s", words[i]))
			}
			packages = append(packages, words[i])
			continue
		}
		name := flagName(words[i])
		if name == "" {
			continue
		}
		value, known := testFlags[name]
		if !known {
			own = append(own, name)
			continue
		}
		if _, text, ok := strings.Cut(words[i], "="); ok {
			patterns[name] = text
		} else if value && i+1 < len(words) {
			i++
			patterns[name] = words[i]
		}
	}
	within := func(dir string) bool {
		return slices.ContainsFunc(packages, func(p string) bool { return covers(p, dir) })
	}
	for _, name := range own {
		found := false
		for dir, flags := range c.tests {
			found = found || within(dir) && flags[name]
		}
		if !found {
			out = append(out, fmt.Sprintf("no test of %q has a flag -%s", packages, name))
		}
	}
	for flag, prefix := range map[string]string{"run": "", "bench": "Benchmark", "fuzz": "Fuzz"} {
		pattern, ok := patterns[flag]
		if !ok || pattern == "xxx" || pattern == "^$" || shellVariable.MatchString(pattern) {
			continue // nothing is to be run, or what only the shell knows
		}
		first, _, _ := strings.Cut(pattern, "/") // before subtests
		form, err := regexp.Compile(first)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		found := false
		for dir, names := range c.funcs {
			found = found || within(dir) && slices.ContainsFunc(names, func(name string) bool {
				return strings.HasPrefix(name, prefix) && form.MatchString(name)
			})
		}
		if !found {
			out = append(out, fmt.Sprintf("-%s %s finds nothing in %q", flag, pattern, packages))
		}
	}
	return out
}

// TestCommands: the commands of the pages, in blocks and in the prose, name
// commands, tests, files and flags that are there, and a shell can read them.
// That they work is for TestCommandsRun.
func TestCommands(t *testing.T) {
	check := commandsKnown(t)
	shell, shellErr := exec.LookPath("sh")
	count := 0
	for _, p := range markdownFiles(t) {
		for _, b := range p.shellBlocks() {
			if shellErr == nil {
				cmd := exec.CommandContext(t.Context(), shell, "-n")
				cmd.Stdin = strings.NewReader(strings.Join(b.lines, "\n") + "\n")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", b.where(), err, out)
				}
			}
			commands := b.commands()
			for i, line := range commands {
				count++
				for _, problem := range check.judge(line) {
					t.Errorf("%s: %s: %s", b.where(), line, problem)
				}
				if strings.Contains(rewrite(line), modulePath) {
					t.Errorf("%s: %s: there is no row in rewrites that puts the source at hand in the place of the module", b.where(), line)
				}
				switch s, ok := specialOf(line); {
				case ok && s.how == serves && i < len(commands)-1:
					t.Errorf("%s: %s: it serves, and has to be the last of its block", b.where(), line)
				case ok && s.how == asks && len(commands) > 1:
					t.Errorf("%s: %s: it asks, and has to be the only one of its block", b.where(), line)
				}
			}
		}
		for _, b := range p.blocks {
			switch b.language {
			case "bash", "shell", "console", "zsh":
				t.Errorf("%s: a block that is typed into a shell is called sh, so that it is run", b.where())
			case "", "text": // not run, for what a reader has to fill in
				for _, line := range b.commands() {
					if goCommand.MatchString(line) {
						for _, problem := range check.judge(line) {
							t.Errorf("%s: %s: %s", b.where(), line, problem)
						}
					}
				}
			}
		}
		for _, span := range p.spans() {
			if text := strings.ReplaceAll(span.text, "\n", " "); goCommand.MatchString(text) {
				count++
				for _, problem := range check.judge(text) {
					t.Errorf("%s:%d: %s: %s", p.path, span.number, text, problem)
				}
			}
		}
	}
	if count == 0 {
		t.Fatal("no command was looked at")
	}
}

var (
	variable = regexp.MustCompile(`\bPLUGBERTH_[A-Z0-9_]+`)
	lookup   = regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\("(PLUGBERTH_[A-Z0-9_]+)"\)`)
)

// TestVariables: the environment variables of the project that the pages name are
// those of its code, and what can be set for tests stands in docs/contributing.md.
func TestVariables(t *testing.T) {
	known, asked := map[string]bool{}, map[string]bool{runVariable: true}
	var programs strings.Builder
	for _, f := range allGoFiles(t) {
		for _, name := range variable.FindAllString(f.text, -1) {
			known[name] = true
		}
		if !strings.HasSuffix(f.path, "_test.go") {
			programs.WriteString(f.text)
			continue
		}
		for _, m := range lookup.FindAllStringSubmatch(f.text, -1) {
			asked[m[1]] = true
		}
	}
	for name := range asked {
		if strings.Contains(programs.String(), name) {
			delete(asked, name) // a program sets it, or says what it is for
		}
	}
	for _, p := range markdownFiles(t) {
		var text strings.Builder
		for _, line := range p.prose {
			text.WriteString(line.text + "\n")
		}
		for _, b := range p.blocks {
			text.WriteString(strings.Join(b.lines, "\n") + "\n")
		}
		for _, name := range variable.FindAllString(text.String(), -1) {
			if !known[name] {
				t.Errorf("%s: nothing knows %s", p.path, name)
			}
			if p.path == "docs/contributing.md" {
				delete(asked, name)
			}
		}
	}
	for name := range asked {
		t.Errorf("docs/contributing.md does not say what %s is for", name)
	}
}

var namedFlag = regexp.MustCompile(`(?:^|[\s\[(|"'])-([a-z][a-z0-9-]*)`)

// TestUsage: the comment of an example names all its flags, and none that no
// example has.
func TestUsage(t *testing.T) {
	check := commandsKnown(t)
	all := map[string]bool{}
	for dir, flags := range check.commands {
		if strings.HasPrefix(dir, "examples/") {
			for name := range flags {
				all[name] = true
			}
		}
	}
	for _, f := range allGoFiles(t) {
		dir := path.Dir(f.path)
		if path.Base(f.path) != "main.go" || !strings.HasPrefix(dir, "examples/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, m := range namedFlag.FindAllStringSubmatch(file.Doc.Text(), -1) {
			named[m[1]] = true
			if !all[m[1]] {
				t.Errorf("%s: no example has a flag -%s", f.path, m[1])
			}
		}
		for name := range check.commands[dir] {
			if !named[name] {
				t.Errorf("%s: the comment does not name -%s", f.path, name)
			}
		}
	}
}

func TestJudgeCommands(t *testing.T) {
	check := commandsKnown(t)
	for _, tt := range []struct{ line, want string }{
		{"go run ./examples/inspect -json -data DIR examples/inspect/testdata/demo | head -3", ""},
		{"go run " + modulePath + "/examples/inspect@latest -json .", ""},
		{"git clone https://" + modulePath, ""},
		{"go test ./... # all of them -nothing", ""},
		{"GOFLAGS=-v go test -run xxx -bench Swap ./mcpserver", ""},
		{"go test ./plugin/finding -run Document -update", ""},
		{"go test -fuzz=FuzzParse -fuzztime 5s ./skills", ""},
		{"cat 'no such' ./new-file", ""},
		{"go run ./examples/nothing", "no command"},
		{"go run ./plugin", "no command"},
		{"true && go run ./examples/inspect -jason .", "no flag -jason"},
		{"go run ./examples/inspect examples/inspect/testdata/nothing", "there is no examples/inspect/testdata/nothing"},
		{"go test ./plugins", "no package"},
		{"go test ./plugin -update", "no test"},
		{"go test -bench Nothing ./mcpserver", "finds nothing"},
		{"go test -run 'NoSuchTest/here' ./...", "finds nothing"},
		{"go test -run '(' ./...", "missing closing"},
		{"go run golang.org/x/vuln/cmd/govulncheck@latest ./...", ""}, // another module's
		{"go test -fuzz \"^$target$\" ./plugin", ""},                  // what a shell fills in
	} {
		got := strings.Join(check.judge(tt.line), "; ")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestRewrite(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"go run " + modulePath + "/examples/inspect@latest -json .", `"$BIN/inspect" -json .`},
		{"cd x && go install " + modulePath + "/examples/connect@v0.1.0", `cd x && cp "$BIN/connect" "$GOBIN/"`},
		{"go get -tool " + modulePath + "/examples/inspect@v0.1.0\ngo tool inspect .", "go get -tool ./examples/inspect\ngo tool inspect ."},
		{"git clone https://" + modulePath + "\ncd plugberth", `cp -R "$SOURCE" plugberth` + "\ncd plugberth"},
		{"go run ./examples/inspect .", "go run ./examples/inspect ."},
	} {
		if got := rewrite(tt.script); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.script, got, tt.want)
		}
	}
}
