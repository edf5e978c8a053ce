package speed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/model"
)

// benchStep makes steps of one mode, or evaluations.
type benchStep interface {
	// take makes one step on the examples with these indices.
	take(indices []int) error
	// profile makes later steps call record with the time of each part; a part may come several
	// times.
	profile(record func(part string, d time.Duration))
}

// bench makes steps of one mode, one after the other, on examples that it takes in turn.
type bench struct {
	step     benchStep
	model    *model.Model
	views    *data.Views
	pool     *kernel.Pool
	pictures int     // examples to choose from
	physical int     // size of a physical batch
	limit    float64 // the most GFLOP/s that the machine can do

	indices []int // the examples of the current step
	next    int   // the first example of the next step
}

const (
	benchPictures = 4096 // examples to choose from, whatever the batch
	evaluated     = 400  // examples in an evaluation, which fill several graphs
)

func newBench(c *configs.Config, mode string) (*bench, error) {
	o, err := setup.OutlineOf(c, benchPictures)
	if err != nil {
		return nil, err
	}
	if err := setup.CheckMemory(c, o); err != nil {
		return nil, err
	}
	b := &bench{pictures: benchPictures, physical: min(c.Training.PhysicalBatchSize, c.Training.BatchSize)}
	if mode == "evaluation" {
		b.pictures = evaluated
	}
	if b.model, err = setup.Model(c, o.Shape, o.Classes); err != nil {
		return nil, err
	}
	if b.views, err = setup.Views(c, o.Shape); err != nil {
		return nil, err
	}
	examples, err := setup.RandomExamples(c, o, b.pictures, random.Seeded(1))
	if err != nil {
		return nil, err
	}
	batcher, err := data.NewBatcher(examples, setup.Normalisation(c, o.Shape.Channels))
	if err != nil {
		return nil, err
	}
	b.indices = make([]int, c.Training.BatchSize)
	b.pool = kernel.NewPool(setup.Threads(c))
	switch mode {
	case "private":
		b.step, err = newPrivateStep(c, c.Performance.Engine, b, batcher)
	case "materialise", "ghost":
		b.step, err = newPrivateStep(c, mode, b, batcher)
	case "plain":
		b.step, err = newPlainStep(b, batcher)
	case "evaluation":
		var e *gradients.Evaluator
		e, err = gradients.NewEvaluator(b.model, examples, setup.Normalisation(c, o.Shape.Channels), b.pool)
		b.step = evaluation{e}
	default:
		err = fmt.Errorf("%w: found the mode %q of a benchmark, expected one of %q", configs.ErrInvalid, mode, Modes())
	}
	if err != nil {
		b.pool.Close()
		return nil, err
	}
	return b, nil
}

// Shares of the time of a benchmark. The limit of the machine is measured before and after, because
// machines slow down and speed up. Parts have a phase of their own, so that no clock is read within
// the steps that are timed as a whole.
const (
	limitShare   = 0.05 // twice
	warmUpShare  = 0.15
	profileShare = 0.15
	fewestSteps  = 3

	longestLimit = 200 * time.Millisecond
)

// measure returns the times of whole steps, and each part's median milliseconds. It takes about d.
func (b *bench) measure(ctx context.Context, d time.Duration) ([]time.Duration, map[string]float64, error) {
	share := func(x float64) time.Duration { return time.Duration(x * float64(d)) }
	limitTime := min(share(limitShare), longestLimit)
	b.limit = kernel.FMALimit(b.pool, limitTime)
	if _, err := b.repeat(ctx, share(warmUpShare)); err != nil {
		return nil, nil, err
	}
	times, err := b.repeat(ctx, share(1-2*limitShare-warmUpShare-profileShare))
	if err != nil {
		return nil, nil, err
	}
	parts, err := b.profile(ctx, share(profileShare))
	if err != nil {
		return nil, nil, err
	}
	b.limit = max(b.limit, kernel.FMALimit(b.pool, limitTime))
	return times, parts, nil
}

// repeat makes steps for at least d, and at least three, and returns how long each took.
func (b *bench) repeat(ctx context.Context, d time.Duration) ([]time.Duration, error) {
	var times []time.Duration
	for start := time.Now(); len(times) < fewestSteps || time.Since(start) < d; {
		t, err := b.once(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, t)
	}
	return times, nil
}

// profile makes steps for at least d and returns the median of each part, in milliseconds. It comes
// last, as later steps would be profiled, too.
func (b *bench) profile(ctx context.Context, d time.Duration) (map[string]float64, error) {
	current := map[string]time.Duration{} // of the step in progress
	times := map[string][]time.Duration{}
	b.step.profile(func(part string, d time.Duration) { current[part] += d })
	for start := time.Now(); len(times["overhead"]) < fewestSteps || time.Since(start) < d; {
		clear(current)
		rest, err := b.once(ctx)
		if err != nil {
			return nil, err
		}
		for _, part := range Parts() {
			if part == "overhead" {
				current[part] = rest
			}
			rest -= current[part]
			times[part] = append(times[part], current[part])
		}
	}
	parts := map[string]float64{}
	for part, t := range times {
		parts[part] = milliseconds(median(t))
	}
	return parts, nil
}

// once makes one step on the next examples in turn, and returns how long the step alone took.
func (b *bench) once(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("train: benchmark: %w", err)
	}
	for i := range b.indices {
		b.indices[i] = b.next
		b.next = (b.next + 1) % b.pictures
	}
	start := time.Now()
	err := b.step.take(b.indices)
	return time.Since(start), err
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// median returns the middle one of at least one value; of an even number, the larger of the middle
// two.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}
