package configs

import "fmt"

// nodeKind is the form of a YAML value, before anyone asks for a type.
type nodeKind int

// The kinds of values.
const (
	scalarNode nodeKind = iota
	listNode
	mappingNode
	nullNode
	brokenNode // refused while reading; already reported
)

// node is a YAML value of the plain kind that a configuration may hold: no anchors, aliases,
// merge keys, tags, block text or several documents. A scalar keeps the characters of the source,
// so that "010", "1_000" or "yes" are never read as something that the writer did not see.
type node struct {
	Kind    nodeKind
	Text    string // scalar: its characters, without quotes
	Quoted  bool   // scalar: written in quotes
	At      Position
	Entries []entry // mapping, in file order, keys distinct
	Items   []*node // list
}

// entry is one key of a mapping.
type entry struct {
	Key   string
	At    Position // of the key
	Value *node
}

// Describe says what was found, for a message.
func (n *node) Describe() string {
	switch {
	case n.Kind == listNode && len(n.Items) == 0:
		return "an empty list"
	case n.Kind == listNode:
		return "a list"
	case n.Kind == mappingNode:
		return "a mapping"
	case n.Kind == nullNode && n.Text == "":
		return "nothing"
	case n.Quoted:
		return fmt.Sprintf("the text %q", shorten(n.Text))
	default:
		return printable(n.Text)
	}
}
