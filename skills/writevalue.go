package skills

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/plugberth/plugberth/internal/printable"
)

// What one extra value may hold, aliases written out.
const (
	maxNodes     = 100_000
	maxNodeDepth = 100
)

var errValue = errors.New("it is nested too deep, too large, or refers to itself")

// nodes makes YAML nodes of values, in the styles that this package chooses. The
// encoder's own way through text is not taken: it loses line ends that stand
// first.
type nodes struct{ left int }

func nodeOf(value any) (*yaml.Node, error) {
	n := nodes{maxNodes}
	return n.value(reflect.ValueOf(value), maxNodeDepth)
}

func scalar(tag, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

var nodeType = reflect.TypeFor[yaml.Node]()

func (n *nodes) value(v reflect.Value, depth int) (*yaml.Node, error) {
	if n.left--; depth <= 0 || n.left < 0 {
		return nil, errValue
	}
	if !v.IsValid() {
		return scalar("!!null", "null"), nil
	}
	if v.Type() == nodeType {
		node := v.Interface().(yaml.Node)
		return n.node(&node, depth)
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return scalar("!!null", "null"), nil
		}
		return n.value(v.Elem(), depth-1)
	case reflect.String:
		return n.text(v.String())
	case reflect.Bool:
		return scalar("!!bool", strconv.FormatBool(v.Bool())), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return scalar("!!int", strconv.FormatInt(v.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return scalar("!!int", strconv.FormatUint(v.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		return scalar("!!float", floatText(v.Float(), v.Type().Bits())), nil
	case reflect.Slice, reflect.Array:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			item, err := n.value(v.Index(i), depth-1)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	case reflect.Map:
		return n.mapping(v, depth)
	}
	return nil, fmt.Errorf("a value of the Go type %s is none of those that can be", v.Type())
}

// floatText writes a number so that YAML reads it as one that is no integer.
func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	text := strconv.FormatFloat(f, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func (n *nodes) mapping(v reflect.Value, depth int) (*yaml.Node, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, errors.New("the keys of a map must be strings")
	}
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	for _, key := range keys {
		k, err := n.text(key.String())
		if err != nil {
			return nil, err
		}
		value, err := n.value(v.MapIndex(key), depth-1)
		if err != nil {
			return nil, err
		}
		m.Content = append(m.Content, k, value)
	}
	return m, nil
}

func (n *nodes) text(s string) (*yaml.Node, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New(notUTF8)
	}
	return textNode(s), nil
}

// node copies a node without comments, anchors and aliases.
func (n *nodes) node(from *yaml.Node, depth int) (*yaml.Node, error) {
	if n.left--; depth <= 0 || n.left < 0 {
		return nil, errValue
	}
	switch {
	case from.Kind == yaml.DocumentNode && len(from.Content) == 1:
		return n.node(from.Content[0], depth-1)
	case from.Kind == yaml.AliasNode && from.Alias != nil:
		return n.node(from.Alias, depth-1)
	}
	tag := plainTag(from)
	if !coreTag(tag) {
		return nil, fmt.Errorf("the tag %s has no meaning in frontmatter", printable.Quote(tag))
	}
	switch {
	case from.Kind == yaml.ScalarNode && tag == "!!str":
		return n.text(from.Value)
	case from.Kind == yaml.ScalarNode && tag == "!!null":
		return scalar(tag, "null"), nil
	case from.Kind == yaml.ScalarNode:
		if _, err := n.text(from.Value); err != nil {
			return nil, err
		}
		return scalar(tag, from.Value), nil
	case from.Kind == yaml.SequenceNode, from.Kind == yaml.MappingNode && len(from.Content)%2 == 0:
		c := &yaml.Node{Kind: from.Kind, Tag: tag}
		for i, child := range from.Content {
			if from.Kind == yaml.MappingNode && i%2 == 0 && follow(child).ShortTag() == "!!merge" {
				return nil, errors.New("merge keys are not read: write out what << would bring in")
			}
			below, err := n.node(child, depth-1)
			if err != nil {
				return nil, err
			}
			c.Content = append(c.Content, below)
		}
		return c, nil
	}
	return nil, errors.New("the YAML node is no value")
}

// plainTag is the tag of a node, where << is text unless it is a key.
func plainTag(n *yaml.Node) string {
	if tag := n.ShortTag(); tag != "!!merge" {
		return tag
	}
	return "!!str"
}

// sameValue reports whether two nodes hold the same values, in order.
func sameValue(a, b *yaml.Node) bool {
	a, b = follow(a), follow(b)
	tag := plainTag(a)
	if a.Kind != b.Kind || tag != plainTag(b) || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode && a.Value != b.Value && tag != "!!null" {
		return false
	}
	for i := range a.Content {
		if !sameValue(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
