package configs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits on a source. The parser's time grows with the square of the size and of the nesting
// (go-yaml 1.19.2: two minutes for 1 MiB of short keys), so they are far below what a machine
// can hold and far above what a configuration needs; the worst accepted source takes about a second.
const (
	maxBytes      = 64 << 10
	maxLineBytes  = 8 << 10
	maxBrackets   = 2000
	maxFoundRunes = 60 // of a value that a message quotes
)

// nodeKind is what a YAML value is before anyone asks for a type.
type nodeKind int

const (
	scalar nodeKind = iota
	list
	mapping
	null
	broken // refused while reading; already reported
)

// node is a YAML value of the plain kind that a configuration may hold: no anchors, aliases,
// merge keys, tags, block text or several documents. A scalar keeps the characters of the source,
// so that "010", "1_000" or "yes" are never read as something that the writer did not see.
type node struct {
	kind    nodeKind
	text    string // scalar: its characters, without quotes
	quoted  bool   // scalar: written in quotes
	at      position
	entries []entry // mapping, in file order, keys distinct
	items   []*node // list
}

type entry struct {
	key   string
	at    position
	value *node
}

// describe says what was found, for a message.
func (n *node) describe() string {
	switch {
	case n.kind == list && len(n.items) == 0:
		return "an empty list"
	case n.kind == list:
		return "a list"
	case n.kind == mapping:
		return "a mapping"
	case n.kind == null && n.text == "":
		return "nothing"
	case n.quoted:
		return "the text " + fmt.Sprintf("%q", shorten(n.text))
	default:
		return printable(n.text)
	}
}

// printable returns text in one short line, quoted when it holds anything unusual.
func printable(text string) string {
	text = shorten(text)
	if q := fmt.Sprintf("%q", text); q[1:len(q)-1] != text {
		return q
	}
	return text
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxFoundRunes {
		return text
	}
	return string([]rune(text)[:maxFoundRunes]) + "…"
}

// read turns a YAML source into a node. It returns nil, with the reason in the report, when there
// is no way to go on. With override set the source is the value of that override.
func read(r *report, file, override string, src []byte) *node {
	c := converter{report: r, file: file, override: override}
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	if line, message := unreadable(src); message != "" {
		r.addf(c.position(line, 1), override, "%s", message)
		return nil
	}
	parsed, err := parse(src)
	if err != nil {
		at, message := c.position(1, 1), err.Error()
		var positioned yaml.Error
		if errors.As(err, &positioned) {
			message, at = positioned.GetMessage(), c.at(positioned.GetToken())
		}
		r.addf(at, override, "not readable as YAML: %s", tabs.Replace(message))
		return nil
	}
	return c.document(parsed)
}

// tabs keeps a message of the parser in one line and shows what it found.
var tabs = strings.NewReplacer("\t", `\t`, "\n", " ")

// unreadable returns why a source is refused before it is parsed, and the line, or "".
func unreadable(src []byte) (line int, message string) {
	if len(src) > maxBytes {
		return 1, fmt.Sprintf("found more than %d bytes, expected at most %d", maxBytes, maxBytes)
	}
	brackets := 0
	for i, text := range bytes.Split(src, []byte("\n")) {
		if len(text) > maxLineBytes {
			return i + 1, fmt.Sprintf("found a line of %d bytes, expected at most %d", len(text), maxLineBytes)
		}
		brackets += bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{"))
		if brackets > maxBrackets {
			return i + 1, fmt.Sprintf("found more than %d opening brackets, expected at most %d", maxBrackets, maxBrackets)
		}
		if !utf8.Valid(text) {
			return i + 1, "found bytes that are not UTF-8, expected UTF-8 text"
		}
		if at := bytes.IndexFunc(text, isControl); at >= 0 {
			r, _ := utf8.DecodeRune(text[at:])
			return i + 1, fmt.Sprintf("found the control character %U, expected printable text", r)
		}
	}
	return 0, ""
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == '\uFEFF' }

// parse calls the YAML parser. A file is a stranger's input: a panic of the parser is an error here.
func parse(src []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser failed: %v", p)
		}
	}()
	// Duplicate keys are found by the converter, which goes on after the first.
	return parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
}

