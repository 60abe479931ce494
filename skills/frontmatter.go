package skills

import (
	"bytes"

	"github.com/plugberth/plugberth/internal/textpos"
	"github.com/plugberth/plugberth/plugin/finding"
)

const bom = "\uFEFF"

// document is a SKILL.md cut into its parts. Offsets are of the file.
type document struct {
	bom   bool
	blank bool   // blank lines before it were forgiven
	open  int    // offset of the opening delimiter
	front []byte // the YAML between the delimiters
	start int    // offset of front
	body  []byte // what follows the closing delimiter's line
}

// fault is something wrong at an offset of the file.
type fault struct {
	code    finding.Code
	off     int
	message string
	pointer string // of the value or key, where it is known
}

func refuse(code finding.Code, off int, message string) *fault {
	return &fault{code: code, off: off, message: message}
}

// split cuts a SKILL.md at its delimiters: the first line, and the first later
// line that is --- in column one, blanks at their ends allowed. In lenient mode
// blank lines may stand before.
func split(file []byte, mode Mode) (document, *fault) {
	var doc document
	rest := file
	if bytes.HasPrefix(file, []byte(bom)) {
		doc.bom = true
		rest = rest[len(bom):]
	}
	line, next := cutLine(rest)
	if !isDelimiter(line) {
		f := noFrontmatter(file, rest, line)
		for mode == Lenient && len(next) > 0 && len(bytes.TrimLeft(line, " \t\r")) == 0 {
			doc.blank, rest = true, next
			line, next = cutLine(rest)
		}
		if !doc.blank || !isDelimiter(line) {
			return doc, f
		}
	}
	doc.open = len(file) - len(rest)
	doc.start = len(file) - len(next)
	for rest = next; len(rest) > 0; rest = next {
		line, next = cutLine(rest)
		if isDelimiter(line) {
			doc.front = file[doc.start : len(file)-len(rest)]
			doc.body = next
			return doc, nil
		}
	}
	return doc, refuse(finding.SkillFrontmatterUnclosed, doc.open, "the frontmatter has no end: put a line that is --- behind it")
}

const blankLines = "the first line is not ---: remove the blank lines before the frontmatter"

func noFrontmatter(file, rest, line []byte) *fault {
	switch {
	case bytes.HasPrefix(file, []byte{0xff, 0xfe}), bytes.HasPrefix(file, []byte{0xfe, 0xff}):
		return refuse(finding.SkillInvalidEncoding, 0, "the file is UTF-16: save it as UTF-8")
	case len(bytes.TrimSpace(line)) == 0 && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("---")):
		return refuse(finding.SkillNoFrontmatter, 0, blankLines)
	}
	return refuse(finding.SkillNoFrontmatter, 0, "the first line is not ---: begin the file with frontmatter")
}

// cutLine returns the first line without its end, and what follows.
func cutLine(s []byte) (line, next []byte) {
	line, next, _ = bytes.Cut(s, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), next
}

func isDelimiter(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && len(bytes.TrimLeft(line[3:], " \t")) == 0
}

// check refuses what must not reach the YAML reader.
func (d document) check(limit int) *fault {
	if len(d.front) > limit {
		return refuse(finding.SkillFrontmatterTooLarge, d.start, "the frontmatter is too large: move text to the body")
	}
	if off := textpos.FirstInvalid(d.front); off >= 0 {
		return refuse(finding.SkillInvalidEncoding, d.start+off, "this byte is not UTF-8: save the file as UTF-8")
	}
	// A marker at the start of what YAML calls a line ends a YAML document,
	// even inside a scalar, and the reader would drop what follows.
	for off := range yamlLines(d.front) {
		line := d.front[off:]
		if !bytes.HasPrefix(line, []byte("...")) && !bytes.HasPrefix(line, []byte("---")) {
			continue
		}
		if after := line[3:]; len(after) == 0 || after[0] == ' ' || after[0] == '\t' || yamlBreak(after) > 0 {
			return refuse(finding.SkillMultipleDocuments, d.start+off, "a YAML document marker stands inside the frontmatter: remove it")
		}
	}
	return nil
}
