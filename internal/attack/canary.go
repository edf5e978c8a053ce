package attack

import (
	"context"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/release"
)

// Door makes releases, as [release.Door] does.
type Door interface {
	Release(step int, source release.Contributor, consume func(release.Noisy)) error
}

// OpenDoor opens the door of runs for a plan, with a journal in memory.
func OpenDoor(p release.Plan, dim int) (Door, error) {
	return release.NewDoor(p, dim, new(release.MemoryJournal), nil, nil)
}

// canary is the only record of a data set, or an empty place: a gradient of ten times the bound, all
// of it in one coordinate. Nothing is harder to hide.
type canary struct {
	dim, at int
	bound   float64
	present bool
	drawn   bool // whether it was in the sample
	zeros   []float32
}

var _ release.Contributor = (*canary)(nil)

func (c *canary) Capacity() int { return 1 }

// Contributions returns the gradient of the canary, or zeros for its empty place.
func (c *canary) Contributions(indices []int) (clip.Batch, error) {
	c.drawn = true
	size := 0.0
	if c.present {
		size = 10 * c.bound
	}
	form := func(_, _ int, emit func([]float32)) {
		emit(c.zeros[:c.at])
		emit([]float32{float32(size)})
	}
	return clip.Batch{SquaredNorms: []float64{size * size}, Parts: []clip.Part{clip.Rows{Width: c.dim, Examples: len(indices), Form: form}}}, nil
}

// scores lists the statistics of a release by which somebody guesses whether the canary is there.
// The first one is the best if noise is as claimed; the others see noise that was used twice.
var scores = []string{
	"its coordinate", "its coordinate less the next one", "its coordinate less one of another stream of noise", "its coordinate less that of the release before",
}

// observed holds the scores of releases with the canary and without: for each of [scores], one value
// for each release, -∞ where the door released nothing.
type observed struct {
	in, out  [][]float64
	releases int
	drawn    int // releases whose sample held the place of the canary
}

// mostCoordinates is how many coordinates are released at most: as many as have two streams of noise
// in package release.
const mostCoordinates = 8192

// observe makes n releases of step number step with the canary, and n without, one after the other.
// Each pair has the canary in another coordinate.
func observe(ctx context.Context, p release.Plan, step, dim, n int, open func(release.Plan, int) (Door, error)) (*observed, error) {
	p.Records = 1
	door, err := open(p, dim)
	if err != nil {
		return nil, err
	}
	o := &observed{in: make([][]float64, len(scores)), out: make([][]float64, len(scores))}
	c := &canary{dim: dim, bound: p.Policy.Bound(), zeros: make([]float32, dim)}
	now, before := make([]float64, dim), make([]float64, dim)
	for pair := range n {
		c.at = pair * 7919 % dim // a prime: neighbours in time are far apart
		for _, c.present = range []bool{false, true} {
			if o.releases%1024 == 0 && ctx.Err() != nil {
				return nil, fmt.Errorf("train: audit: %w", ctx.Err())
			}
			now, before = before, now
			c.drawn = false
			handedOut := 0
			if err := door.Release(step, c, func(n release.Noisy) { handedOut += copy(now[n.From():], n.Values()) }); err != nil {
				return nil, err
			}
			if o.releases++; c.drawn {
				o.drawn++
			}
			x := now[c.at] / c.bound
			values := []float64{x, x - now[(c.at+1)%dim]/c.bound, x - now[(c.at+dim/2)%dim]/c.bound, x - before[c.at]/c.bound}
			side := o.out
			if c.present {
				side = o.in
			}
			for k, v := range values {
				if handedOut < dim {
					v = math.Inf(-1)
				}
				side[k] = append(side[k], v)
			}
		}
	}
	return o, nil
}

// unsampled returns the event of a release of which it is known that the record was in the sample.
func unsampled(e accountant.Event) accountant.Event {
	if sampled, ok := e.(accountant.PoissonSampled); ok {
		return sampled.Event
	}
	return e
}
