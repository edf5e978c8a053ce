package shell

import "testing"

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
