package selftest

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/battery"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
	"dpsgd/release"
)

// noiseLaw holds the noise of the plan's mechanism to the battery, at the step with the first noise
// multiplier. The draws are those of runs: no seed.
func noiseLaw(r *rig) (finding, error) {
	bound := r.plan.Policy.Bound()
	sigma := r.plan.Mechanism.Deviation(0, bound) / bound
	f := finding{chance: battery.NoiseStatements * battery.FalseFailure}
	src := random.New()
	var failed error
	f.faults = battery.Noise(func(_ int, sum *clip.Sum) []float64 {
		values := make([]float64, sum.Dim())
		if err := r.plan.Mechanism.Privatize(0, sum, src, func(n release.Noisy) { copy(values[n.From():], n.Values()) }); err != nil {
			failed = err
		}
		return values
	}, sigma, bound)
	f.measured = fmt.Sprintf("%d draws of deviation %.6g·%g, %d statements", battery.Steps*battery.Dim, sigma, bound, battery.NoiseStatements)
	return f, failed
}

// Of the battery of samples.
const (
	fewestRecords, mostRecords = 1000, 20_000
	fewestSamples, mostSamples = 2000, 20_000
	joined                     = 50 // of how often each record is to join
)

// sampleLaw holds the samples of the plan to the battery of Poisson sampling, or, without sampling,
// looks whether all records are in them. The probability is that of the plan; there are between
// 1,000 and 20,000 records.
func sampleLaw(r *rig) (finding, error) {
	src := random.New()
	sample := func(n int) []int { return r.plan.Sampler.Sample(nil, n, src) }
	event := r.plan.Event(0)
	if turns, ok := event.(accountant.CyclicSampled); ok {
		// The samples of all blocks are together one of all records.
		event = turns.Event
		sample = func(n int) (all []int) {
			for turn := range turns.Blocks {
				all = append(all, release.At(r.plan.Sampler, turn).Sample(nil, n, src)...)
			}
			slices.Sort(all)
			return all
		}
	}
	switch e := event.(type) {
	case accountant.PoissonSampled:
		q := e.SamplingProbability
		if q >= 1 {
			return everybody(sample), nil
		}
		n := min(max(r.plan.Records, fewestRecords), mostRecords)
		samples := min(max(int(math.Ceil(joined/q)), fewestSamples), mostSamples)
		f := finding{measured: fmt.Sprintf("%d samples of %d records with q = %.6g, %d statements", samples, n, q, battery.PoissonStatements), chance: battery.PoissonStatements * battery.FalseFailure}
		f.faults = battery.Poisson(n, q, samples, func(int) []int { return sample(n) })
		return f, nil
	case accountant.BallsInBins:
		if e.Bins == 1 {
			return everybody(sample), nil
		}
		n := min(max(r.plan.Records, fewestRecords), mostRecords)
		epochs := min(max(joined, fewestSamples/e.Bins), mostSamples)
		f := finding{measured: fmt.Sprintf("%d epochs of %d samples of %d records, %d statements", epochs, e.Bins, n, battery.BinsStatements), chance: battery.BinsStatements * battery.FalseFailure}
		f.faults = battery.BallsInBins(n, e.Bins, epochs, func(step int) []int { return release.At(r.plan.Sampler, step).Sample(nil, n, src) })
		return f, nil
	case accountant.Gaussian:
		return everybody(sample), nil
	default:
		return finding{measured: fmt.Sprintf("nothing: there is no battery for samples of %v", e)}, nil
	}
}

func everybody(sample func(n int) []int) finding {
	f := finding{measured: fmt.Sprintf("samples of %d records, which are to be all of them", fewestRecords)}
	if drawn := sample(fewestRecords); !slices.Equal(drawn, span(0, fewestRecords)) {
		f.faults = []string{fmt.Sprintf("found a sample of %d records, expected all %d, once each", len(drawn), fewestRecords)}
	}
	return f
}

// Of the run that is recorded and replayed.
const (
	replaySteps    = 4
	replayExamples = 64
	replayBatch    = 16 // records, expected
)

// replay carries out a short run of the configuration on random examples and again on others: see
// [train.Replay].
func replay(r *rig) (f finding, err error) {
	c := *r.config
	c.Training.Steps, c.Training.Epochs, c.Training.EvaluateEvery = replaySteps, 0, 2
	if c.Federated.Noise != data.ByClients { // whose shares are for so many
		c.Federated.Clients = min(c.Federated.Clients, replayExamples)
	}
	n := max(replayExamples, 4*c.Federated.Clients)
	c.Training.BatchSize = min(replayBatch, cmp.Or(c.Federated.Clients, n)) // so that a record that differs is in some batch
	c.Training.PhysicalBatchSize = min(c.Training.PhysicalBatchSize, n/4)
	c.Optimizer.Schedule.WarmupSteps = min(c.Optimizer.Schedule.WarmupSteps, 1)
	c.Features.Pictures, c.Features.Directions = min(c.Features.Pictures, replayExamples), min(c.Features.Directions, replayExamples/4)
	c.Privacy.Epsilon, c.Privacy.NoiseMultiplier = 0, r.plan.NoiseMultiplier()
	c.Privacy.Delta = min(c.Privacy.Delta, 1e-5)
	c.Privacy.Unit, c.Privacy.ExamplesPerPerson = "example", 0  // whose the examples are stands in files
	if turns, ok := c.Training.Sampling.(*release.Cyclic); ok { // whose blocks hold a batch; a record stands for the noise
		c.Training.Sampling = &release.Cyclic{Blocks: min(turns.Blocks, n/c.Training.BatchSize)}
		c.Privacy.Correlation = configs.Independent
	}
	c.Run.Name, c.Run.CheckpointEvery, c.Run.PrivateDiagnostics = "", 1, false
	c.Data.Limit.Epsilon, c.Data.Limit.Delta = 0, 0
	one, other, err := r.neighbours(n)
	if err != nil {
		return f, err
	}
	dir, err := os.MkdirTemp("", "selftest")
	if err != nil {
		return f, fmt.Errorf("train: self-test: %w", err)
	}
	defer os.RemoveAll(dir)
	found, err := train.Replay(&c, one, other, dir)
	if err != nil {
		return f, err
	}
	f.measured, f.faults = fmt.Sprintf("%d releases, and %d files of two runs on data that differ", found.Releases, found.Files), found.Problems
	if !found.Moved {
		f.faults = append(f.faults, "found the same sums of both runs, expected that an example changes them")
	}
	return f, nil
}

// neighbours draws two sets of n examples of which the first half differ in every byte, so that
// whatever is sampled the sums differ: of one example in 64 that is not certain.
func (r *rig) neighbours(n int) (one, other *data.Split, err error) {
	bytes := setup.Draw(r.outline.Shape, r.outline.Classes, n, random.Seeded(seed))
	test, err := bytes.AsRead(r.config, r.outline)
	if err != nil {
		return nil, nil, err
	}
	changed := setup.Drawn{Labels: slices.Clone(bytes.Labels), Values: slices.Clone(bytes.Values)}
	for i := range changed.Labels[:n/2] {
		changed.Labels[i] = uint8((int(changed.Labels[i]) + 1) % min(r.outline.Classes, 256))
	}
	for i := range changed.Values[:len(changed.Values)/2] {
		changed.Values[i] ^= 0x5b // and no mirror image, of which a gradient may be the same
	}
	train, err := changed.AsRead(r.config, r.outline)
	return &data.Split{Name: r.outline.Name, Train: test, Test: test}, &data.Split{Name: r.outline.Name, Train: train, Test: test}, err
}
