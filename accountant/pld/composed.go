package pld

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// composed is the tilted law of a composed loss over a window: mass[i] is the probability
// of the loss (first+i)·interval + offset times e^(θ·loss - logMass).
//
//	δ(ε) = infinite + e^(logMass - θε) Σ_{l > ε} w(l - ε) mass(l),  w(x) = (1 - e^-x) e^(-θx).
type composed struct {
	theta, interval float64
	first           int
	offset          float64
	mass            []float64
	logMass         float64
	infinite        float64

	most, norm    float64 // of w, see weights
	rounding      float64 // bound of the error of mass, in the 2-norm
	componentwise float64 // bound of the relative error of every mass and of sums
	beyond        float64 // tilted mass above the window
	wrapped       float64 // tilted mass outside of the window, all of which is wrapped into it
}

// side says whether an upper or a lower bound is meant.
type side float64

const (
	upper side = 1
	lower side = -1
)

// delta returns an upper or a lower bound of δ(ε), as which says.
func (c *composed) delta(epsilon float64, which side) float64 {
	k := math.Floor((epsilon-c.offset)/c.interval) - float64(c.first) + 1
	from := int(min(max(k, 0), float64(len(c.mass)))) // the first position whose loss is above ε
	if from == len(c.mass) {
		return c.bound(epsilon, 0, which)
	}
	s := c.newSums()
	for i := len(c.mass) - 1; i >= from; i-- {
		s.add(c.mass[i])
	}
	return c.bound(epsilon, s.at(c.loss(from)-epsilon), which)
}

// bound turns the weighted sum over the masses above ε into a bound of δ(ε) on the
// side asked for. What a mass vector with an error e in the 2-norm does to the sum is
// at most ‖w‖₂·e; a mass that lies at a wrong place does at most the greatest weight.
func (c *composed) bound(epsilon, sum float64, which side) float64 {
	most, norm := c.most, c.norm
	if which == upper {
		sum = sum*(1+c.componentwise) + norm*c.rounding + most*c.beyond
		sum = min(sum, most*(1+c.componentwise)) // Chernoff
	} else {
		sum = sum*(1-c.componentwise) - norm*c.rounding - most*c.wrapped
	}
	finite := max(0, sum) * math.Exp(c.logMass-c.theta*epsilon)
	if math.IsNaN(finite) { // fail closed
		finite = 0.5 + float64(which)/2
	}
	return min(1, c.infinite+finite)
}

// weights returns the greatest value of w and its 2-norm over the window: the sum of a
// function with one maximum is at most its integral over the interval plus the maximum.
func (c *composed) weights() (most, norm float64) {
	t := c.theta
	most = 1 / (t + 1)
	if t > 0 {
		most *= math.Exp(-t * math.Log1p(1/t))
	}
	integral := math.Inf(1)
	if t > 0 { // 1/2t - 2/(2t+1) + 1/(2t+2)
		integral = 1 / (t * (2*t + 1) * (2*t + 2))
	}
	square := min(integral/c.interval+most*most, float64(len(c.mass))*most*most)
	return most, math.Sqrt(square)
}

func (c *composed) loss(position int) float64 { return float64(c.first+position)*c.interval + c.offset }

// sums holds plain, Σ e^(-θx) mass, and weighted, Σ (1 - e^-x) e^(-θx) mass, over the last position
// that was added and all above it. x is the distance from that position. Positions are added
// downwards, by Horner's rule with positive terms: 1 - e^-(x+h) = (1 - e^-x) e^-h + (1 - e^-h).
type sums struct {
	theta           float64
	plain, weighted float64

	tilt, fall, rise float64 // e^(-θh), e^-h, 1 - e^-h
}

func (c *composed) newSums() sums {
	return sums{
		theta: c.theta,
		tilt:  math.Exp(-c.theta * c.interval),
		fall:  math.Exp(-c.interval),
		rise:  -math.Expm1(-c.interval),
	}
}

// add takes in the mass of the next position downwards.
func (s *sums) add(mass float64) {
	s.weighted = s.tilt * (s.weighted*s.fall + s.plain*s.rise)
	s.plain = s.tilt*s.plain + mass
}

// at returns the weighted sum at an ε that lies x below the last position.
func (s *sums) at(x float64) float64 {
	return math.Exp(-s.theta*x) * (s.weighted*math.Exp(-x) - s.plain*math.Expm1(-x))
}

// epsilon returns a bound of the least ε ≥ least with δ(ε) ≤ delta: from the top of the window
// downwards, the last ε at which the upper bound of δ(ε) is at most delta, or the first one at
// which the lower bound is above delta.
func (c *composed) epsilon(delta, least float64, which side) float64 {
	top := len(c.mass) - 1
	if c.bound(c.loss(top), 0, which) > delta {
		return c.beyondWindow(delta, which)
	}
	const stride = 64 // positions that are passed at once
	s := c.newSums()
	for i := top; i >= 0; i -= stride {
		before := s
		last := max(0, i-stride+1)
		for j := i; j >= last; j-- {
			s.add(c.mass[j])
		}
		if next := max(least, c.loss(last-1)); next >= c.loss(last) || c.bound(next, s.at(c.loss(last)-next), which) > delta {
			return c.within(i, last, before, delta, least, which)
		}
	}
	if which == upper {
		return max(least, c.loss(-1))
	}
	return least
}

// within returns the bound that epsilon asks for if it lies between positions from and last,
// counted downwards. s holds the sums of the positions above from.
func (c *composed) within(from, last int, s sums, delta, least float64, which side) float64 {
	for i := from; i >= last; i-- {
		s.add(c.mass[i])
		lo, hi := max(least, c.loss(i-1)), c.loss(i)
		if lo >= hi {
			return least
		}
		above := func(epsilon float64) bool { return c.bound(epsilon, s.at(hi-epsilon), which) > delta }
		if above(lo) {
			if lo, hi = numeric.Bisect(above, lo, hi, 1e-6*c.interval, 0); which == upper {
				return hi
			}
			return lo
		}
		if lo == least {
			return least
		}
	}
	return least
}

// beyondWindow returns a bound of the ε at delta where that ε is above the window. The upper bound
// is Chernoff's, from δ - infinite ≤ max w · e^(logMass - θε), or +Inf where that says nothing. The
// lower bound is the end of the window.
func (c *composed) beyondWindow(delta float64, which side) float64 {
	top := c.loss(len(c.mass) - 1)
	if which == lower {
		return top
	}
	if c.theta == 0 || delta <= c.infinite {
		return math.Inf(1)
	}
	log := math.Log(c.most) + math.Log1p(c.componentwise) - numeric.Log(delta-c.infinite)
	if epsilon := (c.logMass + log) / c.theta; !math.IsNaN(epsilon) {
		return max(top, epsilon)
	}
	return math.Inf(1)
}
