package source

import "fmt"

// Kind is what a YAML value is before anyone asks for a type.
type Kind int

// The kinds of values.
const (
	Scalar Kind = iota
	List
	Mapping
	Null
	Broken // refused while reading; already reported
)

// Node is a YAML value of the plain kind that a configuration may hold: no anchors, aliases,
// merge keys, tags, block text or several documents. A scalar keeps the characters of the source,
// so that "010", "1_000" or "yes" are never read as something that the writer did not see.
type Node struct {
	Kind    Kind
	Text    string // scalar: its characters, without quotes
	Quoted  bool   // scalar: written in quotes
	At      Position
	Entries []Entry // mapping, in file order, keys distinct
	Items   []*Node // list
}

// Entry is one key of a mapping.
type Entry struct {
	Key   string
	At    Position // of the key
	Value *Node
}

// Describe says what was found, for a message.
func (n *Node) Describe() string {
	switch {
	case n.Kind == List && len(n.Items) == 0:
		return "an empty list"
	case n.Kind == List:
		return "a list"
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == Null && n.Text == "":
		return "nothing"
	case n.Quoted:
		return fmt.Sprintf("the text %q", shorten(n.Text))
	default:
		return Printable(n.Text)
	}
}
