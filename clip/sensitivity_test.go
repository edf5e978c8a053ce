package clip

import (
	"fmt"
	"math"
	"testing"

	"dpsgd/internal/random"
)

// kinds are the gradients that a hostile or broken example can have; draw returns one entry of the row.
var kinds = []struct {
	name string
	draw func(src *random.Source, scale float64) float32
}{
	{"ordinary", func(src *random.Source, scale float64) float32 { return float32(scale * (src.Float64() - 0.5)) }},
	{"zero", func(*random.Source, float64) float32 { return 0 }},
	{"denormal", func(src *random.Source, _ float64) float32 { return float32(src.Uint64()%1000) * 0x1p-149 }},
	{"1e30", func(*random.Source, float64) float32 { return 1e30 }},
	{"mixed sizes", func(src *random.Source, _ float64) float32 {
		return float32(math.Exp(140 * (src.Float64() - 0.5)))
	}},
	{"NaN", func(src *random.Source, scale float64) float32 { return sometimes(src, float32(math.NaN()), scale) }},
	{"+Inf", func(src *random.Source, scale float64) float32 { return sometimes(src, float32(math.Inf(1)), scale) }},
	{"-Inf", func(src *random.Source, scale float64) float32 { return sometimes(src, float32(math.Inf(-1)), scale) }},
	{"largest", func(*random.Source, float64) float32 { return math.MaxFloat32 }},
}

func sometimes(src *random.Source, broken float32, scale float64) float32 {
	if src.Uint64()%4 == 0 {
		return broken
	}
	return float32(scale)
}

func intN(src *random.Source, n int) int { return int(src.Uint64() % uint64(n)) }

// drawRow returns a gradient of a random kind with a norm from far below to far above the clip norm c.
func drawRow(src *random.Source, dim int, c float64) []float32 {
	kind := kinds[intN(src, len(kinds))]
	scale := c * math.Exp(12*(src.Float64()-0.5))
	row := make([]float32, dim)
	for i := range row {
		row[i] = kind.draw(src, scale)
	}
	return row
}

func norm[T float32 | float64](v []T) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// clipRows scales each row as the graph does: factors from all norms at once, products in float32, rows of factor
// zero zeroed. A row with an infinite entry times its factor would stay infinite.
func clipRows(p Policy, rows [][]float32) [][]float32 {
	squares, factors := make([]float64, len(rows)), make([]float32, len(rows))
	for i, row := range rows {
		squares[i] = square(norm(row))
	}
	p.Factors(factors, squares)
	scaled := make([][]float32, len(rows))
	for i, row := range rows {
		scaled[i] = make([]float32, len(row))
		if factors[i] == 0 {
			continue
		}
		for j, g := range row {
			scaled[i][j] = factors[i] * g
		}
	}
	return scaled
}

func sumOf(t *testing.T, p Policy, dim int, rows [][]float32) []float64 {
	t.Helper()
	sum := NewSum(p.Bound(), dim)
	for _, row := range clipRows(p, rows) {
		if err := sum.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	values, _, err := sum.Release()
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// Sensitivity: for 10^5 random pairs of neighbouring sets of examples (one has one example more, anywhere), each
// scaled row has norm at most C and the sum moves by at most C, exactly, without a tolerance.
func TestSensitivity(t *testing.T) {
	const pairs = 100_000
	src := random.Seeded(13)
	clipNorms := []float64{1e-6, 0.01, 0.1, 1, 3.7, 100, 1e6}
	for range pairs {
		policy := Flat{clipNorms[intN(src, len(clipNorms))]}
		dim := 1 + intN(src, 24)
		larger := make([][]float32, 1+intN(src, 6))
		for i := range larger {
			larger[i] = drawRow(src, dim, policy.ClipNorm)
		}
		extra := intN(src, len(larger))
		smaller := append(append([][]float32{}, larger[:extra]...), larger[extra+1:]...)

		for i, row := range clipRows(policy, larger) {
			if n := norm(row); !(n <= policy.ClipNorm) {
				t.Fatalf("row %v scaled to C = %g has norm %.17g", larger[i], policy.ClipNorm, n)
			}
		}
		a, b := sumOf(t, policy, dim, larger), sumOf(t, policy, dim, smaller)
		for i := range a {
			a[i] -= b[i]
		}
		if moved := norm(a); !(moved <= policy.Bound()) {
			t.Fatalf("example %v moves the sum by %.17g, more than C = %g", larger[extra], moved, policy.ClipNorm)
		}
	}
}

// The test above has power: three wrong policies move the sum by more than they say.
func TestSensitivityCatchesWrongPolicies(t *testing.T) {
	src := random.Seeded(14)
	for _, wrong := range []Policy{noMargin{Flat{1}}, nanPasses{Flat{1}}, noClip{Flat{1}}} {
		t.Run(fmt.Sprintf("%T", wrong), func(t *testing.T) {
			for range 10_000 {
				for _, row := range clipRows(wrong, [][]float32{drawRow(src, 24, 1)}) {
					if !(norm(row) <= wrong.Bound()) {
						return
					}
				}
			}
			t.Error("10,000 rows within the bound: the sensitivity test would accept it")
		})
	}
}

// noMargin is the textbook factor in float32.
type noMargin struct{ Flat }

func (noMargin) Factors(dst []float32, squares []float64) {
	Flat{1}.Factors(dst, squares)
	for i, s := range squares {
		if dst[i] != 0 {
			dst[i] = min(1, 1/float32(math.Sqrt(s)))
		}
	}
}

// nanPasses compares the other way round, so that a NaN norm leaves the factor at 1.
type nanPasses struct{ Flat }

func (nanPasses) Factors(dst []float32, squares []float64) {
	for i, s := range squares {
		dst[i] = 1
		if s > 1 {
			dst[i] = float32((1 - margin) / math.Sqrt(s))
		}
	}
}

type noClip struct{ Flat }

func (noClip) Factors(dst []float32, _ []float64) {
	for i := range dst {
		dst[i] = 1
	}
}

// A clipped gradient reaches the clip norm: it ends within a relative 2^-16 below C and never above.
func TestClipNormIsReached(t *testing.T) {
	src := random.Seeded(15)
	for _, c := range []float64{0.01, 1, 100} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			for i := range 2000 {
				row := make([]float32, 100)
				scale := c * math.Exp(30*float64(i)/2000) // norms from above C to 1e13·C
				for j := range row {
					row[j] = float32(scale * (src.Float64() - 0.5))
				}
				if norm(row) < c {
					continue
				}
				n := norm(clipRows(Flat{c}, [][]float32{row})[0])
				if n > c || n < c*(1-0x1p-16) {
					t.Fatalf("norm %g clips to %.17g, want from %.17g to %g", norm(row), n, c*(1-0x1p-16), c)
				}
			}
		})
	}
}

// One outlier among ordinary examples: its part of the sum has exactly its own clipped norm, not the batch's.
func TestEachExampleIsClippedAlone(t *testing.T) {
	rows := make([][]float32, 32)
	for i := range rows {
		rows[i] = make([]float32, 8)
		rows[i][0] = 0.5 // within the bound, unscaled
	}
	rows[7] = []float32{0, 1e3, 0, 0, 0, 0, 0, 0}
	values := sumOf(t, Flat{1}, 8, rows)
	if values[0] != 31*0.5 || values[1] > 1 || values[1] < 1-0x1p-16 {
		t.Errorf("sum is %v, want 15.5 and 1 in the first two places", values)
	}
}
