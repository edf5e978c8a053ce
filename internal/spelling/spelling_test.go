package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"run", "run", 0}, {"rnu", "run", 2}, {"tabel", "table", 2}, {"kitten", "sitting", 3}} {
		if a, b := Distance(test.a, test.b), Distance(test.b, test.a); a != test.want || b != test.want {
			t.Errorf("from %q to %q: found %d and back %d, expected %d", test.a, test.b, a, b, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"epsilon", "noise_multiplier", "delta", "clip_norm", "max_pool2d"}
	for found, want := range map[string]string{
		"Epsilon": "epsilon", "epsilom": "epsilon", "noiseMultiplier": "noise_multiplier", "clipnorm": "clip_norm", "detla": "delta",
		"MaxPool2d": "max_pool2d", "q": "", "sampling": "", "": "", strings.Repeat("delta", 1000): "",
	} {
		if got := Nearest(found, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", found, got, want)
		}
	}
}

// A hint stands behind an error, and an argument can be copied into a shell.
func TestHintAndArgument(t *testing.T) {
	for _, test := range []struct{ found, want string }{
		{Hint("fecth", []string{"list", "fetch"}), " (did you mean fetch?)"}, {Hint("nothing", []string{"list", "fetch"}), ""},
		{Argument("runs/a-1"), "runs/a-1"}, {Argument("my runs/it's"), `'my runs/it'\''s'`}, {Argument("-x"), "'./-x'"}, {Argument("-x")[1:3], "./"}, {Argument("$HOME"), "'$HOME'"},
	} {
		if test.found != test.want {
			t.Errorf("found %q, expected %q", test.found, test.want)
		}
	}
}
