package slow

import "testing"

func TestEvidenceIsCarriedOutWhenItIsAskedFor(t *testing.T) {
	for _, value := range []string{"", "1"} {
		t.Setenv(variable, value)
		ran := false
		t.Run("evidence", func(t *testing.T) {
			Evidence(t)
			ran = true
		})
		if asked := value != ""; ran != asked || Asked() != asked {
			t.Errorf("%s=%q: carried out %v, asked %v", variable, value, ran, Asked())
		}
	}
}

func TestNumber(t *testing.T) {
	const own = "DPSGD_TEST_NUMBER"
	for _, c := range []struct {
		slow, own string
		want      int
	}{{"", "", 3}, {"1", "", 100}, {"", "7", 7}, {"1", "7", 7}} {
		t.Setenv(variable, c.slow)
		t.Setenv(own, c.own)
		if n := Number(t, own, 3, 100); n != c.want {
			t.Errorf("%+v: found %d", c, n)
		}
	}
}
