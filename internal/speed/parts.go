package speed

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
	"dpsgd/release"
)

// measure times the parts of a step on this machine for about d, on random examples in memory.
// values is the number of parameters, tests the number of examples that an evaluation predicts.
func measure(ctx context.Context, c *configs.Config, plan *train.RunPlan, values, tests int, d time.Duration) (Machine, error) {
	m := Machine{Update: math.Inf(1)}
	sizes := graphSizes(min(c.Training.PhysicalBatchSize, plan.Records))
	each := d / time.Duration(turns*len(sizes)+1)
	for range turns {
		for i, size := range sizes {
			alone := *c
			alone.Training.BatchSize, alone.Training.PhysicalBatchSize = size, size
			r, err := Measure(ctx, &alone, "private", each)
			if err != nil {
				return m, err
			}
			if i == len(m.Graphs) {
				m.Graphs = append(m.Graphs, Graph{size, math.Inf(1)})
			}
			after := r.Parts["noise"] + r.Parts["update"]
			m.Graphs[i].MS, m.Update = min(m.Graphs[i].MS, max(0, r.StepMS-after)), min(m.Update, after)
		}
	}
	b, err := newBench(c, "evaluation")
	if err != nil {
		return m, err
	}
	defer b.pool.Close()
	times, err := b.repeat(ctx, each)
	if err != nil {
		return m, err
	}
	m.Evaluation = float64(tests) * milliseconds(median(times)) / float64(b.pictures)
	if m.Merge, err = merging(c, values); err != nil {
		return m, err
	}
	sum, part := make([]int64, values), make([]int64, values)
	m.Add, _ = usual(func() error {
		for i, v := range part {
			sum[i] += v
		}
		return nil
	})
	var sample []int
	src := random.New()
	m.Sample, _ = usual(func() error {
		sample = release.At(plan.Sampler, 0).Sample(sample, plan.Records, src)
		return nil
	})
	m.Event, m.Checkpoint, err = durable(c, plan, values)
	return m, err
}

const (
	// turns is how often every size of a graph is measured; the shortest time counts. Other work on
	// the machine hardly slows one size down every time, so that the others would look efficient.
	turns       = 3
	repetitions = 9 // how often usual measures a short piece of work
)

// graphSizes returns the sizes of graphs to measure, ascending: 1, the quotients most/4, most/16, …
// that are above 3, and most.
func graphSizes(most int) []int {
	sizes := []int{max(1, most)}
	for size := most / 4; size > 3; size /= 4 {
		sizes = append(sizes, size)
	}
	if most > 1 {
		sizes = append(sizes, 1)
	}
	slices.Reverse(sizes)
	return sizes
}

// usual returns the median time of nine runs of a piece of work, in milliseconds.
func usual(work func() error) (float64, error) {
	times := make([]time.Duration, repetitions)
	for i := range times {
		start := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		times[i] = time.Since(start)
	}
	return milliseconds(median(times)), nil
}

// merging returns the milliseconds that it takes to make a sum of so many values ready for sending
// and to take the total back.
func merging(c *configs.Config, values int) (float64, error) {
	policy, err := clip.New(c.Privacy.Clipping, c.Privacy.ClipNorm)
	if err != nil {
		return 0, err
	}
	pool := kernel.NewPool(setup.Threads(c))
	defer pool.Close()
	sum, err := clip.NewSum(policy, values, pool)
	if err != nil {
		return 0, err
	}
	return usual(func() error {
		sum.Reset()
		return sum.Merge(func([]int64) error { return nil })
	})
}

// durable returns the milliseconds until an event, and until a checkpoint, is on the disk that
// holds temporary files.
func durable(c *configs.Config, plan *train.RunPlan, values int) (event, checkpoint float64, err error) {
	dir, err := os.MkdirTemp("", "train-plan-")
	if err != nil {
		return 0, 0, fmt.Errorf("scale: %w", err)
	}
	defer os.RemoveAll(dir)
	journal, err := checkpoints.CreateJournal(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		return 0, 0, err
	}
	defer journal.Close()
	step := 0
	if event, err = usual(func() error {
		step++
		return journal.Append(step, plan.Event(0))
	}); err != nil {
		return 0, 0, err
	}
	slots, err := setup.Slots(c)
	if err != nil {
		return 0, 0, err
	}
	state := &checkpoints.State{Parameters: make([]float32, values), Slots: map[string][]float32{}, LedgerEntries: journal.Len(), LedgerHash: journal.Hash()}
	for i := range slots {
		state.Slots[fmt.Sprint("slot", i)] = make([]float32, values)
	}
	checkpoint, err = usual(func() error {
		state.Step++
		_, err := checkpoints.Save(dir, state)
		return err
	})
	return event, checkpoint, err
}

// evaluation is the benchStep that predicts all examples.
type evaluation struct{ *gradients.Evaluator }

func (e evaluation) take([]int) error {
	_, err := e.Run()
	return err
}

func (evaluation) profile(func(string, time.Duration)) {}
