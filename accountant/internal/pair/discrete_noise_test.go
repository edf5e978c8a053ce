package pair

import (
	"math"
	"testing"
)

// profile is δ(ε) of integers of noise with these chances, moved by distance, by its definition.
func profile(chance func(n int) float64, reach int, distance ...int) func(epsilon float64) float64 {
	return func(epsilon float64) float64 {
		delta, at := 0.0, make([]int, len(distance))
		var add func(i int)
		add = func(i int) {
			if i == len(at) {
				p, q := 1.0, 1.0
				for j, n := range at {
					p, q = p*chance(n), q*chance(n-distance[j])
				}
				delta += max(0, p-math.Exp(epsilon)*q)
				return
			}
			for at[i] = -reach; at[i] <= reach; at[i]++ {
				add(i + 1)
			}
		}
		add(0)
		return delta
	}
}

func laplaceChance(scale float64) func(n int) float64 {
	a := math.Exp(-1 / scale)
	return func(n int) float64 { return (1 - a) / (1 + a) * math.Pow(a, math.Abs(float64(n))) }
}

// The pair of discrete Laplace noise is the noise against itself, moved; and sums that move in
// several coordinates, by as much together, are never easier to tell apart.
func TestDiscreteLaplaceDominates(t *testing.T) {
	for _, c := range []struct {
		scale    float64
		distance []int
	}{
		{2, []int{1}}, {2, []int{5}}, {0.7, []int{2}}, {2, []int{1, 1}}, {1.3, []int{1, 4}}, {0.5, []int{2, 2}}, {3, []int{3, 2}},
		{0.6, []int{1, 1, 1}}, {0.9, []int{1, 2, 1}},
	} {
		total := 0
		for _, d := range c.distance {
			total += d
		}
		p := DiscreteLaplace(float64(total)/c.scale, float64(total))
		checkTails(t, p, grid(-4, 4, 333))
		reach := int(c.scale*40) + total
		if len(c.distance) == 3 {
			reach = 25
		}
		slow := profile(laplaceChance(c.scale), reach, c.distance...)
		for _, epsilon := range []float64{0, 0.1, 0.5, 1, 1.7} {
			lower, upper := Delta(p, epsilon)
			want := slow(epsilon)
			switch {
			case len(c.distance) == 1 && !(lower <= want+1e-13 && want <= upper+1e-13):
				t.Errorf("scale %v, distance %v: δ(%v) in [%v, %v], want %v", c.scale, c.distance, epsilon, lower, upper, want)
			case want > upper+1e-13:
				t.Errorf("scale %v, distances %v: δ(%v) = %v, above %v of the sum", c.scale, c.distance, epsilon, want, upper)
			}
		}
	}
}

// Of more steps than the pair has, the result is above the truth, by little, and ends where it
// ends.
func TestDiscreteLaplaceOfManySteps(t *testing.T) {
	const distance = 5003
	for _, epsilon := range []float64{0.01, 1, 20} {
		slow := profile(laplaceChance(distance/epsilon), distance, distance) // beyond, outcomes are as good as the ends
		p := DiscreteLaplace(epsilon, distance)
		checkTails(t, p, grid(-epsilon, epsilon*1.01, 301))
		if _, greatest := p.Support(); greatest != epsilon {
			t.Errorf("ε=%v: greatest loss %v", epsilon, greatest)
		}
		beyond := math.Exp(-(distance+1)*epsilon/distance) / (1 + math.Exp(-epsilon/distance)) // P[N < -distance]
		for _, part := range []float64{0, 0.3, 0.99} {
			at := part * epsilon
			want := slow(at) + beyond*-math.Expm1(at-epsilon)
			lower, upper := Delta(p, at)
			if !(upper >= want*(1-1e-11)) || !(lower <= want*(1+1e-3)+1e-6) {
				t.Errorf("ε=%v: δ(%v) in [%v, %v], want just above %v", epsilon, at, lower, upper, want)
			}
		}
	}
}

func TestDiscreteGaussianPair(t *testing.T) {
	for _, c := range []struct {
		sigma    float64
		distance int
	}{{1, 1}, {0.4, 1}, {5, 2}, {3, 10}, {40, 7}} {
		total := 0.0
		for n := -2000; n <= 2000; n++ {
			total += math.Exp(-float64(n*n) / (2 * c.sigma * c.sigma))
		}
		slow := profile(func(n int) float64 { return math.Exp(-float64(n*n)/(2*c.sigma*c.sigma)) / total }, 2000, c.distance)
		p := DiscreteGaussian(c.sigma, c.distance)
		for _, epsilon := range []float64{0, 0.1, 0.5, 1, 3} {
			lower, upper := Delta(p, epsilon)
			want := slow(epsilon)
			if !(upper >= want*(1-1e-11)-1e-300) || !(lower <= 1.002*slow(epsilon*(1-1e-3))+1e-300) {
				t.Errorf("σ=%v, distance %d: δ(%v) in [%v, %v], want just above %v", c.sigma, c.distance, epsilon, lower, upper, want)
			}
		}
	}
}

// The pair is the worst of all mechanisms of that range: over two outcomes, whose losses are t and
// t-η, it is attained by one for every ε, and by none surpassed.
func TestBoundedRangeIsTheWorst(t *testing.T) {
	for _, eta := range []float64{1e-6, 0.1, 1, 5, 30} {
		p := BoundedRange{eta}
		checkTails(t, p, grid(-eta*1.1, eta*1.1, 101))
		for _, epsilon := range []float64{0, 0.3 * eta, 0.9 * eta} {
			worst := 0.0
			const steps = 2000
			for i := range steps {
				high := eta * float64(i+1) / steps
				low := high - eta
				truth := math.Expm1(-low) / (math.Expm1(-low) - math.Expm1(-high)) // P of the first outcome: Q adds up to 1
				delta := truth*max(0, -math.Expm1(epsilon-high)) + (1-truth)*max(0, -math.Expm1(epsilon-low))
				worst = max(worst, delta)
			}
			lower, upper := Delta(p, epsilon)
			if !(worst <= upper*(1+1e-9)) || !(worst >= lower*(1-1e-5)) {
				t.Errorf("η=%v: δ(%v) in [%v, %v], the worst of two outcomes %v", eta, epsilon, lower, upper, worst)
			}
		}
	}
}
