package attack

import (
	"math"
	"path/filepath"
	"testing"

	"dpsgd/internal/chart"
	"dpsgd/internal/random"
	"dpsgd/internal/score"
	"dpsgd/internal/tiny"
)

// deviations is the limit for measured shares, in standard deviations. A normal law passes it in
// either direction with a chance of 6e-13; a binomial one of so many trials with less than 1e-11.
const deviations = 7.2

// within says whether a share fits a coin with this chance.
func within(s score.Share, chance float64) bool {
	return math.Abs(s.Accuracy-chance) <= spread(s, chance)
}

func spread(s score.Share, chance float64) float64 {
	return deviations*math.Sqrt(chance*(1-chance)/float64(s.Examples)) + 1/float64(s.Examples)
}

// Without noise the difference is the person's bit, always. With noise the attack that knows all
// others is right as often as the best attack, and the attack by the difference no more often; both
// stay below what ε alone allows. Thirteen rows and two laws fail falsely with a chance below 1e-9.
func TestDifferencing(t *testing.T) {
	for _, noise := range []Noise{Laplace, Gaussian} {
		d := tiny.Must(Difference(noise, 3400))(t)
		if bare := d.Rows[0]; bare.Difference.Accuracy != 1 || bare.Informed.Accuracy != 1 {
			t.Errorf("without noise: found %+v, expected every bit", bare)
		}
		for _, g := range d.Rows[1:] {
			if !within(g.Informed, g.Allowed) {
				t.Errorf("%s, ε = %g: found %.4f, expected %.4f of the best attack", noise, g.Epsilon, g.Informed.Accuracy, g.Allowed)
			}
			if g.Difference.Accuracy > g.Allowed+spread(g.Difference, g.Allowed) || g.Difference.Accuracy < 0.5-spread(g.Difference, 0.5) || g.Allowed > g.Bound+1e-9 {
				t.Errorf("%s: found %+v, expected at most the best attack, and that to be within the bound", noise, g)
			}
			want := math.Exp(g.Epsilon)
			if noise == Gaussian {
				want += delta
			}
			if want /= 1 + math.Exp(g.Epsilon); !(math.Abs(g.Bound-want) <= 1e-12) {
				t.Errorf("%s, ε = %g: the bound is %v, expected %v", noise, g.Epsilon, g.Bound, want)
			}
		}
	}
}

// The best attack on one answer with discrete Laplace noise is right with probability e^ε/(1 +
// e^ε), all that ε allows: the probability of n ≥ 0 under Pr[n] ∝ a^|n|, a = e^-ε. On Gaussian
// noise of deviation σ it is Φ(1/2σ).
func TestBestAttack(t *testing.T) {
	src := random.ForTest(1)
	for _, epsilon := range differencingEpsilons {
		g, err := guess(Laplace, epsilon, 1, src)
		if want := 1 / (1 + math.Exp(-epsilon)); err != nil || !(math.Abs(g.Allowed-want) <= 1e-9) {
			t.Errorf("ε = %g: found %v, expected %v (%v)", epsilon, g.Allowed, want, err)
		}
		sigma, err := Gaussian.forEpsilon(epsilon)
		tiny.Check(t, err)
		g, err = guess(Gaussian, epsilon, 1, src)
		if want := math.Erfc(-1/(2*sigma)/math.Sqrt2) / 2; err != nil || !(math.Abs(g.Allowed-want) <= 1e-9) {
			t.Errorf("ε = %g: found %v, expected %v (%v)", epsilon, g.Allowed, want, err)
		}
	}
}

// A mechanism with half the noise that it claims is caught: the attack is right more often than is
// allowed. It is missed with a chance below 1e-9.
func TestHalfTheNoiseIsCaught(t *testing.T) {
	const trials = 15_000
	for _, noise := range []Noise{Laplace, Gaussian} {
		parameter := tiny.Must(noise.forEpsilon(2))(t)
		honest := tiny.Must(guess(noise, 2, 1, random.New()))(t)
		_, right, _, err := tryOften(noise, parameter/2, trials, random.New())
		if found := score.NewShare(right, trials); err != nil || found.Accuracy < honest.Allowed+spread(found, honest.Allowed) {
			t.Errorf("%s: %.4f of the bits are found with half the noise, expected clearly more than %.4f (%v)", noise, found.Accuracy, honest.Allowed, err)
		}
	}
}

