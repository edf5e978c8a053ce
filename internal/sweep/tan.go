package sweep

import (
	"fmt"
	"strconv"

	"dpsgd/configs"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
)

// shrink makes a trial the small simulation of its configuration: batches and noise multiplier
// smaller by the same factor, as many steps, and no budget. Each step's mean gradient then carries
// the noise that it carried, σC/B, for a fraction of the work: accuracy under noise depends on σ/B
// and the number of steps and hardly on B alone (Sander, Stock, Sablayrolles 2023,
// arXiv:2210.03403, who call it the total amount of noise, TAN). Its ε does not follow: a small σ
// protects less, and a trial costs what its own releases cost.
func shrink(t *configs.Trial, plan *train.RunPlan, scale int) error {
	c := t.Config
	if !c.Training.Sampling.Sized() {
		return fmt.Errorf("%w: tan.scale is given with training.sampling %s, expected one with a training.batch_size", setup.ErrPlan, c.Training.Sampling.Name())
	}
	if c.Training.BatchSize%scale != 0 {
		return fmt.Errorf("%w: tan.scale is %d, expected a divisor of the training.batch_size %d", setup.ErrPlan, scale, c.Training.BatchSize)
	}
	overrides := []string{
		fmt.Sprintf("training.batch_size=%d", c.Training.BatchSize/scale),
		fmt.Sprintf("training.steps=%d", plan.MaxSteps),
		"privacy.epsilon=none",
		"privacy.noise_multiplier=" + strconv.FormatFloat(plan.NoiseMultiplier()/float64(scale), 'g', -1, 64),
	}
	small, err := configs.Parse("the simulation", c.YAML(), overrides)
	if err != nil {
		return err
	}
	t.Config, t.Overrides = small, append(t.Overrides, overrides...)
	return nil
}
