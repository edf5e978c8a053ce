package votes_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
	"dpsgd/internal/tiny"
)

// histograms calls visit with all counts of so many votes in so many classes.
func histograms(votes, classes int, visit func([]int)) {
	counts := make([]int, classes)
	var fill func(class, left int)
	fill = func(class, left int) {
		if class == classes-1 {
			counts[class] = left
			visit(slices.Clone(counts))
			return
		}
		for n := range left + 1 {
			counts[class] = n
			fill(class+1, left-n)
		}
	}
	fill(0, votes)
}

// neighbours are the counts with one vote moved.
func neighbours(counts []int) [][]int {
	var all [][]int
	for from := range counts {
		for to := range counts {
			if from != to && counts[from] > 0 {
				n := slices.Clone(counts)
				n[from]--
				n[to]++
				all = append(all, n)
			}
		}
	}
	return all
}

// distance counts the votes that differ.
func distance(a, b []int) int {
	d := 0
	for i := range a {
		d += max(0, a[i]-b[i])
	}
	return d
}

// winning are the probabilities of GNMax, by integration over the noise of the winner with the
// trapezoidal rule: independent of everything in the package.
func winning(counts []int, density, below func(x float64) float64, scale float64) []float64 {
	p := make([]float64, len(counts))
	const steps = 4000
	for class, count := range counts {
		h := 80 * scale / steps
		for i := range steps {
			z := -40*scale + h*float64(i)
			product := density(z/scale) / scale
			for other, theirs := range counts {
				if other != class {
					product *= below((float64(count) + z - float64(theirs)) / scale)
				}
			}
			p[class] += h * product
		}
	}
	return p
}

func renyi(p, q []float64, alpha float64) float64 {
	sum := 0.0
	for i := range p {
		if p[i] > 0 {
			sum += math.Exp(alpha*math.Log(p[i]) + (1-alpha)*math.Log(q[i]))
		}
	}
	return math.Log(sum) / (alpha - 1)
}

