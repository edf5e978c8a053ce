package main

import (
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/internal/train"

	"github.com/spf13/cobra"
)

// question is the flags that describe steps of DP-SGD without a run.
type question struct {
	samplingProbability, batchSize, epochs float64
	examples, steps                        int
	delta                                  float64
	accountant                             string
}

func (q *question) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.Float64Var(&q.samplingProbability, "sampling-probability", 0, "chance of one example to join a batch, or --examples and --batch-size")
	f.IntVar(&q.examples, "examples", 0, "number of training examples")
	f.Float64Var(&q.batchSize, "batch-size", 0, "expected number of examples in a batch")
	f.IntVar(&q.steps, "steps", 0, "number of updates, or --epochs")
	f.Float64Var(&q.epochs, "epochs", 0, "expected passes over the data")
	f.Float64Var(&q.delta, "delta", 0, "δ of the guarantee, below 1/examples")
	f.StringVar(&q.accountant, "accountant", "rdp", "how releases are accounted for")
}

// read checks the flags that were given and puts them together.
func (q *question) read(c *cobra.Command) (train.Question, error) {
	given := c.Flags().Changed
	probability, err := q.probability(given)
	if err != nil {
		return train.Question{}, err
	}
	steps, err := q.updates(given, probability)
	if err != nil {
		return train.Question{}, err
	}
	switch {
	case !given("delta"):
		return train.Question{}, usagef("found no --delta, expected a number above 0 and below 1")
	case !(q.delta > 0 && q.delta < 1):
		return train.Question{}, usagef("found --delta %g, expected a number above 0 and below 1", q.delta)
	case given("examples") && q.delta >= 1/float64(q.examples):
		// A mechanism that publishes one record in n with certainty is (0, 1/n)-private.
		return train.Question{}, usagef("found --delta %g, expected less than 1/examples = %.3g", q.delta, 1/float64(q.examples))
	case !slices.Contains(accountant.Names(), q.accountant):
		return train.Question{}, usagef("found --accountant %s, expected one of %s", q.accountant, strings.Join(accountant.Names(), ", "))
	}
	return train.Question{SamplingProbability: probability, Steps: steps, Delta: q.delta, Accountant: q.accountant}, nil
}

func (q *question) probability(given func(string) bool) (float64, error) {
	if given("sampling-probability") {
		switch {
		case given("batch-size"):
			return 0, usagef("found --sampling-probability and --batch-size, expected one of them")
		case !(q.samplingProbability > 0 && q.samplingProbability <= 1):
			return 0, usagef("found --sampling-probability %g, expected a number above 0 and at most 1", q.samplingProbability)
		case given("examples") && q.examples < 1:
			return 0, usagef("found --examples %d, expected at least 1", q.examples)
		}
		return q.samplingProbability, nil
	}
	switch {
	case !given("examples") || !given("batch-size"):
		return 0, usagef("found neither --sampling-probability nor --examples with --batch-size, expected one of the two")
	case q.examples < 1:
		return 0, usagef("found --examples %d, expected at least 1", q.examples)
	case !(q.batchSize > 0 && q.batchSize <= float64(q.examples)):
		return 0, usagef("found --batch-size %g, expected a number above 0 and at most the %d examples", q.batchSize, q.examples)
	}
	return q.batchSize / float64(q.examples), nil
}

// maxSteps bounds what can be asked about: beyond it, counts would not fit 32-bit platforms.
const maxSteps = 1_000_000_000

func (q *question) updates(given func(string) bool, probability float64) (int, error) {
	switch {
	case given("steps") == given("epochs"):
		return 0, usagef("found %s, expected one of the two", map[bool]string{true: "--steps and --epochs", false: "neither --steps nor --epochs"}[given("steps")])
	case given("steps") && (q.steps < 1 || q.steps > maxSteps):
		return 0, usagef("found --steps %d, expected 1 to %d", q.steps, maxSteps)
	case given("steps"):
		return q.steps, nil
	case !(q.epochs > 0 && q.epochs/probability <= maxSteps):
		return 0, usagef("found --epochs %g, expected a number above 0 that makes at most %d steps", q.epochs, maxSteps)
	}
	return max(1, int(math.Round(q.epochs/probability))), nil
}
