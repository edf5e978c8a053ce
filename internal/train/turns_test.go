package train

import (
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// byTurns are runs of 12 steps of which records take turns.
var byTurns = map[string][]string{"cyclic": cyclicBudget, "correlated": bands, "balls in bins": binsBudget}

// Ranks, views and the number of steps change nothing of what turns cost: the ledger and ε are those
// of one process that sees each picture as it is. Cyclic runs go on with any number of ranks.
func TestTurnsWithRanksAndViews(t *testing.T) {
	for name, overrides := range byTurns {
		alone := train(t, options(t), overrides...)
		seen := train(t, options(t), append(slices.Clip(overrides), views...)...)
		o := options(t)
		var divided Result
		for i, size := range []int{3, 2} {
			divided = ofGroup(t, ranksOf(size, o.Given), o, func(o Options) (*Run, error) {
				if i == 0 {
					return Create(tiny.Parse(t, overrides...), o)
				}
				return Open(divided.Run, o)
			}, func(t testing.TB, r *Run) Result { return interruptAfter(t, r, 8+4*i) }) // 8 steps are two epochs
		}
		for what, r := range map[string]Result{"views": seen, "ranks": divided} {
			if r.Status != run.Done || r.Epsilon != alone.Epsilon || !slices.Equal(ledgerOf(t, r.Run).Entries(), ledgerOf(t, alone.Run).Entries()) {
				t.Errorf("%s with %s: %s with ε %v, expected done with %v", name, what, r.Status, r.Epsilon, alone.Epsilon)
			}
		}
	}
}

// A run with correlated noise that is extended costs what its blocks cost with independent noise.
func TestCorrelatedRunIsExtended(t *testing.T) {
	extended := func(overrides []string) Result {
		o := options(t)
		first := train(t, o, overrides...)
		extend(t, first.Run, 8, 17, o)
		return fit(t, open(t, first.Run, o))
	}
	if found, want := extended(bands), extended(cyclicBudget); found.Status != run.Done || found.Epsilon != want.Epsilon || found.Steps != want.Steps {
		t.Errorf("%s after %d steps with ε %v, expected %d with %v", found.Status, found.Steps, found.Epsilon, want.Steps, want.Epsilon)
	}
}

// However clients are sampled, the statement says how clients are, and not examples.
func TestTurnsOfClients(t *testing.T) {
	for _, sampling := range []string{"poisson", "full", "cyclic", "balls_in_bins"} {
		c := tiny.Parse(t, "federated.clients=60", "training.sampling="+sampling)
		s := statement.Statement{Sampling: c.Training.Sampling.Sampler(5, 60).String(), Bound: "what one example adds", NotPrivate: []string{""}}
		ofRecords(c, setup.Outline{}, nil, &s)
		if strings.Contains(s.Sampling+s.Bound, "example") || !strings.Contains(s.Sampling, "client") {
			t.Errorf("found %q and %q, expected them about clients", s.Sampling, s.Bound)
		}
	}
}

// The batch size of epochs is what the number of steps makes it, which the statement gives.
func TestBatchSizeOfEpochs(t *testing.T) {
	p := tiny.Must(NewPlan(tiny.Parse(t, append(slices.Clip(binsBudget), "training.batch_size=70")...), tiny.Examples))(t)
	if p.ExpectedBatchSize != 75 || p.SamplingProbability != 0.25 { // of 300 examples in 4 steps
		t.Errorf("found batches of %v with probability %v, expected 75 with 0.25", p.ExpectedBatchSize, p.SamplingProbability)
	}
}

// Public files of runs by turns are functions of the noisy vectors, and the ledger holds the releases.
func TestPublicFilesOfTurns(t *testing.T) {
	for name, overrides := range byTurns {
		source := tiny.Source(t, tiny.Examples)
		r := tiny.Must(Replay(tiny.Parse(t, overrides...), source, neighbour(t, source, 17), t.TempDir()))(t)
		if len(r.Problems) > 0 || !r.Moved || r.Releases != 12 {
			t.Errorf("%s: found %+v", name, r)
		}
	}
}

// All examples in every step have no turns: correlation of such steps is refused by name.
func TestTurnsNeedTheirSampling(t *testing.T) {
	for _, correlation := range []string{"banded", "auto"} {
		for sampling, says := range map[string]string{"full": "training.sampling is full", "balls_in_bins": "training.sampling is balls_in_bins", "poisson": "training.sampling is poisson"} {
			_, err := NewPlan(tiny.Parse(t, "training.sampling="+sampling, "privacy.correlation="+correlation, "privacy.epsilon=3", "privacy.noise_multiplier=calibrated"), tiny.Examples)
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "privacy.correlation "+correlation) {
				t.Errorf("%s: found %v", sampling, err)
			}
		}
	}
}