// At noise far below √people at least 95 % of them are found, at noise of 4·√people and more no
// more than the ledger allows, which is little above guessing; in between as many as least squares
// have to. The bits of one database are not quite independent: their shares may lie 1 % further
// off. The test fails falsely with a chance below 1e-9.
func TestReconstruction(t *testing.T) {
	for _, noise := range []Noise{Laplace, Gaussian} {
		r := tiny.Must(Reconstruct(noise, 100, 500))(t)
		for _, row := range r.Rows {
			found := row.Recovered
			if row.Ratio <= 0.1 && found.Accuracy < 0.95 {
				t.Errorf("%s: %.3f found at %g·√people, expected at least 0.95", noise, found.Accuracy, row.Ratio)
			}
			if found.Accuracy > row.Allowed+spread(found, row.Allowed) {
				t.Errorf("%s: %.3f found at %g·√people, expected at most %.3f", noise, found.Accuracy, row.Ratio, row.Allowed)
			}
			if row.Ratio >= 4 && row.Allowed > 0.66 {
				t.Errorf("%s: %.3f allowed at %g·√people, expected little above a half", noise, row.Allowed, row.Ratio)
			}
			if !(math.Abs(found.Accuracy-row.Expected) <= spread(found, row.Expected)+0.01) {
				t.Errorf("%s: %.3f found at %g·√people, expected %.3f of least squares", noise, found.Accuracy, row.Ratio, row.Expected)
			}
		}
		if last := r.Rows[len(r.Rows)-1]; !(last.Epsilon < 1.2) || r.Rows[1].Epsilon < 100 {
			t.Errorf("%s: ε is %v at most noise and %v at least", noise, last.Epsilon, r.Rows[1].Epsilon)
		}
	}
}

// What is measured is within the bound, which the worst database reaches; the answers with and
// without the person differ by a factor of at most e^ε, but for chance. The last fails falsely with
// a chance below 1e-9.
func TestSensitivity(t *testing.T) {
	const epsilon = 0.7
	s := tiny.Must(Sensitivities(500, epsilon, 5000))(t)
	for _, q := range s.Queries {
		if q.Measured > q.Bound || !(math.Abs(q.Worst-q.Bound) <= 1e-12) || !(math.Abs(q.Noise-math.Sqrt2*q.Bound/epsilon) <= 1e-12) {
			t.Errorf("%+v", q)
		}
	}
	// About 27 % of drawn people are over 65: nobody decides whether more than half are, 250 of
	// 500, but once in 10^25. The bound is 1 nevertheless.
	if q := s.Queries[1]; q.Answer != 0 || q.Measured != 0 || q.Worst != 1 || q.Bound != 1 {
		t.Errorf("found %+v, expected a threshold that nobody moves here, and one person at worst", q)
	}
	for x := s.expected - 5; x <= s.expected+5; x++ {
		for i := range s.noisy {
			one, other := float64(s.noisy[i][x]), float64(s.noisy[1-i][x])
			if one > math.Exp(epsilon)*(other+deviations*math.Sqrt(other+10))+deviations*math.Sqrt(one+10) {
				t.Errorf("%d is answered %v times and %v times, expected a factor of at most %v", x, one, other, math.Exp(epsilon))
			}
		}
	}
}

// Wrong arguments are refused, with what was expected.
func TestRefused(t *testing.T) {
	if _, err := Difference("cauchy", 1); err == nil {
		t.Error("found an attack on noise that there is none of")
	}
	for _, n := range [][2]int{{1, 10}, {10, 9}, {mostPeople + 1, mostQueries}, {10, mostQueries + 1}} {
		if _, err := Reconstruct(Laplace, n[0], n[1]); err == nil {
			t.Errorf("found a reconstruction of %d people by %d queries", n[0], n[1])
		}
	}
	if _, err := Sensitivities(1, 1, 1); err == nil {
		t.Error("found the sensitivity of one person's database")
	}
}

// Every attack can be drawn.
func TestPictures(t *testing.T) {
	d := tiny.Must(Difference(Laplace, 10))(t)
	r := tiny.Must(Reconstruct(Gaussian, 10, 50))(t)
	s := tiny.Must(Sensitivities(10, 1, 10))(t)
	for name, c := range map[string]chart.Chart{"d": d.Chart(), "r": r.Chart(), "s": s.Chart()} {
		if err := c.Write(filepath.Join(t.TempDir(), name+".svg")); err != nil || len(c.Lines) < 2 {
			t.Errorf("%s: found %d lines (%v)", name, len(c.Lines), err)
		}
	}
}
