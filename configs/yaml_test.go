package configs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpsgd/internal/setting"
)

// outline writes a node with its places, as line:column.
func outline(n *node) string {
	at := fmt.Sprintf("%d:%d ", n.At.Line, n.At.Column)
	switch n.Kind {
	case listNode:
		var items []string
		for _, item := range n.Items {
			items = append(items, outline(item))
		}
		return at + "[" + strings.Join(items, ", ") + "]"
	case mappingNode:
		var entries []string
		for _, e := range n.Entries {
			entries = append(entries, fmt.Sprintf("%d:%d %s: %s", e.At.Line, e.At.Column, e.Key, outline(e.Value)))
		}
		return at + "{" + strings.Join(entries, ", ") + "}"
	}
	return at + n.Describe()
}

func TestValuesKnowTheirPlace(t *testing.T) {
	for src, want := range map[string]string{
		"":                             "1:1 nothing",
		"010":                          "1:1 010",
		"'010'":                        `1:1 the text "010"`,
		"[1_000, yes, ~, []]":          "1:1 [1:2 1_000, 1:9 yes, 1:14 ~, 1:17 []]",
		"a: 1\nb:\n  c: [2]\n":         "1:1 {1:1 a: 1:4 1, 2:1 b: 3:3 {3:3 c: 3:6 [3:7 2]}}",
		"\uFEFFa: {b: 1.50}\r\nc:\r\n": "1:1 {1:1 a: 1:5 {1:5 b: 1:8 1.50}, 2:1 c: 2:1 nothing}",
	} {
		var r report
		n := readYAML(&r, startOf("f.yaml"), []byte(src))
		if r.Err() != nil || outline(n) != want {
			t.Errorf("%q is %s, %v; want %s", src, outline(n), r.Err(), want)
		}
	}
}

func TestEverythingInAnOverrideIsAtTheOverride(t *testing.T) {
	var r report
	at := Position{Override: "a.b"}
	n := readYAML(&r, at, []byte("[1, {c: 2}, &d 3]"))
	r.Expected(n.Items[0], "a.b[0]", "text", "like this")
	want := "--set a.b: a.b[2]: found an anchor (&), expected plain YAML without it\n--set a.b: a.b[0]: found 1, expected text (like this)"
	if n.At != at || n.Items[1].Entries[0].Value.At != at || r.Err().Error() != want {
		t.Errorf("%+v says\n%v\nwant\n%s", n, r.Err(), want)
	}
}

// Sources that are refused before they are parsed.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct {
		src     string
		line    int
		message string
	}{
		{"a: 1\n\tü\n", 0, ""},
		{strings.Repeat("# x\n", maxBytes/4) + "#", 1, "found more than 65536 bytes, expected at most 65536"},
		{"a: 1\n#" + strings.Repeat("x", 9000), 2, "found a line of 9001 bytes, expected at most 8192"},
		{"a: 1\n" + strings.Repeat("[", 2001), 2, "found more than 2000 opening brackets, expected at most 2000"},
		{"a: caf\xe9", 1, "found bytes that are not UTF-8, expected UTF-8 text"},
		{"\na: \x00", 2, "found the control character U+0000, expected printable text"},
	} {
		if line, message := unreadableSource([]byte(tt.src)); line != tt.line || message != tt.message {
			t.Errorf("%.20q: line %d, %q; want line %d, %q", tt.src, line, message, tt.line, tt.message)
		}
	}
}

func TestProblemsAreInReadingOrder(t *testing.T) {
	var r report
	if r.Err() != nil {
		t.Error("an empty report is an error")
	}
	for _, at := range []Position{{Override: "k"}, {File: "b", Line: 1, Column: 1}, {File: "a", Line: 10, Column: 1}, {File: "a", Line: 2, Column: 7}, {File: "a", Line: 2, Column: 3}} {
		r.Addf(at, "", "x")
	}
	r.Expected(&node{Kind: brokenNode}, "", "y", "") // said already
	want := "a:2:3: x\na:2:7: x\na:10:1: x\nb:1:1: x\n--set k: x"
	if err := r.Err(); !errors.Is(err, ErrInvalid) || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestManyProblemsAreCutShort(t *testing.T) {
	var r report
	for range 200 {
		r.Addf(startOf("f"), "", "x")
	}
	lines := strings.Split(r.Err().Error(), "\n")
	if len(lines) != 51 || lines[50] != "and 150 more problems" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestTextThatOtherReadersMistake(t *testing.T) {
	for _, s := range []string{"true", "No", "ON", "off", "null", "~", "1", "-2.5", "1e3", "0x1F", "0o17", "010", "1_000", ".inf", "2024-05-01", "12:30", "1.2.3"} {
		if !ambiguous(s) {
			t.Errorf("%q is taken for text", s)
		}
	}
	for _, s := range []string{"cat", "run-1", "3d", "y", "infinity", "v1.2", "e", "none", "pictures/2024"} {
		if ambiguous(s) {
			t.Errorf("%q is not taken for text", s)
		}
	}
}

func TestFormattedTextReadsBack(t *testing.T) {
	for _, s := range []string{"", "cat", "a/b.c-d_1", "a: [b] #c", "true", "1e3", "ü ber", "x, y", `"`, `\`, "- a", "<=50K", "2024-05-01", " "} {
		var r report
		n := readYAML(&r, startOf("f"), []byte("["+formatText(s)+"]"))
		if r.Err() != nil || len(n.Items) != 1 || n.Items[0].Text != s || ambiguous(s) && !n.Items[0].Quoted {
			t.Errorf("%q is written %s and read as %s, %v", s, formatText(s), outline(n), r.Err())
		}
	}
}

func TestHints(t *testing.T) {
	one := &node{Text: "1"}
	number, integer, text := setting.Number{}, setting.Integer{}, freeText{}
	for _, tt := range []struct{ got, want string }{
		{hint(oneOf{}, &node{Text: "010"}), "a leading zero means octal to some readers"},
		{hint(oneOf{}, &node{Text: "3", Quoted: true}), "write it without quotes"},
		{hint(oneOf{}, &node{Text: "1e400"}), ""},
		{hint(number, &node{Text: "1e400"}), "too large for a number"},
		{hint(number, &node{Text: "1e-400"}), "too small for a number"},
		{hint(number, &node{Text: "1e3"}), ""},
		{hint(integer, &node{Text: "1e3"}), "write 1000"},
		{hint(integer, &node{Text: "1.5"}), ""},
		{hint(integer, &node{Text: "1e300"}), ""},
		{hint(integer, &node{Kind: listNode}), ""},
		{hint(setting.Boolean{}, &node{Text: "On"}), "write true"},
		{hint(text, &node{Text: "7"}), "put it in quotes if it is meant as text"},
		{hint(text, &node{Text: "7", Quoted: true}), ""},
		{one.BracketHint(), "write [1]"},
		{(&node{Text: "1", Quoted: true}).BracketHint(), `write ["1"]`},
		{(&node{Kind: listNode, Items: []*node{one}}).BracketHint(), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("the hint is %q, want %q", tt.got, tt.want)
		}
	}
}
