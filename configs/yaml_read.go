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

// Sources have limits on bytes, bytes of a line, and brackets: the parser's time grows with the
// square of the size and of the nesting (go-yaml 1.19.2: two minutes for 1 MiB of short keys), so
// they are far below what a machine can hold and far above what a configuration needs; the worst
// accepted source takes about a second.
const (
	maxBytes     = 64 << 10
	maxLineBytes = 8 << 10
	maxBrackets  = 2000
)

// readYAML turns a YAML source into a node. It returns nil, with the reason in the report, when
// there is no way to go on. from is where the source begins: the start of a file, or an override,
// which is then the place of every node.
func readYAML(r *report, from Position, src []byte) *node {
	c := converter{r, from}
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	if line, message := unreadableSource(src); message != "" {
		r.Addf(c.position(line, 1), from.Override, "%s", message)
		return nil
	}
	parsed, err := parseYAML(src)
	if err != nil {
		at, message := c.position(1, 1), err.Error()
		var positioned yaml.Error
		if errors.As(err, &positioned) {
			message, at = positioned.GetMessage(), c.at(positioned.GetToken())
		}
		r.Addf(at, from.Override, "not readable as YAML: %s", tabs.Replace(message))
		return nil
	}
	return c.document(parsed)
}

// tabs puts a message of the parser into one line and makes its tabs visible.
var tabs = strings.NewReplacer("\t", `\t`, "\n", " ")

// unreadableSource returns why a source is refused before it is parsed, and the line: it is beyond
// the limits, or is no text. The message is "" for other sources.
func unreadableSource(src []byte) (line int, message string) {
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

// parseYAML calls the YAML parser. It returns a panic of the parser as an error, because a file is
// a stranger's input.
func parseYAML(src []byte) (file *ast.File, err error) {
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
	report *report
	from   Position
}

func (c converter) position(line, column int) Position {
	if c.from.Override != "" {
		return c.from
	}
	return Position{File: c.from.File, Line: line, Column: column}
}

func (c converter) at(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return c.position(1, 1)
	}
	return c.position(t.Position.Line, t.Position.Column)
}

func (c converter) document(f *ast.File) *node {
	body := &node{Kind: nullNode, At: c.position(1, 1)}
	for i, doc := range f.Docs {
		if d, ok := doc.Body.(*ast.DirectiveNode); ok {
			return c.node(d, c.from.Override)
		}
		start := doc.Start
		if start == nil && doc.Body != nil {
			start = doc.Body.GetToken()
		}
		if i > 0 {
			c.report.Addf(c.at(start), c.from.Override, "found a second document, expected one document in the file")
			break
		}
		if doc.Body == nil {
			body.At = c.at(start)
			continue
		}
		body = c.node(doc.Body, c.from.Override)
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
		out := &node{Kind: listNode, At: at}
		for i, item := range n.Values {
			out.Items = append(out.Items, c.node(item, fmt.Sprintf("%s[%d]", path, i)))
		}
		return out
	case *ast.NullNode:
		out := &node{Kind: nullNode, At: at}
		if n.Token.Type != token.ImplicitNullType {
			out.Text = n.Token.Value
		}
		return out
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		return &node{Kind: scalarNode, Text: n.Token.Value, Quoted: quoted, At: at}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{Kind: scalarNode, Text: n.GetToken().Value, At: at}
	}
	c.report.Addf(at, path, "found %s, expected plain YAML without it", refusedYAML(n))
	return &node{Kind: brokenNode, At: at}
}

// refusedYAML returns the name of a part of YAML that is not for configurations.
func refusedYAML(n ast.Node) string {
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

func (c converter) mapping(values []*ast.MappingValueNode, at Position, path string) *node {
	out := &node{Kind: mappingNode, At: at}
	lines := map[string]int{}
	for i, v := range values {
		keyAt := c.at(v.Key.GetToken())
		if i == 0 {
			out.At = keyAt // the parser's token of a block mapping is its first colon
		}
		key, ok := c.key(v.Key, keyAt, path)
		if !ok {
			continue
		}
		if first, again := lines[key]; again {
			c.report.Addf(keyAt, joinKey(path, key), "found twice, expected once (first on line %d)", first)
			continue
		}
		lines[key] = keyAt.Line
		value := &node{Kind: nullNode, At: keyAt}
		if v.Value != nil {
			value = c.node(v.Value, joinKey(path, key))
		}
		if value.Kind == nullNode {
			value.At = keyAt
		}
		out.Entries = append(out.Entries, entry{key, keyAt, value})
	}
	return out
}

// key returns the text of a mapping's key, and false with a report if it is no plain word.
func (c converter) key(n ast.MapKeyNode, at Position, path string) (string, bool) {
	switch n.(type) {
	case *ast.MergeKeyNode:
		c.report.Addf(at, path, "found a merge key (<<), expected plain YAML without it")
		return "", false
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	c.report.Addf(at, path, "found a key that is not a plain word, expected plain YAML without it")
	return "", false
}
