package clip

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// The table of the doc comment, line by line, for several clip norms.
func TestFlatEdgeCases(t *testing.T) {
	for _, c := range []float64{MinClipNorm, 0.01, 1, 100, MaxClipNorm} {
		target := c * (1 - 0x1p-12)
		clipped := func(norm float64) float32 { return towardZero(target / norm) }
		for _, row := range []struct {
			name   string
			square float64
			want   float32
		}{
			{"zero", 0, 1},
			{"negative zero", math.Copysign(0, -1), 1},
			{"smallest float64", math.SmallestNonzeroFloat64, 1},
			{"half", c * c / 4, 1},
			{"just below the target", square(target * (1 - 1e-12)), 1},
			{"just above the target", square(target * (1 + 1e-12)), math.Nextafter32(1, 0)},
			{"the clip norm", c * c, clipped(c)},
			{"twice", 4 * c * c, clipped(2 * c)},
			{"1e20 times", square(1e20 * c), clipped(1e20 * c)},
			{"2^80 times", square(0x1p80 * c), clipped(0x1p80 * c)},
			{"2^81 times", square(0x1p81 * c), 0},
			{"largest float64", math.MaxFloat64, 0},
			{"+Inf", math.Inf(1), 0},
			{"NaN", math.NaN(), 0},
			{"-Inf", math.Inf(-1), 0},
			{"negative", -1e-9, 0},
		} {
			t.Run(fmt.Sprintf("C=%g/%s", c, row.name), func(t *testing.T) {
				got := []float32{7}
				Flat{c}.Factors(got, []float64{row.square})
				if got[0] != row.want {
					t.Errorf("factor is %g, want %g", got[0], row.want)
				}
				if got[0] != 0 && got[0] < 0x1p-126 {
					t.Errorf("factor %g is denormal", got[0])
				}
			})
		}
	}
}

func square(x float64) float64 { return x * x }

func TestNewFlatRefusesWhatIsNoClipNorm(t *testing.T) {
	for _, c := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), MinClipNorm / 2, 2 * MaxClipNorm} {
		if _, err := NewFlat(c); !errors.Is(err, ErrClipNorm) {
			t.Errorf("NewFlat(%g): error is %v, want %v", c, err, ErrClipNorm)
		}
		// Made without the constructor it lets nothing through.
		got := []float32{7, 7}
		Flat{c}.Factors(got, []float64{0, 1})
		if got[0] != 0 || got[1] != 0 {
			t.Errorf("Flat{%g} gives factors %v, want zeros", c, got)
		}
	}
	f, err := NewFlat(0.5)
	if err != nil || f.Bound() != 0.5 || f.Name() != "flat" {
		t.Errorf("NewFlat(0.5) = %+v, %v", f, err)
	}
}

// Each factor depends on its own norm: alone, in a batch, and beside broken neighbours it is the
// same.
func TestFactorsDoNotDependOnTheBatch(t *testing.T) {
	squares := []float64{0, 0.3, math.NaN(), 4, math.Inf(1), 1e60, 1e-300, 2}
	together := make([]float32, len(squares))
	Flat{1}.Factors(together, squares)
	for i, s := range squares {
		alone := make([]float32, 1)
		Flat{1}.Factors(alone, []float64{s})
		if alone[0] != together[i] {
			t.Errorf("factor of squared norm %g is %g alone and %g in a batch", s, alone[0], together[i])
		}
	}
}

func TestFactorsPanicsOnLengths(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for 1 factor and 2 norms")
		}
	}()
	Flat{1}.Factors(make([]float32, 1), make([]float64, 2))
}

func ExampleFlat() {
	policy, err := NewFlat(1)
	if err != nil {
		panic(err)
	}
	norms := []float64{0.5, 2, math.NaN()}
	squares := make([]float64, len(norms))
	for i, n := range norms {
		squares[i] = n * n
	}
	factors := make([]float32, len(norms))
	policy.Factors(factors, squares)
	fmt.Printf("%.4f\n", factors)
	// Output: [1.0000 0.4999 0.0000]
}
