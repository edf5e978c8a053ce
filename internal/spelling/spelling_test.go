package spelling

import "testing"

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
