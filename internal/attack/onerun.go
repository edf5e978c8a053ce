package attack

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// flock is a data set of canaries, each alone in its coordinate, or an empty place.
type flock struct {
	bound   float64
	present []bool
	zeros   []float32
}

var _ release.Contributor = flock{}

func (f flock) Capacity() int { return 256 }

func (f flock) Contributions(indices []int) (clip.Batch, error) {
	size := 10 * f.bound
	norms := make([]float64, len(indices))
	for i, place := range indices {
		if f.present[place] {
			norms[i] = size * size
		}
	}
	b := clip.Batch{SquaredNorms: norms}
	for from := 0; from < flockSize; from += pen { // in parts, so that a row is short
		b.Parts = append(b.Parts, clip.Rows{Width: pen, Examples: len(indices), Form: func(_, i int, emit func([]float32)) {
			if at := indices[i] - from; norms[i] > 0 && at >= 0 && at < pen {
				emit(f.zeros[:at])
				emit([]float32{float32(size)})
			}
		}})
	}
	return b, nil
}

const (
	flockSize      = 5000 // canaries of a run with many of them
	pen            = 500  // of which are in one part of a batch
	fewestReleases = 100  // of runs whose curve is tested: that of fewer takes minutes
)

// guessesOf carries out all steps of a run on a data set of canaries, of each of which a coin of its
// own decided whether it is there. Somebody who sees all releases says of those with the largest
// likelihood ratios that they are there. For each canary it returns the ratio over the largest one,
// positive where he would be right and negative where not.
func (a Audited) guessesOf(ctx context.Context, open func(release.Plan, int) (Door, error)) ([]float64, error) {
	p := a.Plan
	p.Records = flockSize
	door, err := open(p, flockSize)
	if err != nil {
		return nil, err
	}
	f := flock{p.Policy.Bound(), drawBits(flockSize, random.New()), make([]float32, pen)}
	ratios := make([]float64, flockSize) // their logarithms, at first
	for step := range a.Steps {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("train: audit: %w", ctx.Err())
		}
		event := p.Event(step)
		sigma, q := accountant.NoiseMultiplier(event), 1.0
		if sampled, ok := event.(accountant.PoissonSampled); ok {
			q = sampled.SamplingProbability
		}
		err := door.Release(step, f, func(n release.Noisy) {
			for i, v := range n.Values() {
				x := v / f.bound
				ratios[n.From()+i] += math.Log1p(q * math.Expm1((2*x-1)/(2*sigma*sigma)))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	largest := slices.Max(ratios)
	for i, there := range f.present {
		ratios[i] = math.Exp(ratios[i] - largest)
		if !there {
			ratios[i] = -ratios[i]
		}
	}
	return ratios, nil
}

// oneRun tests the ε of the whole run by one run with many canaries, twice at the level: whatever the
// mechanism is (Steinke, Nasr, Jagielski 2023), and against the trade-off curve of all releases
// (Mahloujifar, Melis, Chaudhuri 2024, arXiv:2410.22235). The lower bound of the latter is the cost
// of the run with the most noise that the guesses leave possible, and at least half of the claimed.
func (a Audited) oneRun(ctx context.Context, level float64, open func(release.Plan, int) (Door, error)) ([]Tested, error) {
	differences, err := a.guessesOf(ctx, open)
	if err != nil {
		return nil, err
	}
	least, surest := leastOf(differences, a.Delta, level)
	any := Tested{
		Claim: "all steps, whatever the mechanism", Quantity: "ε", Claimed: a.Epsilon, AtLeast: least, Falsified: least > a.Epsilon,
		By: fmt.Sprintf("%d right of %d guesses about %d canaries", surest.right, surest.guesses, surest.canaries),
	}
	if a.Ledger.Count() < fewestReleases {
		return []Tested{any}, nil
	}
	counted := counts(differences)
	refuted := func(factor float64) (accountant.Guarantee, bool, error) { return a.refuted(counted, factor, level) }
	curve := Tested{Claim: "all steps, with noise of this law", Quantity: "ε", Claimed: a.Epsilon, By: any.By}
	g, falsified, err := refuted(1)
	if curve.Falsified = falsified; err != nil {
		return nil, err
	}
	// Of the binary logarithm of the factor. Curves of less than half the noise take minutes.
	low, high, end := 0.0, 4.0, 4.0
	if falsified {
		low, high, end = -1, 0, -1
	}
	at, beyond, err := refuted(math.Exp2(end))
	if err != nil || beyond == falsified {
		if falsified {
			curve.AtLeast = at.Epsilon
		}
		return []Tested{any, curve}, err
	}
	halved(low, high, 7, func(exponent float64) bool {
		at, refutes, failed := refuted(math.Exp2(exponent))
		if err = cmp.Or(err, failed); refutes {
			g = at
		}
		return !refutes
	})
	curve.AtLeast = g.Epsilon
	return []Tested{any, curve}, err
}

// refuted reports whether guesses refute, at the level, that the run has factor times the claimed
// noise, and returns the cost of the run if it has. Each of the counts is tested at its share.
func (a Audited) refuted(counted []audit, factor, level float64) (g accountant.Guarantee, refuted bool, err error) {
	l, exact, g, err := a.scaled(factor, 1)
	if err != nil || l == nil {
		return g, false, err
	}
	curve, err := accountant.TradeoffOf(exact, l)
	for _, c := range counted {
		refuted = refuted || c.refutes(curve, level/float64(len(counted)))
	}
	return g, refuted, err
}

// refutes reports whether so many right guesses have at most the chance level against any mechanism
// whose trade-off curve lies above f: Algorithm 3 of Mahloujifar, Melis, Chaudhuri 2024. r and h
// bound the chances of being right and wrong about a canary, over more and more right guesses; the
// curve is symmetric, so that the inverse of 1 - f is f(1 - ·).
func (c audit) refutes(f accountant.Tradeoff, level float64) bool {
	r := level * float64(c.right) / float64(c.canaries)
	h := level * float64(c.guesses-c.right) / float64(c.canaries)
	for i := c.right - 1; i >= 0; i-- {
		next := max(h, f.TypeII(1-r))
		if next == h {
			break
		}
		r = min(1, r+float64(i)/float64(c.guesses-i)*(next-h))
		h = next
	}
	return r+h > float64(c.guesses)/float64(c.canaries)
}
