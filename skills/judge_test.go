package skills_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/plugberth/plugberth/plugin/finding"
	"github.com/plugberth/plugberth/skills"
)

// plain is the frontmatter that rows of the tables add to: what they add
// begins on line 4.
const plain = "name: x\ndescription: d\n"

// md returns a SKILL.md with that frontmatter.
func md(front string) string { return "---\n" + strings.TrimSuffix(front, "\n") + "\n---\nBody.\n" }

// short writes what the tables compare of a finding.
func short(f finding.Finding) string {
	return strings.TrimSpace(fmt.Sprintf("%d:%d %s %s %s %s", f.Line, f.Column, f.Severity, f.Boundary, f.Code, f.Pointer))
}

func shorts(list finding.List) []string {
	var out []string
	for _, f := range list {
		out = append(out, short(f))
	}
	return out
}

// judged is a row of the table: a SKILL.md for the directory x, and what its
// findings are.
type judged struct {
	name string
	file string
	want []string
}

// bomb is an alias bomb of that many levels.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("k:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= levels; i++ {
		item := fmt.Sprintf("*a%d, ", i-1)
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(item, 9), ", "))
	}
	return b.String()
}

var judgedRows = []judged{
	// the file
	{"conforms", md(plain), nil}, // [S2]
	{"conforms, CRLF", strings.ReplaceAll(md(plain), "\n", "\r\n"), nil},
	{"byte order mark", "\uFEFF" + md(plain), []string{"1:1 info field byte-order-mark"}},
	{"empty file", "", []string{"1:1 error skill skill-no-frontmatter"}},
	{"no frontmatter", "# T\n", []string{"1:1 error skill skill-no-frontmatter"}},
	{"leading blank line", "\n" + md(plain), []string{"1:1 error skill skill-no-frontmatter"}},
	{"unclosed", "---\n" + plain, []string{"1:1 error skill skill-frontmatter-unclosed"}},
	{"unclosed behind a byte order mark", "\uFEFF---\n" + plain,
		[]string{"1:1 info field byte-order-mark", "1:1 error skill skill-frontmatter-unclosed"}},
	{"nothing between the delimiters", "---\n---\n", []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"nothing between, end of file", "---\n---", []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"only blank lines between", "---\n\n \n---\n", []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"only a comment between", "---\n# name: x\n---\n", []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"only ---", "---\n---\n---\n---\n", []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"text", md("just text"), []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"null", md("\n  ~"), []string{"3:3 error skill skill-frontmatter-not-mapping"}},
	{"a list", md("\n- name: x\n- description: d"), []string{"3:1 error skill skill-frontmatter-not-mapping"}},
	{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", []string{"1:1 error skill skill-invalid-encoding"}},
	{"frontmatter not UTF-8", md("name: x\ndescription: é\xff\xfe"), []string{"3:15 error skill skill-invalid-encoding"}},
	{"frontmatter cut inside a character", md("name: x\ndescription: \xe6\x8a"), []string{"3:14 error skill skill-invalid-encoding"}},
	{"frontmatter with a surrogate", md("name: x\ndescription: \xed\xa0\x80"), []string{"3:14 error skill skill-invalid-encoding"}},
	{"body not UTF-8", md(plain) + "é\xff", []string{"6:2 warning field skill-body-encoding"}},
	{"body not UTF-8, and a fault above", md("name: x") + "\xff",
		[]string{"1:1 error skill skill-description-missing", "5:1 warning field skill-body-encoding"}},
	{"U+FFFD is text", md("name: x\ndescription: \uFFFD") + "\uFFFD", nil},
	{"frontmatter too large", md(plain + "license: " + strings.Repeat("a", 64<<10)), []string{"2:1 error skill skill-frontmatter-too-large"}},
	{"frontmatter as large as it may be", md(plain + "license: " + strings.Repeat("a", 64<<10-len(plain)-len("license: \n"))), nil},
	{"file too large", md(plain) + strings.Repeat("a", 1<<20), []string{"0:0 error skill skill-too-large"}}, // [L5]
	{"file as large as it may be", md(plain) + strings.Repeat("a", 1<<20-len(md(plain))), nil},

	// one document [S2] [S8]
	{"...", md(plain + "...\nlicense: MIT"), []string{"4:1 error skill skill-multiple-documents"}},
	{"... in a block scalar", md("name: x\ndescription: |\n  a\n...\n  b"), []string{"5:1 error skill skill-multiple-documents"}},
	{"--- with text", md(plain + "--- license: MIT"), []string{"4:1 error skill skill-multiple-documents"}},
	{"... behind LINE SEPARATOR", md("name: x\ndescription: é\u2028...\nlicense: MIT"), []string{"3:16 error skill skill-multiple-documents"}},
	{"indented ... and ---", md("name: x\ndescription: |\n  ...\n  ---\n  z"), nil},
	{"keys left of the first one", md("  name: x\n  description: d\nlicense: MIT"), []string{"4:1 error skill skill-invalid-yaml"}},
	{"keys behind a mapping in braces", md("{name: x, description: d}\nlicense: MIT"), []string{"3:1 error skill skill-invalid-yaml"}},
	{"text behind a text", md("'a'\nb"), []string{"3:1 error skill skill-invalid-yaml"}},
	{"mapping in braces", md("{name: x, description: d} # c\n"), nil},
	{"%YAML", md("%YAML 1.2\n" + plain), []string{"2:1 error skill skill-invalid-yaml"}},
	{"%YAML of another version", md("# c\n\n%YAML 3.0\n" + plain), []string{"4:1 error skill skill-invalid-yaml"}},
	{"%TAG", md("%TAG ! tag:example.com,2000:\n" + plain), []string{"2:1 error skill skill-invalid-yaml"}},
	{"%YAML with its marker", md("%YAML 1.2\n--- # c\n" + plain), []string{"3:1 error skill skill-multiple-documents"}},

	// name [S3]
	{"name missing", md("description: d"), []string{"1:1 error skill skill-name-missing"}},
	{"name and description missing", md("license: MIT"),
		[]string{"1:1 error skill skill-name-missing", "1:1 error skill skill-description-missing"}},
	{"empty mapping behind a byte order mark", "\uFEFF" + md("{}"),
		[]string{"1:1 info field byte-order-mark", "2:1 error skill skill-name-missing", "2:1 error skill skill-description-missing"}},
	{"name without value", md("name:\ndescription: d"), []string{"2:1 error skill skill-name-missing /name"}},
	{"name ~", md("name: ~\ndescription: d"), []string{"2:7 error skill skill-name-missing /name"}},
	{"name null", md("description: d\nname: null"), []string{"3:7 error skill skill-name-missing /name"}},
	{"name empty", md("name: ''\ndescription: d"), []string{"2:7 error skill skill-name-invalid /name"}},
	{"name quoted null", md("name: 'null'\ndescription: d"), []string{"2:7 error skill skill-name-mismatch /name"}},
	{"Name is another key", md("Name: x\ndescription: d"),
		[]string{"1:1 error skill skill-name-missing", "2:1 info field skill-unknown-key /Name"}},
	{"name of another directory", md("name: y\ndescription: d"), []string{"2:7 error skill skill-name-mismatch /name"}},
	{"name in upper case", md("name: X\ndescription: d"), []string{"2:7 error skill skill-name-invalid /name"}},
	{"name with a line end", md("name: |\n  x\ndescription: d"), []string{"2:7 error skill skill-name-invalid /name"}},
	{"name in quotes", md("'name': \"x\"\ndescription: d"), nil},
	{"name a list", md("name: [x]\ndescription: d"), []string{"2:7 error skill skill-wrong-type /name"}},
	{"name a mapping", md("name:\n  a: b\ndescription: d"), []string{"3:3 error skill skill-wrong-type /name"}},
	{"name a number", md("name: 123\ndescription: d"), // [S6]
		[]string{"2:7 warning field skill-not-a-string /name", "2:7 error skill skill-name-mismatch /name"}},

	// description [S4]
	{"description missing", md("name: x"), []string{"1:1 error skill skill-description-missing"}},
	{"description without value", md("name: x\ndescription:"), []string{"3:1 error skill skill-description-missing /description"}},
	{"description empty", md("name: x\ndescription: ''"), []string{"3:14 error skill skill-description-missing /description"}},
	{"description of blanks", md("name: x\ndescription: \" \\t\\n\\u00a0\\u3000\""), []string{"3:14 error skill skill-description-missing /description"}},
	{"description an empty block", md("name: x\ndescription: |\nlicense: MIT"), []string{"3:14 error skill skill-description-missing /description"}},
	{"description of 1,024 emoji", md("name: x\ndescription: " + strings.Repeat("😀", 1024)), nil},
	{"description of 1,025 emoji", md("name: x\ndescription: " + strings.Repeat("😀", 1025)), []string{"3:14 error skill skill-description-too-long /description"}},
	{"description of 1,024 CJK characters", md("name: x\ndescription: " + strings.Repeat("技", 1024)), nil},
	{"description of 1,025 CJK characters", md("name: x\ndescription: " + strings.Repeat("技", 1025)), []string{"3:14 error skill skill-description-too-long /description"}},
	{"description of 1,024 after trimming", md("name: x\ndescription: \"  " + strings.Repeat("é", 1024) + " \\n\""), nil},
	{"description of 1,025 after trimming", md("name: x\ndescription: \"  " + strings.Repeat("é", 1025) + " \\n\""), []string{"3:14 error skill skill-description-too-long /description"}},
	{"description of combined characters", md("name: x\ndescription: " + strings.Repeat("e\u0301", 513)), []string{"3:14 error skill skill-description-too-long /description"}},
	{"description folded", md("name: x\ndescription: >\n" + strings.Repeat("  abcd\n", 204) + "  abc\n"), nil},
	{"description folded, too long", md("name: x\ndescription: >\n" + strings.Repeat("  abcd\n", 204) + "  abcdef\n"), []string{"3:14 error skill skill-description-too-long /description"}},
	{"description a list", md("name: x\ndescription:\n- d"), []string{"4:1 error skill skill-wrong-type /description"}},

	// optional keys [S5]
	{"all of them", md(plain + "license: MIT\ncompatibility: c\nallowed-tools: Read\nmetadata:\n  a: b"), nil},
	{"license a list", md(plain + "license: [MIT]"), []string{"4:10 error skill skill-wrong-type /license"}},
	{"compatibility a mapping", md(plain + "compatibility: {a: b}"), []string{"4:16 error skill skill-wrong-type /compatibility"}},
	{"compatibility of 500", md(plain + "compatibility: " + strings.Repeat("技", 500)), nil},
	{"compatibility of 501", md(plain + "compatibility: " + strings.Repeat("技", 501)), []string{"4:16 error skill skill-compatibility-too-long /compatibility"}},
	{"metadata a list", md(plain + "metadata: [a]"), []string{"4:11 error skill skill-wrong-type /metadata"}},
	{"metadata a text", md(plain + "metadata: a"), []string{"4:11 error skill skill-wrong-type /metadata"}},
	{"metadata an empty mapping", md(plain + "metadata: {}"), nil},
	{"metadata with a list", md(plain + "metadata:\n  a: b\n  c: [d]"), []string{"6:6 error skill skill-metadata-value /metadata/c"}},
	{"metadata with a mapping", md(plain + "metadata:\n  a:\n    b: c"), []string{"6:5 error skill skill-metadata-value /metadata/a"}},
	{"metadata key with / and ~", md(plain + "metadata:\n  a/b~c: [d]"), []string{"5:10 error skill skill-metadata-value /metadata/a~1b~0c"}},
	{"metadata with a null key", md(plain + "metadata:\n  ~: b"), []string{"5:3 error skill skill-key-not-text /metadata"}},
	{"metadata with a list as key", md(plain + "metadata:\n  [a]: b"), []string{"5:3 error skill skill-key-not-text /metadata"}},
	{"metadata value without text", md(plain + "metadata:\n  a:\n  b: ~\n  c: ''"),
		[]string{"5:3 warning field skill-empty-value /metadata/a", "6:6 warning field skill-empty-value /metadata/b"}},
	{"allowed-tools a list", md(plain + "allowed-tools: [Read, Write]"), []string{"4:16 error skill skill-allowed-tools-list /allowed-tools"}},
	{"allowed-tools a list below", md(plain + "allowed-tools:\n  - Read"), []string{"5:3 error skill skill-allowed-tools-list /allowed-tools"}},
	{"allowed-tools a mapping", md(plain + "allowed-tools: {a: b}"), []string{"4:16 error skill skill-wrong-type /allowed-tools"}},
	{"empty optional keys: nothing", md(plain + "license:\ncompatibility:\nallowed-tools:\nmetadata:"), []string{
		"4:1 warning field skill-empty-value /license", "5:1 warning field skill-empty-value /compatibility",
		"6:1 warning field skill-empty-value /allowed-tools", "7:1 warning field skill-empty-value /metadata"}},
	{"empty optional keys: ~", md(plain + "license: ~\ncompatibility: ~\nallowed-tools: ~\nmetadata: ~"), []string{
		"4:10 warning field skill-empty-value /license", "5:16 warning field skill-empty-value /compatibility",
		"6:16 warning field skill-empty-value /allowed-tools", "7:11 warning field skill-empty-value /metadata"}},
	{"empty optional keys: null", md(plain + "license: null\ncompatibility: Null\nallowed-tools: NULL\nmetadata: null"), []string{
		"4:10 warning field skill-empty-value /license", "5:16 warning field skill-empty-value /compatibility",
		"6:16 warning field skill-empty-value /allowed-tools", "7:11 warning field skill-empty-value /metadata"}},
	{"empty optional keys: quotes", md(plain + "license: ''\ncompatibility: \"\"\nallowed-tools: ''\nmetadata: ''"), []string{
		"4:10 warning field skill-empty-value /license", "5:16 warning field skill-empty-value /compatibility",
		"6:16 warning field skill-empty-value /allowed-tools", "7:11 warning field skill-empty-value /metadata"}},
	{"empty optional keys: tags and blocks", md(plain + "license: !!str\ncompatibility: |\nallowed-tools: >-\nmetadata: !!null ''"), []string{
		"4:10 warning field skill-empty-value /license", "5:16 warning field skill-empty-value /compatibility",
		"6:16 warning field skill-empty-value /allowed-tools", "7:11 warning field skill-empty-value /metadata"}},
	{"optional keys that are no text", md(plain + "license: 2\ncompatibility: 3.5\nallowed-tools: yes\nmetadata: 1"), []string{
		"4:10 warning field skill-not-a-string /license", "5:16 warning field skill-not-a-string /compatibility",
		"7:11 error skill skill-wrong-type /metadata"}},

	// keys [S8]
	{"unknown keys", md(plain + "a:\nb: [c]\n'd e': f\ng/h: i"), []string{
		"4:1 info field skill-unknown-key /a", "5:1 info field skill-unknown-key /b",
		"6:1 info field skill-unknown-key /d e", "7:1 info field skill-unknown-key /g~1h"}},
	{"key a list", md(plain + "[a]: b"), []string{"4:1 error skill skill-key-not-text"}},
	{"key a mapping", md(plain + "? {a: b}\n: c"), []string{"4:3 error skill skill-key-not-text"}},
	{"key null", md(plain + "~: b"), []string{"4:1 error skill skill-key-not-text"}},
	{"key a number", md(plain + "1: b"), []string{"4:1 info field skill-unknown-key /1"}},
	{"key by alias", md("a: &n name\n*n : x\ndescription: d"), []string{"2:1 info field skill-unknown-key /a"}},
	{"key twice", md(plain + "name: x"), []string{"4:1 error skill skill-duplicate-key /name"}},
	{"key twice, once in quotes", md(plain + "'name': x"), []string{"4:1 error skill skill-duplicate-key /name"}},
	{"key twice, by escape", md(plain + "\"\\u006eame\": x"), []string{"4:1 error skill skill-duplicate-key /name"}},
	{"key twice, by alias", md("a: &n name\nname: x\ndescription: d\n*n : y"), []string{"5:1 error skill skill-duplicate-key /name"}},
	{"key twice, number and text", md(plain + "metadata: {1: a, '1': b}"), []string{"4:18 error skill skill-duplicate-key /metadata/1"}},
	{"key twice, nothing in quotes", md(plain + "metadata:\n  '': a\n  \"\": b"), []string{"6:3 error skill skill-duplicate-key /metadata/"}},
	{"key twice, nested", md(plain + "k:\n- a:\n    b: 1\n    c: 2\n    b: 3"), []string{"8:5 error skill skill-duplicate-key /k/0/a/b"}},
	{"key twice, in a key", md(plain + "k:\n  ? {a: 1, a: 2}\n  : c"), []string{"5:12 error skill skill-duplicate-key /k/a"}},
	{"key twice among many", md(plain + manyKeys(40) + "k7: again"), []string{"44:1 error skill skill-duplicate-key /k7"}},
	{"many keys", md(plain + "k:\n" + strings.ReplaceAll(manyKeys(40), "k", " k")), []string{"4:1 info field skill-unknown-key /k"}},
	{"merge key", md(plain + "a: &a {b: c}\n<<: *a"), []string{"5:1 error skill skill-merge-key /<<"}},
	{"merge key, nested", md(plain + "k:\n  - <<: {a: b}"), []string{"5:5 error skill skill-merge-key /k/0/<<"}},
	{"merge key by tag", md(plain + "!!merge a: {b: c}"), []string{"4:1 error skill skill-merge-key /a"}},
	{"merge key among many", md(plain + manyKeys(40) + "<<: {a: b}"), []string{"44:1 error skill skill-merge-key /<<"}},
	{"<< in quotes is a key", md(plain + "'<<': a"), []string{"4:1 info field skill-unknown-key /<<"}},

	// aliases and tags [S8]
	{"a few aliases", md("name: &n x\ndescription: &d a *d\nlicense: *d\nmetadata: {a: *d, b: *n}"), nil},
	{"aliases of 1,000 nodes", md(plain + "k: [&a b" + strings.Repeat(", *a", 500) + "]"), []string{"4:1 info field skill-unknown-key /k"}},
	{"aliases of 1,002 nodes", md(plain + "k: [&a b" + strings.Repeat(", *a", 501) + "]"), []string{"4:2011 error skill skill-alias-expansion"}},
	{"aliases of 64 KiB", md(plain + "k: [&a " + strings.Repeat("b", 32<<10-1) + ", *a, *a]"), []string{"4:1 info field skill-unknown-key /k"}},
	{"aliases of over 64 KiB", md(plain + "k: [&a " + strings.Repeat("b", 32<<10) + ", *a, *a]"), []string{"4:32782 error skill skill-alias-expansion"}},
	{"aliases of one byte over 64 KiB", md(plain + "k: [&a " + strings.Repeat("b", 32<<10-2) + ", &c dd, *a, *a, *c]"), []string{"4:32791 error skill skill-alias-expansion"}},
	{"alias bomb", md(plain + bomb(9)), []string{"7:52 error skill skill-alias-expansion"}},
	{"aliases that expand little", md(plain + bomb(1)), []string{"4:1 info field skill-unknown-key /k"}},
	{"alias in itself", md(plain + "k: &a [b, *a]"), []string{"4:11 error skill skill-alias-expansion"}},
	{"alias as its own key", md(plain + "k: &a {*a : b}"), []string{"4:8 error skill skill-alias-expansion"}},
	{"the whole in itself", md("&a\nname: x\ndescription: d\nmetadata: *a"), []string{"5:11 error skill skill-alias-expansion"}},
	{"custom tag", md(plain + "k: !foo bar"), []string{"4:4 error skill skill-custom-tag /k"}},
	{"custom tag on name", md("name: !foo x\ndescription: d"), []string{"2:7 error skill skill-custom-tag /name"}},
	{"custom tag on a key", md(plain + "!foo k: bar"), []string{"4:1 error skill skill-custom-tag /k"}},
	{"custom tag on the whole", md("!foo\n" + plain), []string{"2:1 error skill skill-custom-tag"}},
	{"custom tag, nested", md(plain + "k:\n  - é: !foo [bar]"), []string{"5:8 error skill skill-custom-tag /k/0/é"}},
	{"!!binary", md(plain + "k: !!binary aGk="), []string{"4:4 error skill skill-custom-tag /k"}},
	{"!!python/object", md(plain + "k: !!python/object/apply:os.system [id]"), []string{"4:4 error skill skill-custom-tag /k"}},
	{"!!set", md(plain + "k: !!set {a}"), []string{"4:4 error skill skill-custom-tag /k"}},
	{"verbatim tag", md(plain + "k: !<tag:example.com,2000:x> y"), []string{"4:4 error skill skill-custom-tag /k"}},
	{"unknown tag handle", md(plain + "k: !e!x y"), []string{"4:4 error skill skill-invalid-yaml"}},
	{"core tags", md("name: !!str x\ndescription: !<tag:yaml.org,2002:str> d\nmetadata: !!map {a: ! b}\nk: !!seq [!!int 1, !!float 1.5, !!bool true, !!null ~, !!timestamp 2024-01-01]"),
		[]string{"5:1 info field skill-unknown-key /k"}},
	{"!!str keeps text text", md(plain + "metadata: {a: !!str 1.0}"), nil},                                                                      // [S6]
	{"depth 100", md(plain + "k: " + strings.Repeat("[", 99) + "a" + strings.Repeat("]", 99)), []string{"4:1 info field skill-unknown-key /k"}}, // [L5]
	{"depth 101", md(plain + "k: " + strings.Repeat("[", 100) + strings.Repeat("]", 100)), []string{"4:103 error skill skill-too-complex /k" + strings.Repeat("/0", 99)}},
	{"depth beyond the reader's limit", md(plain + "k: " + strings.Repeat("[", 10_001)), []string{"4:4 error skill skill-too-complex"}},
	{"depth beyond the reader's limit, by indentation", md(plain + "k:\n " + strings.Repeat("- ", 10_001)), []string{"4:1 error skill skill-too-complex"}},

	// positions
	{"behind a byte order mark", "\uFEFF" + md("name: y\ndescription: d"),
		[]string{"1:1 info field byte-order-mark", "2:7 error skill skill-name-mismatch /name"}},
	{"byte order mark before ---", md("\uFEFF--- # c\n" + plain), []string{"2:2 error skill skill-multiple-documents"}},
	{"byte order mark before ...", md("\uFEFF...\n" + plain), []string{"2:2 error skill skill-multiple-documents"}},
	{"byte order mark before %", md("\uFEFF%YAML 1.2\n" + plain), []string{"2:2 error skill skill-invalid-yaml"}},
	{"only a byte order mark between", md("\uFEFF"), []string{"2:1 error skill skill-frontmatter-not-mapping"}},
	{"byte order mark before the YAML", md("\uFEFFname: y\ndescription: d"), []string{"2:8 error skill skill-name-mismatch /name"}},
	{"CRLF", "---\r\n# c\r\ndescription: d\r\nname: y\r\n---\r\n", []string{"4:7 error skill skill-name-mismatch /name"}},
	{"lone CR is a line to YAML only", md("license: MIT\rdescription: d\rname: y"), []string{"2:35 error skill skill-name-mismatch /name"}},
	{"text of several bytes before", md("{description: é技😀, name: y}"), []string{"2:26 error skill skill-name-mismatch /name"}},
	{"NEL, LS and PS before", md("description: é\u0085 ü\u2028 x\u2029 z\nlicense: [a]\nname: x"), []string{"3:10 error skill skill-wrong-type /license"}},
	{"NEL, LS and PS between keys", md("description: é\u0085license: [a]\u2028name: y\u2029metadata: 1"), []string{
		"2:25 error skill skill-wrong-type /license", "2:35 error skill skill-name-mismatch /name", "2:47 error skill skill-wrong-type /metadata"}},
	{"tab before the value", md("name:\ty\ndescription: d"), []string{"2:7 error skill skill-name-mismatch /name"}},
	{"value on the next line", md("name:\n  # c\n\n  y\ndescription: d"), []string{"5:3 error skill skill-name-mismatch /name"}},
	{"anchor before the value", md("name: &a y\ndescription: d"), []string{"2:7 error skill skill-name-mismatch /name"}},
	{"value by alias", md("a: &a y\nname: *a\ndescription: d"),
		[]string{"2:1 info field skill-unknown-key /a", "3:7 error skill skill-name-mismatch /name"}},
	{"? key", md("? name\n: y\n? description\n: d\n? z\n"), []string{"3:3 error skill skill-name-mismatch /name", "6:3 info field skill-unknown-key /z"}},

	// document order, one finding a fault [L7]
	{"all at once", md("z: 1\nmetadata:\n  1: [a]\n  b: 2\ncompatibility: [c]\ndescription: ''\nname: X\nallowed-tools: []\nlicense:"), []string{
		"2:1 info field skill-unknown-key /z",
		"4:3 warning field skill-not-a-string /metadata/1",
		"4:6 error skill skill-metadata-value /metadata/1",
		"5:6 warning field skill-not-a-string /metadata/b",
		"6:16 error skill skill-wrong-type /compatibility",
		"7:14 error skill skill-description-missing /description",
		"8:7 error skill skill-name-invalid /name",
		"9:16 error skill skill-allowed-tools-list /allowed-tools",
		"10:1 warning field skill-empty-value /license",
	}},
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	return b.String()
}

// [S2] [S3] [S4] [S5] [S6] [S8] [S9] [L7]
func TestParse(t *testing.T) {
	for _, tt := range append(judgedRows, syntaxRows()...) {
		t.Run(tt.name, func(t *testing.T) {
			s, list, err := skills.Parse("x", []byte(tt.file), skills.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tt.name, "many") && len(list) > 3 {
				list = list[len(list)-1:] // the unknown ones are of no interest
			}
			if got := shorts(list); !slices.Equal(got, tt.want) {
				t.Errorf("findings\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
			}
			if bad := len(list.AtLeast(finding.SeverityError)) > 0; bad != (s == nil) {
				t.Errorf("errors %v, skill %v", bad, s)
			}
			for _, f := range list {
				if f.Message == "" || f.File != "SKILL.md" || f.Subject != "x" || f.Section == "" {
					t.Errorf("finding %+v", f)
				}
			}
		})
	}
}

// loadCodes are those about one skill that need files: load_test.go has them.
var loadCodes = []finding.Code{finding.SkillEscapes, finding.SkillDanglingLink, finding.SkillFileNotRegular, finding.SkillUnreadable}

// policyCodes are those that the host asks for: set_test.go, toolbox_test.go and
// audit_test.go have them.
var policyCodes = []finding.Code{finding.SkillShadowed, finding.SkillToolsRefused, finding.SkillOverBudget, finding.SkillSecret, finding.SkillHiddenText,
	finding.SkillInjectionMarker, finding.SkillProgram, finding.SkillScript, finding.SkillAuditCut}

func TestEveryCodeHasARow(t *testing.T) {
	met := map[string]bool{}
	for _, row := range judgedRows {
		for _, w := range row.want {
			met[strings.Fields(w)[3]] = true
		}
	}
	for _, row := range syntaxTable {
		met[string(row.code)] = true
	}
	for _, row := range leniencies {
		for _, w := range row.lenient {
			met[strings.Fields(w)[3]] = true
		}
	}
	for _, info := range finding.All() {
		if strings.HasPrefix(string(info.Code), "skill-") && !met[string(info.Code)] && !slices.Contains(append(loadCodes, policyCodes...), info.Code) {
			t.Errorf("no row produces %s", info.Code)
		}
	}
}

// syntaxTable is what authors get wrong in YAML: where it is reported, and
// what the message has to speak of.
var syntaxTable = []struct {
	name    string
	front   string
	at      string
	code    finding.Code
	message string
}{
	{"colon in the value", "name: x\ndescription: Use when: foo", "3:14", finding.SkillInvalidYAML, "colon"},
	{"colon in the first value", "description: Use when: foo\nname: x", "2:14", finding.SkillInvalidYAML, "colon"},
	{"colon at the end of a value", "name: x\ndescription: as follows:", "3:14", finding.SkillInvalidYAML, "colon"},
	{"colon behind comments and blocks", "# c\n\nlicense: |\n  a\n  b\ndescription: é: b", "7:14", finding.SkillInvalidYAML, "colon"},
	{"colon, CRLF", "name: x\r\ndescription: a: b", "3:14", finding.SkillInvalidYAML, "colon"},
	{"colon, NEL before", "license: a\u0085 b\nописание: a: b", "3:11", finding.SkillInvalidYAML, "colon"},
	{"colon in a nested value", "metadata:\n  a: b: c", "3:6", finding.SkillInvalidYAML, "colon"},
	{"colon in the second line of a value", "description: Use\n  when: foo", "3:3", finding.SkillInvalidYAML, "line before"},
	{"key indented too far", "name: x\n description: d", "3:2", finding.SkillInvalidYAML, "indentation"},
	{"nested key indented too far", "metadata:\n  a: b\n   c: d", "4:4", finding.SkillInvalidYAML, "indentation"},
	{"nested key indented too little", "metadata:\n   a: b\n  c: d", "4:3", finding.SkillInvalidYAML, "indentation"},
	{"first key indented", " name: x\ndescription: d", "3:1", finding.SkillInvalidYAML, "indentation"},
	{"no blank behind the colon", "name:x\ndescription: d", "3:1", finding.SkillInvalidYAML, "line before"},
	{"no blank behind the second colon", "name: x\ndescription:d", "3:1", finding.SkillInvalidYAML, "key: value"},
	{"stray text", "name: x\nstray text\ndescription: d", "3:1", finding.SkillInvalidYAML, "no key"},
	{"stray text at the end", plain + "stray", "4:1", finding.SkillInvalidYAML, "no key"},
	{"stray text first", "stray\nname: x", "3:1", finding.SkillInvalidYAML, "line before"},
	{"stray quoted text", plain + "\"stray\"", "4:1", finding.SkillInvalidYAML, "no key"},
	{"value wraps without indentation", "name: x\ndescription: a\nb c\nlicense: MIT", "4:1", finding.SkillInvalidYAML, "indent"},
	{"list among keys", plain + "- a", "4:1", finding.SkillInvalidYAML, "cannot stand here"},
	{"key among items", "k:\n  - a\n  b: c", "4:4", finding.SkillInvalidYAML, "cannot stand here"},
	{"tab before a key", plain + "metadata:\n\ta: b", "5:1", finding.SkillInvalidYAML, "tab"},
	{"tab before the first key", "\tname: x", "2:1", finding.SkillInvalidYAML, "tab"},
	{"tab behind blanks", plain + "metadata:\n  a: b\n\tc: d", "6:1", finding.SkillInvalidYAML, "tab"},
	{"tab before a key that goes on a value", "name: x\ndescription: d\n\tlicense: MIT", "4:1", finding.SkillInvalidYAML, "tab"},
	{"tab in a block", "name: x\ndescription: |\n\ta", "4:1", finding.SkillInvalidYAML, "tab"},
	{"tab later in a block", "name: x\ndescription: |\n  a\n\tb", "5:1", finding.SkillInvalidYAML, "tab"},
	{"unclosed double quote", "name: x\ndescription: \"a\nlicense: MIT", "3:14", finding.SkillInvalidYAML, "quoted"},
	{"unclosed single quote", "name: x\ndescription: 'a\nlicense: MIT", "3:14", finding.SkillInvalidYAML, "quoted"},
	{"unclosed quote on the first line", "name: \"x\ndescription: d\nlicense: MIT", "2:7", finding.SkillInvalidYAML, "quoted"},
	{"unclosed quote in a list", "k:\n  - \"a\n  - b", "3:3", finding.SkillInvalidYAML, "quoted"},
	{"apostrophe in single quotes", "name: x\ndescription: 'it's'\nlicense: MIT", "3:18", finding.SkillInvalidYAML, "quotes"},
	{"apostrophe below a comment", "# c\nname: x\ndescription: 'é's'\nlicense: MIT", "4:17", finding.SkillInvalidYAML, "quotes"},
	{"apostrophe in nested text", plain + "metadata:\n  a: b\n  c: 'it's'", "6:10", finding.SkillInvalidYAML, "quotes"},
	{"quotes in quotes", "name: x\ndescription: \"say \"hi\"\"", "3:20", finding.SkillInvalidYAML, "quotes"},
	{"text behind quotes", "name: x\ndescription: \"a\" b", "3:18", finding.SkillInvalidYAML, "quotes"},
	{"quote closed by a later one", "name: \"x\ndescription: \"d\"", "3:15", finding.SkillInvalidYAML, "quotes"},
	{"backslash in double quotes", "name: x\ndescription: \"C:\\dir\"", "3:14", finding.SkillInvalidYAML, "escape"},
	{"unclosed bracket", "name: x\ndescription: [a, b\nlicense: MIT", "3:14", finding.SkillInvalidYAML, "brackets"},
	{"unclosed bracket on the first line", "description: [a, b\nname: x", "2:14", finding.SkillInvalidYAML, "brackets"},
	{"unclosed brace", "name: x\ndescription: {a\nlicense: MIT", "3:14", finding.SkillInvalidYAML, "brackets"},
	{"text behind brackets", "name: x\ndescription: [a] b", "3:18", finding.SkillInvalidYAML, "bracket"},
	{"stray bracket", plain + "}", "4:1", finding.SkillInvalidYAML, "cannot stand here"},
	{"value begins with @", "name: x\ndescription: @a", "3:14", finding.SkillInvalidYAML, "quotes"},
	{"value begins with a backquote", "name: x\ndescription: `a` b", "3:14", finding.SkillInvalidYAML, "quotes"},
	{"value begins with %", "name: x\ndescription: %a", "3:14", finding.SkillInvalidYAML, "quotes"},
	{"value begins with -", "name: x\ndescription: - a", "3:14", finding.SkillInvalidYAML, "not allowed"},
	{"value begins with ,", "name: x\ndescription: , a", "3:14", finding.SkillInvalidYAML, "not YAML"},
	{"item begins with @", "k:\n  - @a", "3:3", finding.SkillInvalidYAML, "quotes"},
	{"text behind |", "name: x\ndescription: | a", "3:14", finding.SkillInvalidYAML, "not YAML"},
	{"unknown anchor", "name: x\ndescription: *foo", "3:14", finding.SkillInvalidYAML, "alias"},
	{"unknown anchor, in text before", "# *foo\nname: x\ndescription: 'a *foo'\nlicense: a *foo\nk: *foo", "6:4", finding.SkillInvalidYAML, "alias"},
	{"unknown anchor, longer before", "name: &foobar x\ndescription: *foobar\nk: [a, *foo]", "4:8", finding.SkillInvalidYAML, "alias"},
	{"anchor only behind", "name: *foo\ndescription: &foo d", "2:7", finding.SkillInvalidYAML, "alias"},
	{"bold text", "name: x\ndescription: **Use** this", "3:14", finding.SkillInvalidYAML, "not YAML"},
	{"control character", "name: x\ndescription: é\x01b", "3:15", finding.SkillInvalidYAML, "control"},
	{"NUL", "name: x\x00", "2:8", finding.SkillInvalidYAML, "control"},
	{"escape character", "name: x\ndescription: \x1b[31m", "3:14", finding.SkillInvalidYAML, "control"},
	{"DEL and C1", "name: x\ndescription: \x7f\u0080", "3:14", finding.SkillInvalidYAML, "control"},
	{"control character behind U+FEFF", "\uFEFFname: x\ndescription: \uFEFF\u009f", "3:15", finding.SkillInvalidYAML, "control"},
	{"noncharacter", "name: x\ndescription: \uFFFE", "3:14", finding.SkillInvalidYAML, "control"},
	{"control character below a fault", "name: x\ndescription: a: b\nlicense: \x01", "4:10", finding.SkillInvalidYAML, "control"},
	{"directive", "# c\n%YAML 1.2\nname: x", "3:1", finding.SkillInvalidYAML, "directive"},
	{"text behind a bracket", "name: x\ndescription: [WIP] does things", "3:20", finding.SkillInvalidYAML, "put the whole value in quotes"},
	{"text behind a brace", "description: {a} b\nname: x", "2:18", finding.SkillInvalidYAML, "put the whole value in quotes"},
	{"text behind a quote", "description: \"Foo\" does\nname: x", "2:20", finding.SkillInvalidYAML, "put the whole value in quotes"},
	{"two anchors", "name: &a &b x", "2:11", finding.SkillInvalidYAML, "cannot stand here"},
	{"long frontmatter", "# c\n" + plain + "license: " + strings.Repeat("a", 10_000) + "\nk: 'it's'", "3:1", finding.SkillInvalidYAML, "in what begins here"},
}

func syntaxRows() []judged {
	var rows []judged
	for _, tt := range syntaxTable {
		rows = append(rows, judged{"syntax: " + tt.name, md(tt.front), []string{tt.at + " error skill " + string(tt.code)}})
	}
	return rows
}

// [S9]
func TestParseSyntaxMessages(t *testing.T) {
	for _, tt := range syntaxTable {
		_, list, _ := skills.Parse("x", []byte(md(tt.front)), skills.Options{})
		if len(list) != 1 || !strings.Contains(list[0].Message, tt.message) {
			t.Errorf("%s: %q, want one that speaks of %q", tt.name, list, tt.message)
		}
	}
}

// [S5] [S6] What is taken as text keeps its literal text.
func TestParseLiteralText(t *testing.T) {
	texts := []string{"123", "-5", "1.0", "1.10", "0.1e-2", "1e3", "1_000", "0o17", "017", "0x1F", "0b11", "true", "False", "yes", "on", "off", "NO", "y",
		"2024-01-01", "2024-01-01T00:00:00Z", ".nan", ".inf", "-.INF", "12345678901234567890123", "<<"}
	text := []string{"yes", "on", "off", "NO", "y"} // to YAML 1.2, as to the reader
	for _, v := range texts {
		s, list, err := skills.Parse("x", []byte(md("name: x\ndescription: "+v+"\nlicense: "+v+"\ncompatibility: "+v+"\nallowed-tools: "+v+
			"\nmetadata:\n  v: "+v+"\n  '': "+v+"\n  w"+v+": w")), skills.Options{})
		if err != nil || s == nil {
			t.Errorf("%s: %v, %v", v, list, err)
			continue
		}
		want := map[string]string{"v": v, "": v, "w" + v: "w"}
		if s.Description() != v || s.License() != v || s.Compatibility() != v || !slices.Equal(s.AllowedTools(), []string{v}) || !maps.Equal(s.Metadata(), want) {
			t.Errorf("%s: description %q, license %q, compatibility %q, tools %q, metadata %q",
				v, s.Description(), s.License(), s.Compatibility(), s.AllowedTools(), s.Metadata())
		}
		wantFindings := []string{
			"3:14 warning field skill-not-a-string /description", "4:10 warning field skill-not-a-string /license",
			"5:16 warning field skill-not-a-string /compatibility", "6:16 warning field skill-not-a-string /allowed-tools",
			"8:6 warning field skill-not-a-string /metadata/v", "9:7 warning field skill-not-a-string /metadata/"}
		if slices.Contains(text, v) {
			wantFindings = nil
		}
		if got := shorts(list); !slices.Equal(got, wantFindings) {
			t.Errorf("%s: findings %q", v, got)
		}
	}
	for _, key := range []string{"123", "1.10", "1e3", "0o17", "0x1F", "true", "2024-01-01", ".nan"} {
		s, list, _ := skills.Parse("x", []byte(md(plain+"metadata:\n  "+key+": v")), skills.Options{})
		if s == nil || !maps.Equal(s.Metadata(), map[string]string{key: "v"}) {
			t.Errorf("metadata key %s: %v", key, list)
		}
		if got := shorts(list); !slices.Equal(got, []string{"5:3 warning field skill-not-a-string /metadata/" + key}) {
			t.Errorf("metadata key %s: findings %q", key, got)
		}
	}
	s, list, _ := skills.Parse("123", []byte(md("name: 123\ndescription: d")), skills.Options{})
	if s == nil || s.Name() != "123" || len(list) != 1 {
		t.Errorf("name 123: %v", list)
	}
}

// [S5]
func TestAllowedTools(t *testing.T) {
	tests := []struct {
		value string
		want  []string
	}{
		{"Bash(git add:*) Read", []string{"Bash(git add:*)", "Read"}},
		{"Read", []string{"Read"}},
		{"Read,Write", []string{"Read,Write"}},
		{"Read, Write", []string{"Read,", "Write"}},
		{"' Read \t\tWrite '", []string{"Read", "Write"}},
		{"|\n  Read\n  Write(a\n  b)\n", []string{"Read", "Write(a\nb)"}},
		{"Bash(a (b c) d) Read", []string{"Bash(a (b c) d)", "Read"}},
		{"Bash(a b Read Write", []string{"Bash(a b Read Write"}},
		{"a) b) c", []string{"a)", "b)", "c"}},
		{"(a b) c", []string{"(a b)", "c"}},
		{"Größe(ä ö) 技能", []string{"Größe(ä ö)", "技能"}},
		{"\"a\\u00a0b\"", []string{"a\u00a0b"}},
		{"' '", nil},
		{"''", nil},
	}
	for _, tt := range tests {
		s, list, _ := skills.Parse("x", []byte(md(plain+"allowed-tools: "+tt.value)), skills.Options{})
		if s == nil {
			t.Errorf("%s: %v", tt.value, list)
		} else if got := s.AllowedTools(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.value, got, tt.want)
		}
	}
}

// [S8]
func TestDecode(t *testing.T) {
	front := plain + "metadata:\n  version: 1.10\nhooks: &h\n  pre: [a, 2]\n'1': one\nagain: *h\n? [complex]\n: z\n"
	front = strings.Replace(front, "? [complex]\n: z\n", "nested:\n  ? [complex]\n  : z\n", 1)
	s, list, _ := skills.Parse("x", []byte(md(front)), skills.Options{})
	if s == nil {
		t.Fatal(list)
	}
	if got, want := s.ExtraKeys(), []string{"hooks", "1", "again", "nested"}; !slices.Equal(got, want) {
		t.Errorf("extra keys %q, want %q", got, want)
	}
	if got := s.Frontmatter(); got != front {
		t.Errorf("frontmatter %q", got)
	}
	var hooks, again struct{ Pre []any }
	for key, into := range map[string]any{"hooks": &hooks, "again": &again} {
		if err := s.Decode(key, into); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if want := []any{"a", 2}; !reflect.DeepEqual(hooks.Pre, want) || !reflect.DeepEqual(again.Pre, want) {
		t.Errorf("hooks %v, again %v", hooks, again)
	}
	var one, name string
	if err := s.Decode("1", &one); err != nil || one != "one" {
		t.Errorf("1: %q, %v", one, err)
	}
	if err := s.Decode("name", &name); err != nil || name != "x" {
		t.Errorf("name: %q, %v", name, err)
	}
	for _, key := range []string{"absent", "Hooks", "pre", "", "version"} {
		if err := s.Decode(key, new(any)); !errors.Is(err, skills.ErrNoKey) {
			t.Errorf("%q: %v, want ErrNoKey", key, err)
		}
	}
	if err := s.Decode("hooks", new(int)); err == nil || errors.Is(err, skills.ErrNoKey) {
		t.Errorf("a mapping into a number: %v", err)
	}
	var any any
	if err := s.Decode("nested", &any); err == nil {
		t.Errorf("a list as key became %v", any)
	}
	// What is handed out is the caller's.
	s.ExtraKeys()[0] = "changed"
	s.Metadata()["version"] = "changed"
	if s.ExtraKeys()[0] != "hooks" || s.Metadata()["version"] != "1.10" {
		t.Error("a caller changed the skill")
	}
}

func TestParseValues(t *testing.T) {
	s, list, _ := skills.Parse("x", []byte("\uFEFF"+md("name: x\r\ndescription: >-\r\n  Folded é\r\n  text.\r\nlicense: \" MIT \"\r\ncompatibility: 'it''s'\r\nmetadata: {a: \"b\\nc\", '': d}\r\n")), skills.Options{})
	if s == nil {
		t.Fatal(list)
	}
	for what, pair := range map[string][2]string{
		"name": {s.Name(), "x"}, "directory": {s.Directory(), "x"}, "description": {s.Description(), "Folded é text."},
		"license": {s.License(), " MIT "}, "compatibility": {s.Compatibility(), "it's"}, "location": {s.Location(), ""},
		"metadata a": {s.Metadata()["a"], "b\nc"}, "metadata of nothing": {s.Metadata()[""], "d"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s %q, want %q", what, pair[0], pair[1])
		}
	}
	if _, err := s.Body(); !errors.Is(err, skills.ErrNoFiles) {
		t.Errorf("Body: %v", err)
	}
	if _, err := s.FS(); !errors.Is(err, skills.ErrNoFiles) {
		t.Errorf("FS: %v", err)
	}
	if _, _, err := s.Resources(context.Background(), 0); !errors.Is(err, skills.ErrNoFiles) {
		t.Errorf("Resources: %v", err)
	}
	bare, _, _ := skills.Parse("x", []byte(md(plain)), skills.Options{})
	if bare.Metadata() != nil || bare.ExtraKeys() != nil || bare.AllowedTools() != nil {
		t.Errorf("metadata %v, extra keys %v, tools %v, want none", bare.Metadata(), bare.ExtraKeys(), bare.AllowedTools())
	}
}

func TestParseOptions(t *testing.T) {
	if _, _, err := skills.Parse("x", []byte(md(plain)), skills.Options{Mode: 77}); err == nil {
		t.Error("an unknown mode was accepted")
	}
	// [L5]
	tests := []struct {
		name   string
		limits skills.Limits
		want   finding.Code
	}{
		{"file", skills.Limits{File: 20}, finding.SkillTooLarge},
		{"frontmatter", skills.Limits{Frontmatter: len(plain) - 1}, finding.SkillFrontmatterTooLarge},
		{"all just enough", skills.Limits{File: int64(len(md(plain))), Frontmatter: len(plain), Depth: 1}, ""},
		{"negative means the default", skills.Limits{File: -1, Frontmatter: -1, Depth: -1, Skills: -1, Entries: -1}, ""},
	}
	for _, tt := range tests {
		_, list, err := skills.Parse("x", []byte(md(plain)), skills.Options{Limits: tt.limits})
		var got finding.Code
		if len(list) > 0 {
			got = list[0].Code
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// [L5]
func TestParseDepth(t *testing.T) {
	for depth, want := range map[int]bool{1: false, 2: true} {
		s, _, err := skills.Parse("x", []byte(md(plain+"metadata: {a: b}")), skills.Options{Limits: skills.Limits{Depth: depth}})
		if err != nil || (s != nil) != want {
			t.Errorf("depth %d: skill %v, %v", depth, s != nil, err)
		}
	}
}

// [S9] Text of the package stands in messages escaped.
func TestMessagesAreEscaped(t *testing.T) {
	evil := "\x1b[2J\u202e\u200b\U000e0041\r\n\x07\xff"
	yaml := `"\e[2J\u202e\u200b\U000e0041\r\n\a"`
	for _, front := range []string{
		"name: " + yaml + "\ndescription: d",
		plain + yaml + ": a",
		plain + "metadata:\n  " + yaml + ": [a]",
		plain + "metadata:\n  " + yaml + ":",
		plain + yaml + ": a\n" + yaml + ": b",
		"name: x\ndescription: *a\u202e",
		plain + "k: !a%1B%E2%80%AE b",
		plain + "k: !\u202e b",
		"description: d",
		"name: y\ndescription: d",
	} {
		_, list, _ := skills.Parse("x"+evil, []byte(md(front)), skills.Options{})
		if len(list) == 0 {
			t.Errorf("%q: no finding", front)
		}
		for _, f := range list {
			for _, text := range []string{f.Message, f.String()} {
				if i := strings.IndexFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsGraphic(r) }); i >= 0 {
					t.Errorf("%q: unescaped at %d in %q", front, i, text)
				}
			}
		}
	}
}
