package accountant

import (
	"fmt"
	"math"
)

// The noise multipliers that CalibrateNoiseMultiplier looks at.
const (
	minCalibrated = 1e-3
	maxCalibrated = 1e9
)

// CalibrateNoiseMultiplier returns the least noise multiplier for which steps
// releases of event(noiseMultiplier) stay within target by the accountant a: the
// smallest one to a relative 1e-6, on the private side, so the guarantee computed for
// the result is never above target. For a step of DP-SGD, event is
//
//	func(sigma float64) Event { return PoissonSampled{q, Gaussian{sigma}} }
//
// Results are at least 0.001, also where less noise would do (as it does for q = 0).
// If not even a noise multiplier of 1e9 is within target, for instance because its
// epsilon is below what the orders of an RDP accountant can show, the error
// matches ErrUnreachable. Epsilon must be finite and above 0, delta in (0, 1), steps
// at least 1, and target.Relation the one that a accounts for.
func CalibrateNoiseMultiplier(a Accountant, event func(noiseMultiplier float64) Event, steps int, target Guarantee) (float64, error) {
	if err := validateTarget(target); err != nil {
		return 0, err
	}
	if steps < 1 {
		return 0, fmt.Errorf("%w: calibration for %d steps, want at least 1", ErrInvalid, steps)
	}
	if event == nil {
		return 0, fmt.Errorf("%w: calibration without an event", ErrInvalid)
	}
	c := calibration{a: a, event: event, steps: steps, target: target}
	lo, flo, hi, fhi := c.bracket()
	if c.err != nil {
		return 0, c.err
	}
	if lo == hi {
		return c.sigma(hi), nil
	}
	const tolerance = 5e-7 // of log σ
	return c.sigma(narrow(c.excess, lo, flo, hi, fhi, tolerance)), c.err
}

// calibration is one search. Its errors stick: after the first one every excess
// counts as too much, and the caller looks at err in the end.
type calibration struct {
	a      Accountant
	event  func(noiseMultiplier float64) Event
	steps  int
	target Guarantee
	err    error
}

// sigma maps the variable of the search to a noise multiplier. Epsilon is close to a
// power of it, so the search is for log σ.
func (c *calibration) sigma(x float64) float64 { return math.Exp(x) }

// excess is log(epsilon/target) at σ = exp(x): above 0 exactly if the target is
// exceeded. NaN cannot occur, and infinities stand for epsilon 0 and no privacy.
func (c *calibration) excess(x float64) float64 {
	if c.err != nil {
		return math.Inf(1)
	}
	var l Ledger
	if c.err = l.Add(c.event(c.sigma(x)), c.steps); c.err != nil {
		return math.Inf(1)
	}
	var g Guarantee
	if g, c.err = c.a.Guarantee(&l, c.target.Delta); c.err != nil {
		return math.Inf(1)
	}
	if c.err = sameRelation(g, c.target); c.err != nil {
		return math.Inf(1)
	}
	if !g.Within(c.target) {
		// The logarithm could round a hair above the target to 0.
		return max(math.Log(g.Epsilon/c.target.Epsilon), math.SmallestNonzeroFloat64)
	}
	return min(math.Log(g.Epsilon/c.target.Epsilon), 0)
}

// bracket returns neighbours on a coarse grid of log σ between which the target is
// reached: excess(lo) > 0 ≥ excess(hi). The two are equal if the least noise
// multiplier of all is enough.
func (c *calibration) bracket() (lo, flo, hi, fhi float64) {
	const stride = math.Ln2
	least, most := math.Log(minCalibrated), math.Log(maxCalibrated)
	x := 0.0 // σ = 1
	fx := c.excess(x)
	for fx > 0 && c.err == nil {
		if x >= most {
			c.err = fmt.Errorf("%w: epsilon %v at delta %v for %d steps: the %s accountant exceeds it with noise multiplier %.3g still",
				ErrUnreachable, c.target.Epsilon, c.target.Delta, c.steps, c.a.Name(), c.sigma(x))
			return
		}
		lo, flo = x, fx
		x = min(x+stride, most)
		if fx = c.excess(x); fx <= 0 {
			return lo, flo, x, fx
		}
	}
	for fx <= 0 && c.err == nil {
		hi, fhi = x, fx
		if x <= least {
			return hi, fhi, hi, fhi
		}
		x = max(x-stride, least)
		fx = c.excess(x)
	}
	return x, fx, hi, fhi
}

// sameRelation refuses to compare guarantees under different relations.
func sameRelation(g, target Guarantee) error {
	if g.Relation != target.Relation {
		return fmt.Errorf("%w: target is under %v, the accountant answers under %v",
			ErrUnsupported, target.Relation, g.Relation)
	}
	return nil
}