// converter turns the parser's tree into nodes and refuses what a configuration has no use for.
type converter struct {
	report         *report
	file, override string
}

func (c converter) position(line, column int) position {
	if c.override != "" {
		return position{override: c.override}
	}
	return position{file: c.file, line: line, column: column}
}

func (c converter) at(t *token.Token) position {
	if t == nil || t.Position == nil {
		return c.position(1, 1)
	}
	return c.position(t.Position.Line, t.Position.Column)
}

func (c converter) document(f *ast.File) *node {
	var body *node
	for i, doc := range f.Docs {
		if d, ok := doc.Body.(*ast.DirectiveNode); ok {
			return c.node(d, c.override)
		}
		start := doc.Start
		if start == nil && doc.Body != nil {
			start = doc.Body.GetToken()
		}
		if i > 0 {
			c.report.addf(c.at(start), c.override, "found a second document, expected one document in the file")
			break
		}
		if doc.Body == nil {
			body = &node{kind: null, at: c.at(start)}
			continue
		}
		body = c.node(doc.Body, c.override)
	}
	if body == nil {
		body = &node{kind: null, at: c.position(1, 1)}
	}
	return body
}

// node converts one value; path is its full key, for messages.
func (c converter) node(n ast.Node, path string) *node {
	at := c.at(n.GetToken())
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n.Values, at, path)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, at, path)
	case *ast.SequenceNode:
		out := &node{kind: list, at: at}
		for i, item := range n.Values {
			out.items = append(out.items, c.node(item, fmt.Sprintf("%s[%d]", path, i)))
		}
		return out
	case *ast.NullNode:
		out := &node{kind: null, at: at}
		if n.Token.Type != token.ImplicitNullType {
			out.text = n.Token.Value
		}
		return out
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		return &node{kind: scalar, text: n.Token.Value, quoted: quoted, at: at}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{kind: scalar, text: n.GetToken().Value, at: at}
	}
	c.report.addf(at, path, "found %s, expected plain YAML without it", refused(n))
	return &node{kind: broken, at: at}
}

// refused names a part of YAML that is not for configurations.
func refused(n ast.Node) string {
	switch n.(type) {
	case *ast.AnchorNode:
		return "an anchor (&)"
	case *ast.AliasNode:
		return "an alias (*)"
	case *ast.TagNode:
		return "a tag (!)"
	case *ast.LiteralNode:
		return "block text (| or >)"
	case *ast.DirectiveNode:
		return "a directive (%)"
	}
	return "a " + strings.ToLower(n.Type().String())
}

func (c converter) mapping(values []*ast.MappingValueNode, at position, path string) *node {
	out := &node{kind: mapping, at: at}
	lines := map[string]int{}
	for i, v := range values {
		keyAt := c.at(v.Key.GetToken())
		if i == 0 {
			out.at = keyAt // the parser's token of a block mapping is its first colon
		}
		key, ok := c.key(v.Key, keyAt, path)
		if !ok {
			continue
		}
		if first, again := lines[key]; again {
			c.report.addf(keyAt, join(path, key), "found twice, expected once (first on line %d)", first)
			continue
		}
		lines[key] = keyAt.line
		value := &node{kind: null, at: keyAt}
		if v.Value != nil {
			value = c.node(v.Value, join(path, key))
		}
		if value.kind == null {
			value.at = keyAt
		}
		out.entries = append(out.entries, entry{key, keyAt, value})
	}
	return out
}

// key returns the text of a mapping's key.
func (c converter) key(n ast.MapKeyNode, at position, path string) (string, bool) {
	switch n.(type) {
	case *ast.MergeKeyNode:
		c.report.addf(at, path, "found a merge key (<<), expected plain YAML without it")
		return "", false
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	c.report.addf(at, path, "found a key that is not a plain word, expected plain YAML without it")
	return "", false
}

// join appends a key to a path, "optimizer" and "name" to "optimizer.name".
func join(path, key string) string {
	if path == "" {
		return printable(key)
	}
	return path + "." + printable(key)
}
