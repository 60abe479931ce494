package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDiagrams: the diagrams are of the two kinds that are checked here, keep to
// forms that every Mermaid reads, and name what is there.
func TestDiagrams(t *testing.T) {
	packages := publicPackages(t)
	count := 0
	for _, p := range markdownFiles(t) {
		for _, b := range p.blocks {
			if b.language != "mermaid" {
				continue
			}
			count++
			if _, err := readDiagram(b.lines); err != nil {
				t.Errorf("%s: %v", b.where(), err)
			}
			for i, line := range b.lines {
				for _, name := range unknownNames(line, packages) {
					t.Errorf("%s:%d: there is no %s", b.page, b.line+i, name)
				}
			}
		}
	}
	if count == 0 {
		t.Fatal("no diagram was looked at")
	}
}

// A diagram is a flowchart or a sequence diagram, as far as it is looked at.
type diagram struct {
	labels map[string]string // of nodes, by their ids; the id where a node has none
	edges  [][2]string       // ids
}

// Labels are quoted, or have nothing in them that means something to Mermaid.
const (
	nodeID = `[A-Za-z][A-Za-z0-9_]*`
	quoted = `"[^"]*"`
	plain  = `[^"()\[\]{}|<>;#]+`
)

var (
	flowHead = regexp.MustCompile(`^(flowchart|graph) (TB|TD|BT|LR|RL)$`)
	node     = regexp.MustCompile(`^(` + nodeID + `)(?:\(\[(` + quoted + `|` + plain + `)\]\)|\[\((` + quoted + `|` + plain + `)\)\]|\[(` + quoted + `|` + plain + `)\]|\((` + quoted + `|` + plain + `)\)|\{(` + quoted + `|` + plain + `)\})?\s*`)
	arrow    = regexp.MustCompile(`^(<?-->|---|-\.->|<?==>)(?:\|(?:` + quoted + `|` + plain + `)\|)?\s*`)
	subgraph = regexp.MustCompile(`^subgraph (` + nodeID + `)(?:\[(` + quoted + `|` + plain + `)\])?$`)
	turn     = regexp.MustCompile(`^direction (TB|TD|BT|LR|RL)$`)

	participant = regexp.MustCompile(`^(?:participant|actor) (` + nodeID + `)(?: as [^;#]+)?$`)
	message     = regexp.MustCompile(`^(` + nodeID + `)\s*(?:->>|-->>|-\)|--\)|-x|--x)[+-]?\s*(` + nodeID + `):\s*[^;#]+$`)
	note        = regexp.MustCompile(`^Note (?:over|left of|right of) (` + nodeID + `)(?:,\s*(` + nodeID + `))?:\s*[^;#]+$`)
	fragment    = regexp.MustCompile(`^(?:alt|opt|loop|par|critical|break|rect)\b[^;#]*$`)
	branch      = regexp.MustCompile(`^(?:else|and|option)\b[^;#]*$`)
)

// readDiagram reads a diagram line by line; what it does not know is an error.
func readDiagram(lines []string) (*diagram, error) {
	d := &diagram{labels: map[string]string{}}
	read := d.flow
	open, body := 0, 0
	started := false
	for i, line := range lines {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "%%"):
			continue
		case !started && flowHead.MatchString(line):
			started = true
			continue
		case !started && line == "sequenceDiagram":
			started, read = true, d.sequence
			continue
		case !started:
			return nil, fmt.Errorf("a diagram begins with flowchart and a direction, or with sequenceDiagram, not with %q", line)
		case line == "end":
			if open--; open < 0 {
				return nil, fmt.Errorf("line %d: nothing is open that could end", i+1)
			}
			continue
		}
		opens, err := read(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if opens {
			open++
		}
		body++
	}
	if open != 0 || body == 0 {
		return nil, fmt.Errorf("the diagram is empty, or %d parts of it do not end", open)
	}
	return d, nil
}

