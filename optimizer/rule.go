package optimizer

import (
	"dpsgd/internal/setting"
	"dpsgd/release"
)

// UpdateRule is the arithmetic of an update rule, coordinate by coordinate, in float64 between
// float32 parameters and slots. A rule that can be set lists its arguments ([setting.Arguments]).
// Its fields are set before it is given to [NewUpdate] and not changed afterwards.
type UpdateRule interface {
	// Name returns the rule's name in configs.
	Name() string
	// Slots names the vectors that the rule remembers. They start at zero.
	Slots() []Slot
	// Move applies step number t, counted from 1, to some of the coordinates: parameters p, noisy
	// sums g still to be multiplied by perBatch, one over the batch size, and the same coordinates
	// of each slot. The deviation that g states is that of the sums, too. Several goroutines call
	// Move for different coordinates, so it changes p and memory alone; what it kept elsewhere
	// would be missing from checkpoints.
	Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32)
}

// Slot is one vector of a rule's memory.
type Slot struct {
	Name        string // PyTorch's
	NotNegative bool   // its values are never below 0
}

// UpdateRules returns every update rule that a configuration can name: to add one, write its file
// and add its kind here. An argument of the same name is the same key of a configuration, so it has
// one format, one meaning and one default in all rules.
func UpdateRules() setting.Kinds[UpdateRule] {
	return setting.Kinds[UpdateRule]{sgd, momentum, nesterov, adam, adamW, adamBC}
}

// What several rules have.

func weightDecay(value *float64) setting.Argument {
	return setting.Argument{Name: "weight_decay", Doc: "Pulls the weights toward 0.",
		Format: setting.Number{Min: 0, Max: 100}, Value: value}
}

func beta1(value *float64) setting.Argument {
	return decay("beta1", "Decay of the mean of gradients.", value, "betas")
}

func beta2(value *float64) setting.Argument {
	return decay("beta2", "Decay of the mean of squared gradients.", value)
}

// momentSlots returns the slots of rules that keep the means of gradients and of their squares.
func momentSlots() []Slot { return []Slot{{Name: "exp_avg"}, {Name: "exp_avg_sq", NotNegative: true}} }

// decay returns an argument for a number in [0, 1): the share of a remembered value that the rule
// keeps from one step to the next.
func decay(name, doc string, value *float64, also ...string) setting.Argument {
	return setting.Argument{Name: name, Also: also, Doc: doc, Format: setting.Number{Min: 0, Max: 1, OpenMax: true}, Value: value}
}

// HeavyBall returns the factor of r's heavy-ball momentum, 0 for none, and whether r remembers
// nothing else: then it is known how far the noise of a step moves a parameter over all steps. A
// rule answers by a method of this name; ok is false for a rule that has none.
func HeavyBall(r UpdateRule) (momentum float64, ok bool) {
	if r, is := r.(interface{ HeavyBall() (float64, bool) }); is {
		return r.HeavyBall()
	}
	return 0, false
}

// HeavyBalls returns the names of the rules for which [HeavyBall] returns true.
func HeavyBalls() []string {
	return UpdateRules().Where(func(r UpdateRule) bool { _, ok := HeavyBall(r); return ok })
}
