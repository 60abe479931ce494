package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// A page is a Markdown file, as far as its tests look at it.
type page struct {
	path     string // from the root, with slashes
	blocks   []block
	prose    []proseLine // what stands outside of blocks
	headings []heading
}

// block is a fenced block.
type block struct {
	page     string
	line     int    // of its first line of content
	language string // the first word after the fence
	lines    []string
}

// where says where the block stands.
func (b block) where() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

type proseLine struct {
	number int
	text   string
}

type heading struct {
	line   int
	anchor string // by which GitHub finds it
}

// readPage takes a Markdown file apart. Fences may be indented, as in lists.
func readPage(name, text string) (*page, error) {
	p := &page{path: name}
	var open *block
	fence, indent := "", ""
	seen := map[string]int{}
	number := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		number++
		trimmed := strings.TrimLeft(line, " ")
		if open != nil {
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]+" ") == "" {
				p.blocks = append(p.blocks, *open)
				open = nil
				continue
			}
			open.lines = append(open.lines, strings.TrimPrefix(line, indent))
			continue
		}
		if ticks := leading(trimmed); len(ticks) >= 3 {
			language, _, _ := strings.Cut(strings.TrimSpace(trimmed[len(ticks):]), " ")
			open = &block{page: name, line: number + 1, language: language}
			fence, indent = ticks, line[:len(line)-len(trimmed)]
			continue
		}
		p.prose = append(p.prose, proseLine{number, line})
		if marks := strings.IndexFunc(line, func(r rune) bool { return r != '#' }); marks > 0 && marks <= 6 && line[marks] == ' ' {
			anchor := slug(line[marks:])
			if n := seen[anchor]; n > 0 {
				p.headings = append(p.headings, heading{number, fmt.Sprintf("%s-%d", anchor, n)})
			} else {
				p.headings = append(p.headings, heading{number, anchor})
			}
			seen[anchor]++
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open.where())
	}
	return p, nil
}

// leading returns the backticks or tildes that a line begins with.
func leading(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n > 0 {
			return line[:n]
		}
	}
	return ""
}

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// slug makes the anchor of a heading as GitHub does: lower case, blanks to
// hyphens, everything else that is no letter, digit, hyphen or underscore gone.
func slug(text string) string {
	text = linkText.ReplaceAllString(strings.TrimSpace(text), "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// spans returns the code spans of a page's prose with their lines. A span may go
// over a line's end.
func (p *page) spans() []proseLine {
	var out []proseLine
	p.eachSpan(func(number int, span string) string {
		out = append(out, proseLine{number, span})
		return span
	})
	return out
}

// text returns the prose of a page without its code spans, line by line.
func (p *page) text() []proseLine {
	joined := p.eachSpan(func(_ int, span string) string {
		return strings.Repeat("\n", strings.Count(span, "\n"))
	})
	lines := strings.Split(joined, "\n")
	out := make([]proseLine, len(p.prose))
	for i, line := range p.prose {
		out[i] = proseLine{line.number, lines[i]}
	}
	return out
}

// eachSpan gives each code span to f and puts what it returns in its place.
func (p *page) eachSpan(f func(number int, span string) string) string {
	var joined strings.Builder
	for _, line := range p.prose {
		joined.WriteString(line.text + "\n")
	}
	text := joined.String()
	var out strings.Builder
	for i := 0; i < len(text); {
		ticks := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if ticks == 0 {
			next := strings.IndexByte(text[i:], '`')
			if next < 0 {
				next = len(text) - i
			}
			out.WriteString(text[i : i+next])
			i += next
			continue
		}
		start := i + ticks
		length := closing(text[start:], ticks)
		if length < 0 {
			out.WriteString(text[i:start])
			i = start
			continue
		}
		line := p.prose[strings.Count(text[:i], "\n")].number
		out.WriteString(f(line, text[start:start+length]))
		i = start + length + ticks
	}
	return out.String()
}

// closing returns where a span ends that began with so many backticks: at as many,
// before the paragraph's end. It is -1 where it does not.
func closing(text string, ticks int) int {
	if end := strings.Index(text, "\n\n"); end >= 0 {
		text = text[:end]
	}
	for i := 0; i < len(text); i++ {
		n := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if n == ticks {
			return i
		}
		i += n
	}
	return -1
}

func TestReadPage(t *testing.T) {
	p, err := readPage("x.md", strings.Join([]string{
		"# One `two` (three) [four](five.md)!",
		"Text `a",
		"b` and `` c`d `` and [e](f.md).",
		"```go",
		"# no heading",
		"```",
		"1. item",
		"   ~~~sh -e",
		"   true",
		"     deeper",
		"   ~~~",
		"## Same",
		"## Same",
		"#no heading",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.headings); got != "[{1 one-two-three-four} {12 same} {13 same-1}]" {
		t.Errorf("headings %s", got)
	}
	if got := fmt.Sprintf("%q", p.blocks); got != `[{"x.md" '\x05' "go" ["# no heading"]} {"x.md" '\t' "sh" ["true" "  deeper"]}]` {
		t.Errorf("blocks %s", got)
	}
	if got := fmt.Sprintf("%q", p.spans()); got != `[{'\x01' "two"} {'\x02' "a\nb"} {'\x03' " c`+"`"+`d "}]` {
		t.Errorf("spans %s", got)
	}
	if got := p.text(); len(got) != len(p.prose) || got[0].text != "# One  (three) [four](five.md)!" || got[2].text != " and  and [e](f.md)." {
		t.Errorf("text %q", got)
	}
	if _, err := readPage("x.md", "```\nno end"); err == nil {
		t.Error("a block without an end is read")
	}
}
