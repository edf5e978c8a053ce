package pld

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// plan holds the tilt, grid and window that the upper and the lower bound of an answer share.
type plan struct {
	sketch    *sketch
	theta     float64
	steepness float64 // how strongly δ(ε) reacts to the losses: θ + 1/s, s the deviation of the tilted loss
	interval  float64
	slack     float64 // of ε, for the rounding of losses

	// The window. chance bounds the tilted mass beyond either end by Chernoff's bound
	// with the exponents above and below.
	first, size  int // it begins at the loss first·interval and has size grid points
	chance       float64
	above, below float64

	top, bottom float64 // approximate ends of the window, by the sketch
}

// Limits on the size of the transform.
const (
	smallestSize = 1 << 13
	largestSize  = 1 << 22
	smoothSize   = 1 << 17 // the largest one that is chosen for the deviation of the loss alone
	chosenSize   = 1 << 21 // the largest one that is chosen
)

// closeness is the share of the answer that the discretisation may add at the worst
// position of the losses in their cells. It usually adds half as much.
const closeness = 3e-4

// tolerance bounds the mass that truncations leave out or count twice, divided by the δ in
// question.
const tolerance = 1e-5

// planEpsilon returns the plan for the question of ε at delta.
func (s *sketch) planEpsilon(delta float64) *plan {
	theta := firstAbove(func(theta float64) bool {
		_, logDelta := s.saddlePoint(theta)
		return logDelta <= numeric.Log(delta)
	})
	epsilon, _ := s.saddlePoint(theta)
	deviation := s.deviation(theta)
	return s.plan(theta, closeness*max(epsilon, deviation/20)*(theta+1/deviation))
}

// planDelta returns the plan for the question of δ at epsilon.
func (s *sketch) planDelta(epsilon float64) *plan { return s.plan(s.saddleAt(epsilon), closeness) }

// plan chooses the grid for a tilt. relative is the relative error of δ that
// discretisation may add.
//
// Connect-the-dots splits a loss in a cell of width h so that the mean of Y = e^-L is
// kept, which adds at most Y² h²/4 to the variance of Y. Under the tilt that multiplies
// E[Y^-θ] by up to 1 + θ(θ+1)h²/8 for each release. For small θ, where δ(ε) is not
// e^(K-θε) but about the deviation s of L, θ is replaced by θ + 1/s.
func (s *sketch) plan(theta, relative float64) *plan {
	deviation := s.deviation(theta)
	p := &plan{
		sketch:    s,
		theta:     theta,
		steepness: theta + 1/deviation,
		chance:    tolerance / (1 + theta*deviation),
	}
	if slices.ContainsFunc(s.parts, func(c coarse) bool { _, ok := c.Pair.(pair.Bounded); return ok }) {
		// The bounds of the pair have most of the error that an answer may have, and rare large
		// losses make δ a small part of what is tilted.
		relative, p.chance = relative/10, p.chance/1000
	}
	p.top, p.bottom = p.ends()
	width := p.top - p.bottom
	h := math.Sqrt(8 * relative / (s.releases() * p.steepness * (p.steepness + 1)))
	// Where the loss is close to an atom the deviation says little about what matters.
	smooth := min(deviation/20, width/smallestSize)
	h = min(h, 0.1/(theta+1), max(smooth, width/smoothSize))
	p.space(s.onLattice(max(h, width/chosenSize)))
	return p
}

// space sets the interval of the grid, and the slack that follows from it.
func (p *plan) space(interval float64) {
	p.interval, p.slack = interval, p.sketch.releases()*roundingOfLosses*interval
}

// deviation returns the standard deviation of the composed loss under the tilt, or a small number
// if the tilt leaves no more than one atom.
func (s *sketch) deviation(theta float64) float64 {
	_, mean, untilted := s.cumulant(0)
	_, _, variance := s.cumulant(theta)
	return max(math.Sqrt(variance), 1e-4*math.Sqrt(untilted), 1e-6*math.Abs(mean))
}

func (s *sketch) releases() float64 {
	n := 0.0
	for _, c := range s.parts {
		n += c.count
	}
	return n
}

