package configs

import (
	"bytes"
	"fmt"
	"strings"
)

// Key documents one key of a configuration.
type Key struct {
	Path    string // such as privacy.clip_norm
	Value   string // what it may hold, in words
	Default string // as in YAML; "" when there is none
	Doc     string // one sentence or two
}

// Keys lists every key of a configuration in file order.
func Keys() []Key {
	keys := make([]Key, len(fields))
	defaults := DefaultConfig()
	for i := range fields {
		f := &fields[i]
		keys[i] = Key{Path: f.path, Value: f.format.expected(), Doc: f.doc}
		if f.only != nil {
			keys[i].Doc += " Only with " + f.only.String() + "."
		}
		if f.hasDefault() {
			keys[i].Default = f.format.encode(f.at(&defaults))
		}
	}
	return keys
}

// Reference returns the documentation of all keys and layers in Markdown.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString("# Configuration reference\n\n" +
		"Generated from the table that the parser uses. A key without a default has to be given,\n" +
		"alone or as one of its pair.\n")
	section := ""
	for _, k := range Keys() {
		name, _, _ := strings.Cut(k.Path, ".")
		if name != section {
			section = name
			fmt.Fprintf(&b, "\n## %s\n\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n", name)
		}
		value := "`" + k.Default + "`"
		if k.Default == "" {
			value = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, cell(k.Value), value, cell(k.Doc))
	}
	b.WriteString("\n## Layers\n\nPyTorch's names and meanings; each layer works on one example at a time.\n\n" +
		"| Layer | Arguments | Meaning |\n|---|---|---|\n")
	for _, k := range layerKinds {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.name, cell(k.describe()), k.doc)
	}
	return b.Bytes()
}

// describe lists the arguments of a kind of layer.
func (k *layerKind) describe() string {
	parts := make([]string, len(k.arguments))
	for i, a := range k.arguments {
		parts[i] = "`" + a.name + "`: " + a.doc
	}
	return strings.Join(parts, " ")
}

// cell makes text safe for a cell of a Markdown table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(s)
}
