package clip

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpsgd/internal/random"
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

// schemes are all policies, set in several ways; every one passes the contract.
var schemes = []Scheme{&Flat{}, &Automatic{StabilityConstant: 0.01}, &Automatic{StabilityConstant: 1e-9}, &Normalised{}, &PerLayer{},
	&Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.001}, &Adaptive{Quantile: 0.9, Rate: 1, CountShare: 0.05}}

// The contract of Policy: whatever the norm, the scaled gradient stays below the bound by the
// margin, what is broken counts for nothing, and what a norm makes of an example does not depend on
// the others.
func TestPoliciesKeepTheirBound(t *testing.T) {
	var squares []float64
	for e := -400.0; e <= 400; e++ {
		squares = append(squares, math.Exp2(e), math.Exp2(e)*1.7)
	}
	squares = append(squares, 0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), -1e-9)
	tested := map[string]bool{}
	for _, scheme := range schemes {
		tested[scheme.Name()] = true
		for _, c := range []float64{MinClipNorm, 0.01, 1, 100, MaxClipNorm} {
			policy, err := New(scheme, c)
			if err != nil || policy.Bound() != c || policy.Name() != scheme.Name() || !strings.HasPrefix(policy.String(), policy.Name()) {
				t.Fatalf("New(%+v, %g) = %v, %v", scheme, c, policy, err)
			}
			together := make([]float32, len(squares))
			policy.Factors(together, squares)
			for i, square := range squares {
				factor, norm := float64(together[i]), math.Sqrt(square)
				if !(factor >= 0) || math.IsInf(factor, 0) || factor*norm > c*(1-0x1p-12) {
					t.Errorf("%v: norm %g has the factor %g", policy, norm, factor)
				}
				if broken := !(norm <= 0x1p80*c); broken != (factor == 0) && norm > 0x1p-80 {
					t.Errorf("%v: norm %g has the factor %g", policy, norm, factor)
				}
				alone := []float32{7}
				policy.Factors(alone, squares[i:i+1])
				if alone[0] != together[i] {
					t.Errorf("%v: norm %g has the factor %g alone and %g in a batch", policy, norm, alone[0], factor)
				}
			}
		}
	}
	for _, name := range Policies().Names() {
		if !tested[name] {
			t.Errorf("policy %q has no row in schemes", name)
		}
	}
}

// The formulas, with the margin left out.
func TestPoliciesFollowTheirFormulas(t *testing.T) {
	const c = 0.7
	for _, tt := range []struct {
		scheme  Scheme
		formula func(norm float64) float64
	}{
		{&Flat{}, func(norm float64) float64 { return math.Min(1, c/norm) }},
		{&Automatic{StabilityConstant: 0.01}, func(norm float64) float64 { return c / (norm + 0.01) }},
		{&Normalised{}, func(norm float64) float64 { return c / norm }},
		{&PerLayer{}, func(norm float64) float64 { return math.Min(1, c/norm) }},
		{&Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.36}, func(norm float64) float64 { return 0.8 * math.Min(1, c/norm) }},
	} {
		for _, norm := range []float64{1e-6, 1e-3, 0.1, 0.69, 0.71, 1, 30, 1e9} {
			factor := []float32{7}
			tt.scheme.WithBound(c).Factors(factor, []float64{norm * norm})
			if want := tt.formula(norm); !(math.Abs(float64(factor[0])/want-1) <= 1.01*0x1p-12) {
				t.Errorf("%s: norm %g has the factor %g, expected %g", tt.scheme.Name(), norm, factor[0], want)
			}
		}
	}
	zero := []float32{7}
	if (Normalised{1}).Factors(zero, []float64{0}); zero[0] != 0 {
		t.Errorf("normalised: norm 0 has the factor %g, expected 0", zero[0])
	}
}

func TestNewRefuses(t *testing.T) {
	for _, kind := range Policies() {
		if _, err := New(kind.New(), 1); err != nil {
			t.Errorf("the defaults of %s are refused: %v", kind.Name, err)
		}
	}
	for _, scheme := range schemes {
		for _, c := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), MinClipNorm / 2, 2 * MaxClipNorm} {
			if _, err := New(scheme, c); !errors.Is(err, ErrClipNorm) {
				t.Errorf("New(%+v, %g): error is %v, want %v", scheme, c, err, ErrClipNorm)
			}
			// Made without the constructor it lets nothing through.
			got := []float32{7, 7}
			scheme.WithBound(c).Factors(got, []float64{0, 1})
			if got[0] != 0 || got[1] != 0 {
				t.Errorf("%+v with clip norm %g gives factors %v, want zeros", scheme, c, got)
			}
		}
	}
	for _, scheme := range []Scheme{nil, &Automatic{}, &Automatic{StabilityConstant: math.NaN()}, &Automatic{StabilityConstant: -1}, &Adaptive{}, &Adaptive{Quantile: 1, Rate: 0.2, CountShare: 0.001}, &Adaptive{Quantile: 0.5, Rate: 0.2, CountShare: 0.9}} {
		if _, err := New(scheme, 1); !errors.Is(err, ErrPolicy) || strings.Contains(err.Error(), "\n") {
			t.Errorf("New(%+v): error is %v, want a line that wraps %v", scheme, err, ErrPolicy)
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

func ExampleNew() {
	policy, err := New(&Automatic{StabilityConstant: 0.5}, 1)
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
	// Output: [0.9998 0.3999 0.0000]
}

// Whatever the norms of the layers are, what is left of all of them together stays below the bound
// by the margin, so that the whole is scaled by hardly anything more; a layer that is short stays
// as it is; and a layer that is broken has the factor 0.
func TestLayersTogetherKeepTheBound(t *testing.T) {
	src := random.Seeded(7)
	for _, bound := range []float64{MinClipNorm, 0.3, 1, MaxClipNorm} {
		policy := PerLayer{bound}
		for _, layers := range []int{1, 2, 3, 17, 100} {
			squares, factors := make([]float64, layers), make([]float32, layers)
			for range 200 {
				for i := range squares {
					squares[i] = square(bound * math.Exp(20*src.Float64()-12))
				}
				policy.LayerFactors(factors, squares, layers)
				var left float64
				for i, factor := range factors {
					left += square(float64(factor)) * squares[i]
					if short := squares[i]*float64(layers) <= square(bound*(1-margin)); short != (factor == 1) {
						t.Fatalf("bound %g, %d layers: norm %g has the factor %g", bound, layers, math.Sqrt(squares[i]), factor)
					}
				}
				whole := make([]float32, 1)
				policy.Factors(whole, []float64{left})
				if left > square(bound*(1-margin))*(1+1e-12) || whole[0] < 1-0x1p-20 {
					t.Fatalf("bound %g, %d layers: %g of the bound is left, and then scaled by %g", bound, layers, math.Sqrt(left)/bound, whole[0])
				}
			}
		}
		for _, broken := range []float64{math.NaN(), math.Inf(1), -1} {
			factor := []float32{7}
			if policy.LayerFactors(factor, []float64{broken}, 3); factor[0] != 0 {
				t.Errorf("a squared norm of %g has the factor %g, expected 0", broken, factor[0])
			}
		}
	}
}
