package perexample

import (
	"fmt"
	"time"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Timing is the time that the norms and the clipped sum of one parameter take with each engine.
type Timing struct{ Ghost, Materialise time.Duration }

// Choose returns the faster engine for each rule at the given physical batch size. Stored gradients
// take at most budget bytes together, given out in the order of the rules; a rule that does not fit
// uses the ghost engine, and so does one that would gain less than a quarter by storing.
func Choose(rules []Rule, timings []Timing, batch int, budget int64) []Engine {
	engines := make([]Engine, len(rules))
	for i, r := range rules {
		bytes := 4 * int64(batch) * int64(r.Size())
		if timings[i].Materialise*4 < timings[i].Ghost*3 && bytes <= budget {
			engines[i] = Materialise
			budget -= bytes
		}
	}
	return engines
}

// Measure times both engines for each rule, on random examples, a batch or as many as show what a
// batch costs, and the workers that will train. Where one engine takes many times the multiply-adds
// of the other, their number decides instead, at a nanosecond each.
func Measure(rules []Rule, batch int, pool *kernel.Pool) ([]Timing, error) {
	batch = min(batch, measuredExamples)
	timings := make([]Timing, len(rules))
	for i, r := range rules {
		c := r.Cost()
		ghost, materialise := c.GhostNorm+c.GhostSum, c.Materialise+3*passCost*float64(r.Size())
		if ghost > clearRatio*materialise || materialise > clearRatio*ghost {
			timings[i] = Timing{time.Duration(ghost), time.Duration(materialise)}
			continue
		}
		var err error
		if timings[i].Ghost, err = measure(r, Ghost, batch, pool); err != nil {
			return nil, err
		}
		if timings[i].Materialise, err = measure(r, Materialise, batch, pool); err != nil {
			return nil, err
		}
	}
	return timings, nil
}

const (
	// passCost is what reading or writing one stored gradient value costs in multiply-adds: a
	// product runs near the arithmetic limit of a core, a pass over memory does not. Stored
	// gradients are written once, read for the norm, and read for the sum.
	passCost = 4
	// clearRatio of multiply-adds is not made up for by anything that they leave out.
	clearRatio = 6
	// measuredExamples have gradients that do not fit a cache where those of a batch do not, and
	// share what an engine does once for all of them.
	measuredExamples = 64
	measuredRuns     = 2
)

// measure is the shortest of a few runs of norms and clipped sum.
func measure(r Rule, engine Engine, batch int, pool *kernel.Pool) (time.Duration, error) {
	b := graph.NewBuilder(pool)
	x, dz := r.Values()
	source := random.Seeded(1)
	input := func(name string, shape ...int) *gorgonia.Node {
		in := b.Input(name, tensor.Float32, shape...)
		for i := range b.Values(in).Float32 {
			b.Values(in).Float32[i] = float32(source.Float64() - 0.5)
		}
		return in
	}
	plan := NewPlan(b, Use{Rule: r, Input: input("x", batch, x)}, input("dz", batch, dz), engine)
	norms := plan.SquaredNorms(b)
	executor, err := b.Compile(append(plan.Outputs(), norms)...)
	if err != nil {
		return 0, fmt.Errorf("perexample: %T: %w", r, err)
	}
	sum, err := clip.NewSum(clip.Flat{ClipNorm: 1}, r.Size(), pool)
	if err != nil {
		return 0, err
	}
	gradients := clip.Batch{SquaredNorms: executor.Values(norms).Float64, Parts: []clip.Part{plan.Part(executor, pool)}}
	best := time.Duration(1<<63 - 1)
	for range 1 + measuredRuns { // the first one allocates
		start := time.Now()
		if err := executor.RunAll(); err != nil {
			return 0, err
		}
		sum.Reset()
		if err := sum.Add(gradients, batch); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}
