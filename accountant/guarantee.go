package accountant

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Relation says which pairs of datasets a guarantee compares: how the one record in which they
// differ differs.
type Relation int

// The relations. This program accounts for the one that [Ledger.Relation] names, ZeroOut in most
// cases. For sums of contributions, sampled or not, AddOrRemoveOne has the same figures: nothing
// comes from an empty place, as nothing comes from a record that is not there. What depends on the
// number of records, or on their places, tells the two apart.
const (
	AddOrRemoveOne Relation = iota // one dataset has one record more
	ReplaceOne                     // same size, one record differs
	ZeroOut                        // one record contributes nothing in one dataset: its place is empty
)

// Neighbours says in words which datasets r compares, for a unit such as "one training example".
// AddOrRemoveOne reads as ZeroOut: both sets have the same public number of places.
func (r Relation) Neighbours(unit string) string {
	if r == ReplaceOne {
		return "two sets with the same places, one of which holds " + unit + " in one set and any other one in the other set"
	}
	return "two sets with the same places, one of which holds " + unit + " in one set and is empty in the other"
}

var relationNames = []string{"add-or-remove-one", "replace-one", "zero-out"}

// String returns the name, for instance "add-or-remove-one".
func (r Relation) String() string {
	if r < 0 || int(r) >= len(relationNames) {
		return fmt.Sprintf("Relation(%d)", int(r))
	}
	return relationNames[r]
}

// MarshalText returns the relation's name as String does, or an error for an unknown relation.
func (r Relation) MarshalText() ([]byte, error) {
	if r < 0 || int(r) >= len(relationNames) {
		return nil, fmt.Errorf("%w: relation is %d, want 0 to %d", ErrInvalid, int(r), len(relationNames)-1)
	}
	return []byte(r.String()), nil
}

// UnmarshalText sets r to the relation of the name that MarshalText gives it.
func (r *Relation) UnmarshalText(text []byte) error {
	i := slices.Index(relationNames, string(text))
	if i < 0 {
		return fmt.Errorf("%w: relation is %.40q, want one of %q", ErrInvalid, text, relationNames)
	}
	*r = Relation(i)
	return nil
}

// Validate refuses an r that is none of the relations. Its error matches ErrInvalid.
func (r Relation) Validate() error {
	_, err := r.MarshalText()
	return err
}

// Sensitivity returns by how much a sum moves between neighbours, in units of the bound on one
// record's contribution: 2 under ReplaceOne, where one contribution goes and another one comes,
// else 1.
func (r Relation) Sensitivity() float64 {
	if r == ReplaceOne {
		return 2
	}
	return 1
}

// Guarantee is (ε, δ)-differential privacy: for all pairs of datasets that differ
// by Relation and every set of outcomes S,
//
//	Pr[M(D) ∈ S] ≤ exp(Epsilon) · Pr[M(D′) ∈ S] + Delta.
//
// As a target, only Epsilon, Delta and Relation matter.
type Guarantee struct {
	Epsilon  float64 // in nats, at least 0; +Inf is no guarantee at all
	Delta    float64 // in (0, 1)
	Relation Relation
	Method   string // the theorems behind the numbers
}

// Within reports whether g promises at least what target asks for: the same relation, and neither a
// larger epsilon nor a larger delta. It is false when a number is NaN.
func (g Guarantee) Within(target Guarantee) bool {
	return g.Relation == target.Relation && g.Epsilon <= target.Epsilon && g.Delta <= target.Delta
}

// String writes the guarantee for people, with epsilon rounded up to four decimals.
func (g Guarantee) String() string {
	return fmt.Sprintf("(%s, %v)-DP under %v", RoundUp(g.Epsilon, 4), g.Delta, g.Relation)
}

// RoundUp writes epsilon with that many decimals, rounded up, so that what is printed never
// promises more than what was computed. The number rounded is the shortest decimal that reads back
// as epsilon: 0.1 stays "0.1", although the float64 lies a little above it. An epsilon that has no
// digit there gets up to six decimals more, for two of its digits.
//
// The largest float64, which files hold in place of an infinite epsilon because JSON has none, is
// written as infinite, too.
func RoundUp(epsilon float64, decimals int) string {
	if epsilon == math.MaxFloat64 {
		epsilon = math.Inf(1)
	}
	x, ok := new(big.Rat).SetString(strconv.FormatFloat(epsilon, 'g', -1, 64))
	if !ok { // infinite or NaN
		return fmt.Sprint(epsilon)
	}
	decimals = max(decimals, 0)
	if epsilon > 0 && epsilon < math.Pow10(-decimals) {
		decimals = min(decimals+6, 1-int(math.Floor(math.Log10(epsilon))))
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	x.Mul(x, new(big.Rat).SetInt(scale))
	n, rest := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int)) // the floor: denominators are positive
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(n, scale).FloatString(decimals)
}

// RoundDown writes a number with that many decimals, rounded down; one below 0 as 0.
func RoundDown(x float64, decimals int) string {
	return strings.TrimPrefix(RoundUp(-max(0, x), decimals), "-")
}

// ValidateDelta checks that delta is in (0, 1). Its error matches ErrInvalid.
func ValidateDelta(delta float64) error {
	if !(delta > 0 && delta < 1) {
		return fmt.Errorf("%w: delta is %v, must be in (0, 1)", ErrInvalid, delta)
	}
	return nil
}

// ValidateTarget checks that epsilon is finite and above 0 and delta in (0, 1). Its error matches
// ErrInvalid.
func ValidateTarget(target Guarantee) error {
	if !(target.Epsilon > 0) || math.IsInf(target.Epsilon, 1) {
		return fmt.Errorf("%w: target epsilon is %v, must be finite and above 0", ErrInvalid, target.Epsilon)
	}
	return ValidateDelta(target.Delta)
}

// ValidateEpsilon checks that epsilon is finite and at least 0. Its error matches ErrInvalid.
func ValidateEpsilon(epsilon float64) error {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return fmt.Errorf("%w: epsilon is %v, must be finite and at least 0", ErrInvalid, epsilon)
	}
	return nil
}