func normal(x float64) float64      { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
func laplace(x float64) float64     { return math.Exp(-math.Abs(x)) / 2 }
func laplaceBelow(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

// For all votes of a few teachers and all their neighbours the bound is not below the divergence of
// what the mechanism really does. A mechanism with half the noise is above the bound somewhere.
func TestNeverBelowBruteForce(t *testing.T) {
	for _, tt := range []struct {
		name           string
		mechanism      votes.Mechanism
		density, below func(float64) float64
		scale          float64
	}{
		{"gaussian", votes.GaussianMax{Sigma: 1.5}, normal, normalBelow, 1.5},
		{"gaussian", votes.GaussianMax{Sigma: 3}, normal, normalBelow, 3},
		{"laplace", votes.LaplaceMax{Scale: 1}, laplace, laplaceBelow, 1},
		{"laplace", votes.LaplaceMax{Scale: 4}, laplace, laplaceBelow, 4},
	} {
		dependent, halfNoise := false, false
		full, halved := map[[3]int][]float64{}, map[[3]int][]float64{}
		histograms(12, 3, func(counts []int) {
			full[[3]int(counts)] = winning(counts, tt.density, tt.below, tt.scale)
			halved[[3]int(counts)] = winning(counts, tt.density, tt.below, tt.scale/2)
		})
		histograms(12, 3, func(counts []int) {
			p, half := full[[3]int(counts)], halved[[3]int(counts)]
			if q := tt.mechanism.(interface{ LogQ([]int) float64 }).LogQ(counts); math.Exp(q) < 1-slices.Max(p)-1e-9 {
				t.Fatalf("%s %v: %v: found q = %v, expected at least %v", tt.name, tt.scale, counts, math.Exp(q), 1-slices.Max(p))
			}
			for _, alpha := range []float64{1.5, 2, 4, 8} {
				bound := tt.mechanism.Divergence(counts, alpha)
				dependent = dependent || bound < 0.9*tt.mechanism.Independent(alpha)
				for _, n := range neighbours(counts) {
					if d := renyi(p, full[[3]int(n)], alpha); !(d <= bound+1e-9) {
						t.Fatalf("%s %v: %v against %v at order %v: divergence %v, bound %v", tt.name, tt.scale, counts, n, alpha, d, bound)
					}
					halfNoise = halfNoise || renyi(half, halved[[3]int(n)], alpha) > bound
				}
			}
		})
		if !dependent {
			t.Errorf("%s %v: no votes were cheaper than the worst", tt.name, tt.scale)
		}
		if !halfNoise {
			t.Errorf("%s %v: half the noise is within the bound everywhere", tt.name, tt.scale)
		}
	}
}

// The check is a question with two answers: its divergence in closed form is within the bound, for
// all counts of 40 teachers.
func TestThresholdNeverBelowBruteForce(t *testing.T) {
	m := votes.Threshold{At: 25, Sigma: 4}
	passes := func(n int) []float64 {
		p := math.Erfc((25-float64(n))/4/math.Sqrt2) / 2
		return []float64{p, math.Erfc((float64(n)-25)/4/math.Sqrt2) / 2}
	}
	for n := 14; n <= 40; n++ {
		for _, other := range []int{max(14, n-1), min(40, n+1)} {
			for _, alpha := range []float64{1.5, 3, 10, 30} {
				bound := m.Divergence([]int{n, 40 - n, 0}, alpha)
				if n < 20 {
					bound = m.Divergence([]int{n, n, 40 - 2*n}, alpha)
				}
				if same := (votes.GaussianMax{Sigma: 4 * math.Sqrt2}).Divergence([]int{2 * max(n-25, 25-n), 0}, alpha); math.Abs(bound-same) > 1e-12 {
					t.Errorf("largest count %d at order %v: bound %v, of a maximum that is as sure %v", n, alpha, bound, same)
				}
				if d := renyi(passes(n), passes(other), alpha); d > bound+1e-12 {
					t.Errorf("largest count %d against %d at order %v: divergence %v, bound %v", n, other, alpha, d, bound)
				}
			}
		}
	}
}

// Of the check alone the sensitivity around a largest count is known by looking at all counts: at
// distance d it is the largest change between any count that near and its neighbours above and
// below.
func TestThresholdSensitivityLooksBothWays(t *testing.T) {
	const teachers = 40
	for _, at := range []float64{12, 20, 31.5} {
		a := votes.Aggregation{Max: votes.GaussianMax{Sigma: 3}, Check: &votes.Threshold{At: at, Sigma: 4}}
		for _, alpha := range []float64{1.5, 3, 10} {
			var cost []float64
			for count := range teachers + 1 {
				cost = append(cost, a.Check.Divergence([]int{count, 0}, alpha))
			}
			for count := range teachers + 1 {
				local := tiny.Must(a.LocalSensitivity([]votes.Question{{Votes: []int{count, 0}}}, teachers, alpha))(t)
				most := 0.0
				for d := range teachers + 1 {
					for c := max(0, count-d); c <= min(teachers, count+d); c++ {
						if c > 0 {
							most = max(most, math.Abs(cost[c]-cost[c-1]))
						}
						if c < teachers {
							most = max(most, math.Abs(cost[c]-cost[c+1]))
						}
					}
					if !(math.Abs(local[d]-most) <= 1e-15) {
						t.Fatalf("threshold %v, order %v, largest count %d: %v at distance %d, expected %v", at, alpha, count, local[d], d, most)
					}
				}
			}
		}
	}
}

// Golden values of research/pate_2018/smooth_sensitivity_test.py of TensorFlow Privacy: votes that
// come nearer to the plateau by rising q, and by falling q. Those of the plateau come from its q0.
func TestLocalSensitivityOfTheAuthors(t *testing.T) {
	for _, tt := range []struct {
		votes        []int
		sigma, alpha float64
		from         int
		want         []float64
	}{
		{[]int{1000, 500, 300, 200, 0}, 250, 10, 297, []float64{0, 2.77693450548e-7, 2.10853979548e-6, 2.73113623988e-6, 2.73113623988e-6}},
	} {
		a := votes.Aggregation{Max: votes.GaussianMax{Sigma: tt.sigma}}
		got := tiny.Must(a.LocalSensitivity([]votes.Question{{Votes: tt.votes}}, 2000, tt.alpha))(t)
		for i, want := range tt.want {
			if g := got[tt.from+i]; !(math.Abs(g-want) <= 1e-6*want+1e-15) {
				t.Errorf("%v at distance %d: %v, want %v", tt.votes, tt.from+i, g, want)
			}
		}
	}
}

// Conditions of the same test: the paper's C6 fails for σ = 20, and holds for σ = 30.
func TestConditionsOfTheAuthors(t *testing.T) {
	question := []votes.Question{{Votes: []int{100, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	_, err := votes.Aggregation{Max: votes.GaussianMax{Sigma: 20}}.LocalSensitivity(question, 100, 25)
	if !errors.Is(err, votes.ErrConditions) {
		t.Errorf("σ = 20: %v, expected ErrConditions", err)
	}
	if _, err := (votes.Aggregation{Max: votes.GaussianMax{Sigma: 30}}).LocalSensitivity(question, 100, 25); err != nil {
		t.Errorf("σ = 30: %v", err)
	}
	if _, err := (votes.Aggregation{Max: votes.LaplaceMax{Scale: 30}}).LocalSensitivity(question, 100, 25); !errors.Is(err, votes.ErrConditions) {
		t.Errorf("Laplace noise: %v, expected ErrConditions", err)
	}
}

// The smooth sensitivity is not below what all votes of a few teachers in all their neighbours
// show: max over all votes of e^(-β·distance) × the change to a neighbour, with and without a
// check, for two questions at once.
func TestSmoothSensitivityIsNotBelowBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	tried := 0
	for _, sigma := range []float64{2, 3, 5} {
		for _, alpha := range []float64{1.5, 2, 3} {
			const teachers, classes = 12, 3
			answers := votes.Aggregation{Max: votes.GaussianMax{Sigma: sigma}}
			checked := votes.Aggregation{Max: votes.GaussianMax{Sigma: sigma}, Check: &votes.Threshold{At: 8, Sigma: sigma}}
			for _, a := range []votes.Aggregation{answers, checked} {
				var all [][]int
				histograms(teachers, classes, func(c []int) { all = append(all, c) })
				value := map[[3]int]float64{}
				for _, c := range all {
					value[[3]int(c)] = a.Divergence([]votes.Question{{Votes: c, Answered: true}}, alpha)
				}
				changes := make([]float64, len(all)) // the local sensitivity of all votes
				for i, c := range all {
					for _, n := range neighbours(c) {
						changes[i] = max(changes[i], math.Abs(value[[3]int(c)]-value[[3]int(n)]))
					}
				}
				for range 6 {
					at := all[rng.IntN(len(all))]
					local, err := a.LocalSensitivity([]votes.Question{{Votes: at, Answered: true}}, teachers, alpha)
					if errors.Is(err, votes.ErrConditions) {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					tried++
					for i, c := range all {
						if d := distance(at, c); changes[i] > local[d]+1e-9 {
							t.Fatalf("σ=%v α=%v: %v changes by %v at distance %d of %v, bound %v", sigma, alpha, c, changes[i], d, at, local[d])
						}
					}
				}
			}
		}
	}
	if tried < 40 {
		t.Errorf("only %d votes were tried", tried)
	}
}

// Local sensitivities of several questions never fall with the distance: a set may lie at distance
// 5 in all, and at 3 in the question that is most sensitive there. The order of questions is of no
// account, answered or not.
func TestSensitivityOfSeveralQuestionsRises(t *testing.T) {
	a := votes.Aggregation{Max: votes.GaussianMax{Sigma: 40}, Check: &votes.Threshold{At: 200, Sigma: 20}}
	questions := []votes.Question{{Votes: []int{240, 5, 5, 0}, Answered: true}, {Votes: []int{130, 100, 20, 0}}, {Votes: []int{180, 60, 10, 0}, Answered: true}}
	local := tiny.Must(a.LocalSensitivity(questions, 250, 10))(t)
	if !slices.IsSorted(local) || local[0] == 0 || len(local) != 251 {
		t.Errorf("found %v …, expected 251 rising numbers", local[:5])
	}
	slices.Reverse(questions)
	for d, other := range tiny.Must(a.LocalSensitivity(questions, 250, 10))(t) {
		if !(math.Abs(other/local[d]-1) < 1e-12) {
			t.Fatalf("found %v and %v at distance %d, expected the same", other, local[d], d)
		}
	}
}

// The divergence of the release of neighbours in the range that the event allows is not above its
// bound, by integration; Theorem 23 of the paper is below it.
func TestSmoothGaussianAgainstIntegration(t *testing.T) {
	for _, e := range []accountant.SmoothGaussian{{Beta: 0.02, NoiseMultiplier: 5}, {Beta: 0.1, NoiseMultiplier: 2}, {Beta: 0.045, NoiseMultiplier: 3}} {
		for _, alpha := range []float64{1.5, 3, 5, 10, 20} {
			bound := e.Divergence(alpha)
			if math.IsInf(bound, 1) {
				continue
			}
			worst := 0.0
			for _, r := range []float64{math.Exp(-e.Beta), math.Exp(-e.Beta / 2), 1, math.Exp(e.Beta / 2), math.Exp(e.Beta)} {
				var sum float64
				const h = 0.02
				for x := -400.0; x < 400; x += h {
					p := x/e.NoiseMultiplier - 0
					q := (x - min(1, r)) / (e.NoiseMultiplier * r)
					logP := -p*p/2 - math.Log(e.NoiseMultiplier)
					logQ := -q*q/2 - math.Log(e.NoiseMultiplier*r)
					sum += h * math.Exp(alpha*logP+(1-alpha)*logQ) / math.Sqrt(2*math.Pi)
				}
				worst = max(worst, math.Log(sum)/(alpha-1))
			}
			if worst > bound+1e-9 || worst < 0.99*bound {
				t.Errorf("%v at order %v: divergence %v, bound %v", e, alpha, worst, bound)
			}
		}
	}
	paper := 20*math.Exp(0.04)/25 + (0.4-math.Log(0.2)/2)/19
	if got := (accountant.SmoothGaussian{Beta: 0.02, NoiseMultiplier: 5}).Divergence(20); got < 2*paper {
		t.Errorf("order 20: %v, expected twice the %v of the paper's formula", got, paper)
	}
}

// What is released is below the divergence as often as Z says: 10^5 draws of N(0,1), of which 1 %
// within 5 deviations (false failures: 1 in 10^6).
func TestReleasedIsAboveAsOftenAsItSays(t *testing.T) {
	s := votes.Smooth{Order: 15, Beta: 0.015, Sigma: 5, Z: 2.3263478740408408}
	tiny.Check(t, s.Validate())
	const f = 0.2
	private := s.Of(f, []float64{0.001, 0.002, 0.0021})
	rng := rand.New(rand.NewPCG(5, 6))
	below := 0
	for range 100_000 {
		if private.Centre+private.Deviation*rng.NormFloat64() < f {
			below++
		}
	}
	if !(math.Abs(float64(below)-1000) <= 5*math.Sqrt(990)) {
		t.Errorf("%d of 100,000 are below, expected about 1,000", below)
	}
	if e := s.Epsilon(0.2, 1e-5); !(e > votes.Epsilon(0.2, 15, 1e-5)) || s.Of(f, []float64{0}).Deviation == 0 {
		t.Errorf("ε = %v with the cost of its release, expected more, and noise where votes move nothing", e)
	}
	for _, bad := range []votes.Smooth{{}, {Order: 15, Beta: 0.04, Sigma: 5}, {Order: 15, Beta: 0.02, Sigma: 100, Z: 3}, {Order: 15, Beta: 0.02}} {
		if err := bad.Validate(); !errors.Is(err, accountant.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// What is released of all votes of a few teachers is as near to what is released of each of their
// neighbours as the event says: the centres differ by no more than either sensitivity, and the
// deviations by a factor of e^β. The sensitivity itself is no lower than what any votes at any
// distance change by, times e^(-β·distance). All of it by counting out the histograms, with and
// without a check.
func TestReleasedOfNeighbours(t *testing.T) {
	const teachers, classes = 9, 3
	smooth := votes.Smooth{Order: 2, Beta: 0.12, Sigma: 4, Z: 1}
	tiny.Check(t, smooth.Validate())
	event := smooth.Event().(accountant.SmoothGaussian)
	const rounding = 1 + 1e-9
	for name, a := range map[string]votes.Aggregation{
		"answers":   {Max: votes.GaussianMax{Sigma: 2}},
		"confident": {Max: votes.GaussianMax{Sigma: 3}, Check: &votes.Threshold{At: 6, Sigma: 2}},
	} {
		all, released, value := [][]int(nil), map[[3]int]votes.Private{}, map[[3]int]float64{}
		histograms(teachers, classes, func(c []int) {
			questions := []votes.Question{{Votes: c, Answered: true}}
			local := tiny.Must(a.LocalSensitivity(questions, teachers, smooth.Order))(t)
			f := a.Divergence(questions, smooth.Order)
			all, released[[3]int(c)], value[[3]int(c)] = append(all, c), smooth.Of(f, local), f
		})
		for _, c := range all {
			change, here := 0.0, released[[3]int(c)]
			for _, n := range neighbours(c) {
				there := released[[3]int(n)]
				change = max(change, math.Abs(value[[3]int(n)]-value[[3]int(c)]))
				if moved, most := math.Abs(here.Centre-there.Centre), min(here.Deviation, there.Deviation)/event.NoiseMultiplier; moved > most*rounding {
					t.Fatalf("%s: %v and %v have centres %v apart, the event says %v", name, c, n, moved, most)
				}
				if ratio := here.Deviation / there.Deviation; ratio > math.Exp(event.Beta)*rounding {
					t.Fatalf("%s: %v has %v times the deviation of %v, the event says %v", name, c, ratio, n, math.Exp(event.Beta))
				}
			}
			for _, other := range all {
				least := change * math.Exp(-smooth.Beta*float64(distance(c, other))) * smooth.Sigma
				if found := released[[3]int(other)].Deviation; found*rounding < least {
					t.Fatalf("%s: %v has the deviation %v, expected at least the %v of %v", name, other, found, least, c)
				}
			}
		}
	}
}
