// Package setup makes what a configuration names: the data set, wherever it lies now, with its
// features, the network, the update rule. It estimates the memory that these take, and refuses what
// the machine does not have before any of it is taken: the system does not tell a process that it
// asked for too much, but stands still or kills it.
package setup

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/optimizer"
)

// ErrPlan marks a configuration that is well-formed but cannot be carried out on its data.
var ErrPlan = errors.New("train: the configuration does not fit the data")

// Misfit returns an [ErrPlan] about the value of one key. The text says, behind the key, what was
// found and what was expected.
func Misfit(key, format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrPlan, &configs.KeyError{Key: key, Problem: fmt.Sprintf(format, args...)})
}

// CheckDelta refuses a δ of at least 1/n for n records: a mechanism that publishes one record in n
// with certainty is (0, 1/n)-private. Records is their name, as in "training examples".
func CheckDelta(delta float64, n int, records string) error {
	if delta < 1/float64(n) {
		return nil
	}
	return Misfit("privacy.delta", "is %g, expected less than 1/n = %.3g for n = %d %s", delta, 1/float64(n), n, records)
}

// SeesFeatures reports whether the network sees [data.Features], which some program computed.
func SeesFeatures(c *configs.Config) bool { return c.Features.Any() || c.Data.Vectors != "" }

// Normalisation returns the configured constants, one for each channel or column. Features and
// texts have none.
func Normalisation(c *configs.Config, channels int) data.Normalisation {
	if SeesFeatures(c) || c.Data.Shape().IsText() {
		return data.Normalisation{}
	}
	return c.Data.PerChannel(channels)
}

// Threads returns the configured number of threads, or one for each core.
func Threads(c *configs.Config) int {
	if c.Performance.Threads > 0 {
		return c.Performance.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// ClientsAtOnce returns how many clients' changes, each of so many parameters, one call computes.
func ClientsAtOnce(c *configs.Config, parameters, threads int) int {
	const most = 64 << 20 // bytes of changes
	return max(threads, min(c.Federated.Clients, most/4/parameters))
}

// Slots returns how many values the configured update rule and average keep for each parameter.
func Slots(c *configs.Config) (int, error) {
	update, err := optimizer.NewUpdate(c.Optimizer.Rule, 1, 1)
	if err != nil {
		return 0, err
	}
	slots := len(update.View().Slots)
	if c.Training.Average.Name() != "none" {
		slots += 2 // the mean, and the values while it stands in their place
	}
	return slots, nil
}

// Update returns the configured update rule and its learning rate's schedule over so many steps.
// deviation returns the standard deviation of the noise on each value of a step's mean gradient.
func Update(c *configs.Config, dim, steps, threads int, deviation func(step int) float64) (*optimizer.Update, optimizer.Schedule, error) {
	update, err := optimizer.NewUpdate(c.Optimizer.Rule, dim, threads)
	if err != nil {
		return nil, optimizer.Schedule{}, err
	}
	schedule := Schedule(c, steps)
	if !c.Optimizer.ByNoise() {
		return update, schedule, schedule.Check()
	}
	schedule.Peak = 1
	if err := schedule.Check(); err != nil {
		return nil, schedule, err
	}
	momentum, _ := optimizer.HeavyBall(c.Optimizer.Rule)
	schedule = schedule.WithNoise(c.Optimizer.ParameterNoise, deviation, momentum)
	return update, schedule, schedule.Check()
}

// Schedule returns the configured schedule of the learning rate over so many steps, for a rate that
// does not follow from noise.
func Schedule(c *configs.Config, steps int) optimizer.Schedule {
	return optimizer.Schedule{
		Curve: c.Optimizer.Schedule.Curve, Peak: c.Optimizer.LearningRate, Steps: steps, WarmupSteps: c.Optimizer.Schedule.WarmupSteps,
	}
}

// Steps returns the planned number of updates on n examples, with batch of them in a step: t.Steps,
// or n/batch for each epoch, rounded to a whole number over all epochs, at least 1.
func Steps(t configs.Training, batch float64, n int) int {
	if t.Steps > 0 {
		return t.Steps
	}
	return max(1, int(math.Round(float64(t.Epochs)*float64(n)/batch)))
}