// flow reads a line of a flowchart: a subgraph's begin, or nodes with arrows
// between them.
func (d *diagram) flow(line string) (opens bool, err error) {
	if m := subgraph.FindStringSubmatch(line); m != nil {
		return true, d.name(m[1], m[2])
	}
	if turn.MatchString(line) {
		return false, nil
	}
	previous := ""
	for rest := line; ; {
		m := node.FindStringSubmatch(rest)
		if m == nil {
			return false, fmt.Errorf("a node is expected at %q: quote labels that hold more than words", rest)
		}
		label := strings.Join(m[2:], "")
		if err := d.name(m[1], label); err != nil {
			return false, err
		}
		if previous != "" {
			d.edges = append(d.edges, [2]string{previous, m[1]})
		}
		if rest = rest[len(m[0]):]; rest == "" {
			return false, nil
		}
		a := arrow.FindString(rest)
		if a == "" {
			return false, fmt.Errorf("an arrow is expected at %q", rest)
		}
		previous, rest = m[1], rest[len(a):]
	}
}

// name notes a node.
func (d *diagram) name(id, label string) error {
	if slices.Contains([]string{"end", "graph", "flowchart", "subgraph", "style", "class", "click", "default"}, strings.ToLower(id)) {
		return fmt.Errorf("%q is a word of Mermaid", id)
	}
	label = strings.Trim(label, `"`)
	switch known, ok := d.labels[id]; {
	case label == "" && !ok:
		d.labels[id] = id
	case label != "" && ok && known != id && known != label:
		return fmt.Errorf("%s has two labels", id)
	case label != "":
		d.labels[id] = label
	}
	return nil
}

// sequence reads a line of a sequence diagram.
func (d *diagram) sequence(line string) (opens bool, err error) {
	if m := participant.FindStringSubmatch(line); m != nil {
		return false, d.name(m[1], m[1])
	}
	if fragment.MatchString(line) {
		return true, nil
	}
	if branch.MatchString(line) {
		return false, nil
	}
	m := message.FindStringSubmatch(line)
	if m == nil {
		m = note.FindStringSubmatch(line)
	}
	if m == nil {
		return false, fmt.Errorf("%q is no message, note or participant; texts hold no ; and no #", line)
	}
	for _, id := range m[1:] {
		if _, ok := d.labels[id]; id != "" && !ok {
			return false, fmt.Errorf("%s is no participant", id)
		}
	}
	return false, nil
}

func TestReadDiagram(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"flowchart LR\na[\"x (y)\"] -->|\"z, w\"| b --> c([agent])\nb <--> c", ""},
		{"flowchart TB\nsubgraph s[\"one: two\"]\n  a\nend\n%% a comment\n", ""},
		{"sequenceDiagram\nparticipant A as agent\nparticipant B\nA->>B: ask \"x\"\nB-->>A: y\nNote over A,B: z\nalt one\nA-xB: no\nelse other\nA->>B: yes\nend", ""},
		{"pie\n", "begins with"},
		{"flowchart\na", "begins with"},
		{"flowchart LR\n", "empty"},
		{"flowchart LR\nsubgraph s\na", "do not end"},
		{"flowchart LR\na\nend", "nothing is open"},
		{"flowchart LR\na[x (y)]", "arrow is expected"},
		{"flowchart LR\na -> b", "arrow is expected"},
		{"flowchart LR\na --> end", "word of Mermaid"},
		{"flowchart LR\na --> ", "node is expected"},
		{"flowchart LR\na[x]\na[y]", "two labels"},
		{"flowchart LR\na[\"x]", "arrow is expected"},
		{"sequenceDiagram\nA->>B: x", "no participant"},
		{"sequenceDiagram\nparticipant A\nA->>A: x; y", "no message"},
		{"sequenceDiagram\nparticipant A\nA says x", "no message"},
	} {
		_, err := readDiagram(strings.Split(tt.text, "\n"))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
}
