package accountant_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
)

func TestWithin(t *testing.T) {
	target := accountant.Guarantee{Epsilon: 3, Delta: 1e-5}
	for _, tt := range []struct {
		g    accountant.Guarantee
		want bool
	}{
		{accountant.Guarantee{Epsilon: 3, Delta: 1e-5, Method: "any"}, true},
		{accountant.Guarantee{Epsilon: 0, Delta: 1e-6}, true},
		{accountant.Guarantee{Epsilon: math.Nextafter(3, 4), Delta: 1e-5}, false},
		{accountant.Guarantee{Epsilon: 1, Delta: 2e-5}, false},
		{accountant.Guarantee{Epsilon: 1, Delta: math.Nextafter(1e-5, 1)}, false},
		{accountant.Guarantee{Epsilon: 1, Delta: 1e-5, Relation: accountant.ReplaceOne}, false},
		{accountant.Guarantee{Epsilon: math.Inf(1), Delta: 1e-5}, false},
		{accountant.Guarantee{Epsilon: math.NaN(), Delta: 1e-5}, false},
		{accountant.Guarantee{Epsilon: 1, Delta: math.NaN()}, false},
	} {
		if got := tt.g.Within(target); got != tt.want {
			t.Errorf("%v within %v: %v, want %v", tt.g, target, got, tt.want)
		}
	}
}

func TestRoundUp(t *testing.T) {
	for _, tt := range []struct {
		epsilon  float64
		decimals int
		want     string
	}{
		{2.99991, 4, "3.0000"},
		{2.9999, 4, "2.9999"},
		{2.99990000001, 4, "3.0000"},
		{0.1, 1, "0.1"},
		{0.1, 4, "0.1000"},
		{0.0123, 2, "0.02"},
		{0.00432, 2, "0.0044"},
		{1e-9, 2, "0.00000001"},
		{0, 2, "0.00"},
		{3, 0, "3"},
		{3.2, -1, "4"},
		{1e300, 0, fmt.Sprintf("1%0300d", 0)},
		{math.Inf(1), 2, "+Inf"},
		{math.MaxFloat64, 2, "+Inf"}, // as files hold it
		{math.NaN(), 2, "NaN"},
	} {
		if got := accountant.RoundUp(tt.epsilon, tt.decimals); got != tt.want {
			t.Errorf("RoundUp(%v, %d) = %s, want %s", tt.epsilon, tt.decimals, got, tt.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10000 { // never below, and by less than one unit above
		x := rng.ExpFloat64() * 10
		printed, _ := new(big.Rat).SetString(accountant.RoundUp(x, 3))
		lower, _ := new(big.Rat).SetString(accountant.RoundDown(x, 3))
		up, _ := new(big.Rat).Sub(printed, new(big.Rat).SetFloat64(x)).Float64()
		down, _ := new(big.Rat).Sub(new(big.Rat).SetFloat64(x), lower).Float64()
		if min(up, down) < -1e-15 || max(up, down) >= 1e-3 {
			t.Fatalf("%v rounds up to %v, down to %v", x, printed, lower)
		}
	}
}

func TestRelationText(t *testing.T) {
	for r, want := range map[accountant.Relation]string{accountant.AddOrRemoveOne: "add-or-remove-one", accountant.ReplaceOne: "replace-one", accountant.ZeroOut: "zero-out"} {
		text, err := r.MarshalText()
		if err != nil || string(text) != want || r.String() != want {
			t.Errorf("relation %d is %q and %q, %v, want %q", int(r), text, r, err, want)
		}
		var back accountant.Relation
		if err := back.UnmarshalText(text); err != nil || back != r {
			t.Errorf("%q came back as %v, %v", text, back, err)
		}
	}
	var r accountant.Relation
	if err := r.UnmarshalText([]byte("Add-Or-Remove-One")); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("another capitalisation: %v", err)
	}
	if _, err := accountant.Relation(7).MarshalText(); !errors.Is(err, accountant.ErrInvalid) || accountant.Relation(7).String() != "Relation(7)" {
		t.Errorf("relation 7 was written: %v", err)
	}
}
