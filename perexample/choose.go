package perexample

import (
	"fmt"
	"time"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/random"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Timing holds the times that the norms and the clipped sum of one parameter take with each engine.
// Only their ratio counts.
type Timing struct{ Ghost, Materialise time.Duration }

// storing returns the time with stored gradients divided by the time without.
func (t Timing) storing() float64 { return float64(t.Materialise) / float64(t.Ghost) }

// isClear reports whether one engine has so much more work than the other that nobody has to
// measure.
func (t Timing) isClear() bool { return max(t.storing(), 1/t.storing()) > clearRatio }

// Choose returns the faster engine for each rule at the given physical batch size. Stored gradients
// take at most budget bytes together, given out in the order of the rules; a rule that does not fit
// uses the ghost engine, and so does one that would gain less than a quarter by storing. Where
// timings are within 15 % of that point, the multiply-adds and the bytes that the engines move
// decide, so that two measurements on one machine lead to one choice.
func Choose(rules []Rule, timings []Timing, batch int, budget int64) []Engine {
	engines := make([]Engine, len(rules))
	for i, r := range rules {
		bytes := 4 * int64(batch) * int64(r.Size())
		if worthStoring(r, timings[i], batch) && bytes <= budget {
			engines[i] = Materialise
			budget -= bytes
		}
	}
	return engines
}

// worthStoring reports whether storing the gradients of a rule saves a quarter of the time or more.
func worthStoring(r Rule, t Timing, batch int) bool {
	found := t.storing()
	if found < worthwhile/closeRatio || found > worthwhile*closeRatio {
		return found < worthwhile
	}
	return estimate(r, batch).storing() < worthwhile
}

const (
	// worthwhile is a share of the ghost engine's time: stored gradients that take more are not
	// worth their memory.
	worthwhile = 0.75
	// closeRatio is how far two measurements of one ratio may lie apart on a machine with other
	// work: with five threads to a core, most were within 15 % of each other for runs of less than
	// a millisecond. Measurements that differ by more are not trusted, and neither is one so near
	// to the point where the choice changes.
	closeRatio = 1.15
)

// Measure times both engines for each rule, on random examples: a batch, or as many as show what a
// batch costs. It uses one thread, because on a machine that has other work several would be timed
// waiting for each other. An estimate from multiply-adds and bytes takes the place of the times
// where one engine has many times the work of the other, and where two measurements do not agree on
// how the engines compare.
func Measure(rules []Rule, batch int) ([]Timing, error) {
	timings := make([]Timing, len(rules))
	for i, r := range rules {
		if timings[i] = estimate(r, batch); timings[i].isClear() {
			continue
		}
		var rounds [2]Timing
		for j, n := 0, examples(r, batch); j < len(rounds); j++ {
			var err error
			if rounds[j].Ghost, err = measure(r, Ghost, n); err != nil {
				return nil, err
			}
			if rounds[j].Materialise, err = measure(r, Materialise, n); err != nil {
				return nil, err
			}
		}
		timings[i] = settle(rounds, timings[i])
	}
	return timings, nil
}

// settle returns the shorter times of two measurements that agree, and the estimate if they do not.
func settle(rounds [2]Timing, estimated Timing) Timing {
	first, second := rounds[0], rounds[1]
	if change := first.storing() / second.storing(); !(change <= closeRatio && change >= 1/closeRatio) {
		return estimated
	}
	return Timing{min(first.Ghost, second.Ghost), min(first.Materialise, second.Materialise)}
}

const (
	// clearRatio is a ratio of work beyond which what the estimate leaves out does not matter.
	clearRatio = 6.0
	// fewestExamples are enough to share what an engine does once for all examples.
	fewestExamples = 64
	// A measurement is repeated at least measuredRuns times and for measuredTime: the shorter a
	// run, the more other work on the machine disturbs it.
	measuredRuns = 2
	measuredTime = time.Millisecond
)

// examples returns how many examples to measure with: enough that their gradients do not fit the
// cache if those of the whole batch do not.
func examples(r Rule, batch int) int {
	n := fewestExamples
	if 4*r.Size()*batch > cacheBytes {
		n = max(n, cacheBytes/(4*r.Size())+1)
	}
	return min(n, batch)
}

// measure returns the shortest time of a few runs that compute norms and clipped sum of random
// examples.
func measure(r Rule, engine Engine, batch int) (time.Duration, error) {
	b := graph.NewBuilder(nil)
	x, dz := r.Values()
	source := random.Seeded(1)
	input := func(name string, shape ...int) *gorgonia.Node {
		in := b.Input(name, tensor.Float32, shape...)
		for i := range b.Values(in).Float32 {
			b.Values(in).Float32[i] = float32(source.Float64() - 0.5)
		}
		return in
	}
	plan := NewBinding(b, Use{Rule: r, Input: input("x", batch, x)}, input("dz", batch, dz), engine)
	norms := plan.SquaredNorms(b)
	executor, err := b.Compile(append(plan.Outputs(), norms)...)
	if err != nil {
		return 0, fmt.Errorf("perexample: %T: %w", r, err)
	}
	sum, err := clip.NewSum(clip.Flat{ClipNorm: 1}, r.Size(), nil)
	if err != nil {
		return 0, err
	}
	sum.Refine(batch)
	gradients := clip.Batch{SquaredNorms: executor.Values(norms).Float64, Parts: []clip.Part{plan.Part(executor, nil)}}
	best, begun := time.Duration(1<<63-1), time.Now()
	for runs := 0; runs <= measuredRuns || time.Since(begun) < measuredTime; runs++ { // the first one allocates
		start := time.Now()
		executor.RunAll()
		sum.Reset()
		if err := sum.Add(gradients, batch); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}

// Cost counts multiply-adds per example.
type Cost struct {
	GhostNorm   float64 // for the squared norm without the gradient
	GhostSum    float64 // for the weighted sum without the gradient
	Materialise float64 // for the gradient itself
}

// Estimate predicts the timings of [Measure] from multiply-adds and bytes alone.
func Estimate(rules []Rule, batch int) []Timing {
	timings := make([]Timing, len(rules))
	for i, r := range rules {
		timings[i] = estimate(r, batch)
	}
	return timings
}

// MeasuredBytes returns the most memory, in bytes, that [Measure] takes at a time.
func MeasuredBytes(rules []Rule, batch int) float64 {
	most := 0.0
	for _, r := range rules {
		if estimate(r, batch).isClear() {
			continue
		}
		x, dz := r.Values()
		one := float64(x) + float64(dz) + float64(r.Size()) + 3 // the inputs, and what is stored
		most = max(most, 4*float64(examples(r, batch))*one)
	}
	return most
}

// estimate returns the times that one example of a batch takes with each engine if a multiply-add
// takes a nanosecond. Only their ratio counts: for convolutions it is mostly within a fifth of the
// measured one, on two cores of a Zen 4.
func estimate(r Rule, batch int) Timing {
	x, dz := r.Values()
	inputs, gradient := 4*float64(x+dz), 4*float64(r.Size())
	perByte := byteCost
	if gradient*float64(batch) <= cacheBytes {
		perByte = cachedByteCost
	}
	c := r.Cost()
	// Norm and sum both read the inputs; or the gradient is formed from them once, written, read
	// for the norm, and read for the sum.
	ghost := c.GhostNorm + c.GhostSum + perByte*2*inputs
	materialise := c.Materialise + perByte*(inputs+3*gradient)
	return Timing{Ghost: time.Duration(ghost), Materialise: time.Duration(materialise)}
}

const (
	// byteCost is the cost of moving a byte, in multiply-adds: a product runs near the arithmetic
	// limit of a core, a pass over memory does not. It is cachedByteCost if the gradients of a
	// batch fit cacheBytes, the part of a last-level cache that a training process can hope for.
	byteCost       = 1.0
	cachedByteCost = 0.25
	cacheBytes     = 8 << 20
)
