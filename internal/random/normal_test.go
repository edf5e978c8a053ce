package random

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Every limit below is exceeded by the right generator with probability 1e-5. The streams are seeded: a test that
// passes today passes tomorrow.
const (
	draws   = 1_000_000
	limit   = 4.417   // of a two-sided standard normal statistic: P(|Z| > 4.417) = 1e-5
	ksLimit = 0.00247 // sqrt(-ln(1e-5/2)/2) / sqrt(draws), Kolmogorov's distribution
)

func normals(seed uint64, n int) []float64 {
	z := make([]float64, n)
	Normals(z, Seeded(seed))
	return z
}

// ksDistance sorts x and returns its largest distance from the distribution function.
func ksDistance(x []float64, cdf func(float64) float64) float64 {
	slices.Sort(x)
	var d float64
	n := float64(len(x))
	for i, v := range x {
		p := cdf(v)
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	return d
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// normalFaults runs the battery: it names every property of 10^6 independent standard normals that z lacks.
func normalFaults(z []float64) []string {
	var faults []string
	n := float64(len(z))
	check := func(name string, got, want, se float64) {
		if !(math.Abs(got-want) <= limit*se) {
			faults = append(faults, fmt.Sprintf("%s is %.6g, want %.6g ± %.2g", name, got, want, limit*se))
		}
	}
	var moment [5]float64
	for _, v := range z {
		for k, p := 1, v; k <= 4; k, p = k+1, p*v {
			moment[k] += p / n
		}
	}
	check("mean", moment[1], 0, 1/math.Sqrt(n))
	check("variance", moment[2], 1, math.Sqrt(2/n))
	check("third moment", moment[3], 0, math.Sqrt(15/n))
	check("fourth moment", moment[4], 3, math.Sqrt(96/n))
	for _, edge := range []float64{1, 2, 3, 4} {
		p := 2 * normalCDF(-edge)
		var beyond float64
		for _, v := range z {
			if math.Abs(v) > edge {
				beyond++
			}
		}
		check(fmt.Sprintf("share beyond %g", edge), beyond/n, p, math.Sqrt(p*(1-p)/n))
	}
	// Lag 4 is within a pair of Box-Muller half of the time, 8 and 1024 the pitch of blocks and buffers.
	for _, lag := range []int{1, 2, 3, 4, 5, 8, 256, 512, 1024} {
		var values, squares float64
		for i := lag; i < len(z); i++ {
			values += z[i] * z[i-lag]
			squares += (z[i]*z[i] - 1) * (z[i-lag]*z[i-lag] - 1) / 2
		}
		m := n - float64(lag)
		check(fmt.Sprintf("correlation at lag %d", lag), values/m, 0, 1/math.Sqrt(m))
		check(fmt.Sprintf("correlation of squares at lag %d", lag), squares/m, 0, 1/math.Sqrt(m))
	}
	if d := ksDistance(slices.Clone(z), normalCDF); d > ksLimit {
		faults = append(faults, fmt.Sprintf("KS distance is %.5f, want at most %.5f", d, ksLimit))
	}
	return faults
}

func TestNormalsAreStandardNormal(t *testing.T) {
	for _, fault := range normalFaults(normals(1, draws)) {
		t.Error(fault)
	}
}

// The battery has power: each broken twin is caught.
func TestBatteryRejectsBrokenTwins(t *testing.T) {
	twins := map[string]func(z []float64){
		"variance x 1.0625": func(z []float64) { apply(z, func(v float64) float64 { return v * math.Sqrt(1.0625) }) },
		"mean + 0.0375":     func(z []float64) { apply(z, func(v float64) float64 { return v + 0.0375 }) },
		"tail cut at 4":     func(z []float64) { apply(z, func(v float64) float64 { return max(-4, min(4, v)) }) },
		"pairs repeated": func(z []float64) {
			for i := 2; i < len(z); i += 4 {
				z[i], z[i+1] = z[i-2], z[i-1]
			}
		},
		"uniform of the same variance": func(z []float64) {
			apply(z, func(v float64) float64 { return (normalCDF(v) - 0.5) * math.Sqrt(12) })
		},
		"partners mirrored": func(z []float64) {
			for i := 0; i+8 <= len(z); i += 8 {
				copy(z[i+4:i+8], z[i:i+4])
			}
		},
	}
	for name, breakIt := range twins {
		t.Run(name, func(t *testing.T) {
			z := normals(2, draws)
			breakIt(z)
			if len(normalFaults(z)) == 0 {
				t.Error("the battery accepts it")
			}
		})
	}
}

func apply(z []float64, f func(float64) float64) {
	for i := range z {
		z[i] = f(z[i])
	}
}

// Different seeds, splits and system keys give uncorrelated normals.
func TestStreamsAreIndependent(t *testing.T) {
	parent := Seeded(3)
	streams := [][]float64{normals(4, draws/4), normals(5, draws/4)}
	for _, src := range []*Source{parent.Split(), parent.Split(), parent} {
		z := make([]float64, draws/4)
		Normals(z, src)
		streams = append(streams, z)
	}
	for i := range streams {
		for j := range i {
			var r float64
			for k := range streams[i] {
				r += streams[i][k] * streams[j][k]
			}
			if r /= math.Sqrt(draws / 4); math.Abs(r) > limit {
				t.Errorf("streams %d and %d: correlation %.2f standard errors", i, j, r)
			}
		}
	}
}

// Every length fills every element and nothing else, odd ones too.
func TestNormalsOfAnyLength(t *testing.T) {
	for n := range 600 {
		z := make([]float64, n+1)
		Normals(z[:n], Seeded(uint64(n)))
		if z[n] != 0 {
			t.Fatalf("Normals of %d elements wrote past the end", n)
		}
		if i := slices.Index(z[:n], 0); i >= 0 {
			t.Fatalf("Normals of %d elements left element %d unset", n, i)
		}
	}
}
