package shell

import (
	"bytes"
	"testing"
)

// Names from files of others cannot move the cursor or colour what follows.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"conv1.weight": "conv1.weight", "größe 日本": "größe 日本", "a\x1b[2Jb": `"a\x1b[2Jb"`, "a\nb": `"a\nb"`, "\u202eb": `"\u202eb"`,
	} {
		if found := Plain(text); found != want {
			t.Errorf("found %q, expected %q", found, want)
		}
	}
}

// Prose is broken where the terminal is narrower, below its last column, and no word of it is lost.
func TestProseFitsTheTerminal(t *testing.T) {
	for columns, want := range map[int]string{
		0:  "together  ε = 1 at δ = 0.001 over 12 releases of/a/long/name\n",
		30: "together  ε = 1 at δ = 0.001\n          over 12 releases\n          of/a/long/name\n",
		22: "together  ε = 1 at δ =\n          0.001 over\n          12 releases\n          of/a/long/name\n",
	} {
		p := page{columns: columns}
		if Prosef(&p, "together  ε = %d at δ = 0.001 over %d releases of/a/long/name", 1, 12); p.String() != want {
			t.Errorf("%d columns: found\n%sexpected\n%s", columns, &p, want)
		}
	}
	var b bytes.Buffer
	if Prosef(&b, "%s", "a  b"); b.String() != "a  b\n" {
		t.Errorf("found %q", &b)
	}
}