// onLattice returns an interval, at most the given one, that divides the greatest loss of a part if
// one is bounded: atoms at ±ε₀ are then met exactly.
func (s *sketch) onLattice(interval float64) float64 {
	fitted, most := interval, 0.0
	for _, c := range s.parts {
		weight := c.count * c.greatest * c.greatest
		if !math.IsInf(c.greatest, 1) && c.greatest >= interval && weight > most {
			fitted, most = c.greatest/math.Ceil(c.greatest/interval*(1-1e-12)), weight
		}
	}
	return fitted
}

// ends sets above and below, the exponents t of Chernoff's bound
//
//	P[S > top] ≤ e^(K(θ+t) - K(θ) - t·top)
//
// for the tilted composed loss S, and returns the approximate ends of the window that they give.
func (p *plan) ends() (top, bottom float64) {
	k, _, _ := p.sketch.cumulant(p.theta)
	top, bottom = math.Inf(1), math.Inf(-1)
	for j := -8; j <= 8; j++ {
		t := math.Exp2(float64(j)/2) * 4 / p.sketch.deviation(p.theta)
		up, _, _ := p.sketch.cumulant(p.theta + t)
		if end := (up - k - math.Log(p.chance)) / t; end < top {
			top, p.above = end, t
		}
		down, _, _ := p.sketch.cumulant(p.theta - t)
		if end := -(down - k - math.Log(p.chance)) / t; end > bottom {
			bottom, p.below = end, t
		}
	}
	return top, bottom
}

// fit sets where the window begins and its size, from the laws that are composed.
func (p *plan) fit(factors []factor) error {
	var up, down float64
	for _, f := range factors {
		count, k := float64(f.count), f.law.cumulant(p.theta, p.interval)
		up += count * (f.law.cumulant(p.theta+p.above, p.interval) - k)
		down += count * (f.law.cumulant(p.theta-p.below, p.interval) - k)
	}
	top := (up - math.Log(p.chance)) / p.above
	bottom := -(down - math.Log(p.chance)) / p.below
	if err := p.affordable(top, bottom); err != nil {
		return err
	}
	p.first = int(math.Floor(bottom/p.interval)) - 1
	p.size = fftSize(int(math.Ceil((top-bottom)/p.interval)) + 4)
	return nil
}

// affordable refuses a grid from loss bottom to loss top that has too many points.
func (p *plan) affordable(top, bottom float64) error {
	if points := (top - bottom) / p.interval; !(points < largestSize-8) {
		return fmt.Errorf("%w: grid: an interval of %v needs %.0f grid points, at most %d can be had: interval too fine",
			accountant.ErrUncertified, p.interval, points, largestSize)
	}
	return nil
}

// fftSize returns the least size of at least n, smallestSize and of the form 2^a·{8, 9,
// 10, 12, 15}, for which transforms are fast.
func fftSize(n int) int {
	n = max(n, smallestSize)
	power := smallestSize
	for 2*power <= n {
		power *= 2
	}
	sizes := []int{power, power / 8 * 9, power / 4 * 5, power / 2 * 3, power / 8 * 15, 2 * power}
	i, _ := slices.BinarySearch(sizes, n)
	return sizes[i]
}

// compose returns a composition whose δ(ε) is at least the truth at every ε, and one whose δ(ε) is
// at most the truth.
func (p *plan) compose() (pessimistic, optimistic *composed, err error) {
	if err := p.affordable(p.top, p.bottom); err != nil {
		return nil, nil, err
	}
	// An offset of the grid is good enough when rounding to it loses less than half of what
	// connecting the dots may add.
	s := p.steepness
	enough := s * (s + 1) * p.interval * p.interval / 16
	var raised, lowered []factor
	for _, c := range p.sketch.parts {
		if err := p.affordable(c.edges[len(c.edges)-1], c.edges[0]); err != nil {
			return nil, nil, err
		}
		nodes := p.nodes(c)
		raised = append(raised, factor{connectDots(c.Pair, nodes, p.interval), c.Count, pair.Rounding(c.Pair)})
		lowered = append(lowered, factor{merge(pair.Dominated(c.Pair), nodes, p.interval, s, enough), c.Count, pair.Rounding(c.Pair)})
	}
	if err := p.fit(raised); err != nil {
		return nil, nil, err
	}
	v := newConvolver(p)
	return v.compose(raised), v.compose(lowered), nil
}
