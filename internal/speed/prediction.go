package speed

import (
	"context"
	"time"

	"dpsgd/configs"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
)

// Prediction measures for about the given time how long an evaluation takes for one example.
func Prediction(ctx context.Context, c *configs.Config, d time.Duration) (time.Duration, error) {
	o, err := setup.OutlineOf(c, benchPictures)
	if err != nil {
		return 0, err
	}
	m, err := setup.Model(c, o.Shape, o.Classes)
	if err != nil {
		return 0, err
	}
	const tests = 400 // several graphs
	examples, err := randomExamples(setup.Seen(c, o.Shape), o.Classes, tests, setup.SeesFeatures(c))
	if err != nil {
		return 0, err
	}
	pool := kernel.NewPool(setup.Threads(c))
	defer pool.Close()
	evaluator, err := gradients.NewEvaluator(m, examples, setup.Normalisation(c, o.Shape.Channels), pool)
	if err != nil {
		return 0, err
	}
	var times []time.Duration
	for start := time.Now(); len(times) < fewestSteps || time.Since(start) < d && ctx.Err() == nil; {
		begun := time.Now()
		if _, err := evaluator.Run(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begun))
	}
	return median(times) / tests, ctx.Err()
}
