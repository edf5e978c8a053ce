package optimizer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"dpsgd/release"
)

// Update is a rule that moves parameters against a noisy gradient, and what the rule remembers
// between steps. All rules are post-processing of noisy sums: their memory is made of
// [release.Noisy] values, parameters and public numbers. An Update serves one vector of parameters
// and is not safe for concurrent use.
type Update interface {
	// Name is the rule's name in configs.
	Name() string

	// Apply changes parameters (length dim) in place by one step with the gradient estimate
	// gradient/expectedBatchSize. gradient is asked for its noisy values once and must hand out
	// every coordinate once. expectedBatchSize is the public constant, positive and finite, never
	// the number of examples drawn; learningRate is finite and not negative. After an error from
	// before the first value was handed out nothing has changed; an error of this package wraps
	// [ErrUpdate].
	Apply(parameters []float32, gradient Gradient, expectedBatchSize, learningRate float64) error

	// State returns a copy of what the rule remembers, for a checkpoint.
	State() State

	// Restore makes the rule continue from a state of a rule of the same name and dim, bit for bit.
	// It wants exactly the slots of [Update.State], of the right length, with finite values;
	// otherwise it returns an error that wraps [ErrState] and changes nothing.
	Restore(State) error
}

// Gradient is a noisy vector that is made when it is asked for: it calls consume with all of its
// values, in blocks, from several goroutines, and returns when all calls have returned.
// [release.Door.Release] is one.
type Gradient func(consume func(release.Noisy)) error

// State is the memory of an [Update].
type State struct {
	Step  int                  // number of calls of Apply
	Slots map[string][]float32 // one vector of length dim under each name, PyTorch's: momentum_buffer, exp_avg, exp_avg_sq
}

// Rule names an update rule and sets it. Each rule reads its own fields and no others.
type Rule struct {
	Name         string  // sgd, momentum, nesterov, adam or adamw
	Momentum     float64 // momentum and nesterov: in [0, 1)
	Beta1, Beta2 float64 // adam and adamw: decay of the first and second moment, in [0, 1)
	Epsilon      float64 // adam and adamw: added to the root of the second moment, positive
	WeightDecay  float64 // all: not negative; decoupled from the gradient in adamw, added to it in the others
}

// Errors of this package's rules, to match with errors.Is.
var (
	ErrRule   = errors.New("invalid update rule")
	ErrUpdate = errors.New("update refused")
	ErrState  = errors.New("state does not fit the update rule")
)

// Names returns the names of the update rules.
func Names() []string { return []string{"sgd", "momentum", "nesterov", "adam", "adamw"} }

// NewUpdate returns the rule for dim parameters, as before its first step, whose noisy values come
// from at most that many threads at a time. The error wraps [ErrRule]. The parameters do not depend
// on the number of threads.
func NewUpdate(r Rule, dim, threads int) (Update, error) {
	if dim <= 0 {
		return nil, fmt.Errorf("optimizer: update rule for %d parameters, must be at least 1: %w", dim, ErrRule)
	}
	f, err := formulaOf(r)
	if err != nil {
		return nil, err
	}
	u := &update{name: r.Name, dim: dim, formula: f, threads: make([][][]float32, threads)}
	for range f.slots() {
		u.memory = append(u.memory, make([]float32, dim))
	}
	for i := range u.threads {
		u.threads[i] = make([][]float32, len(u.memory))
	}
	u.moveBlock = u.move
	return u, nil
}

func formulaOf(r Rule) (formula, error) {
	var problem error // the first one
	check := func(ok bool, field string, value float64, want string) {
		if !ok && problem == nil {
			problem = fmt.Errorf("optimizer: %s of %s is %g, must be %s: %w", field, r.Name, value, want, ErrRule)
		}
	}
	decays := func(x float64) bool { return x >= 0 && x < 1 }
	check(r.WeightDecay >= 0 && !math.IsInf(r.WeightDecay, 1), "weight decay", r.WeightDecay, "finite and not negative")
	var f formula
	switch r.Name {
	case "sgd":
		f = sgd{weightDecay: r.WeightDecay}
	case "momentum", "nesterov":
		check(decays(r.Momentum), "momentum", r.Momentum, "in [0, 1)")
		f = momentum{momentum: r.Momentum, nesterov: r.Name == "nesterov", weightDecay: r.WeightDecay}
	case "adam", "adamw":
		check(decays(r.Beta1), "beta1", r.Beta1, "in [0, 1)")
		check(decays(r.Beta2), "beta2", r.Beta2, "in [0, 1)")
		check(r.Epsilon > 0 && !math.IsInf(r.Epsilon, 1), "epsilon", r.Epsilon, "positive and finite")
		f = adam{beta1: r.Beta1, beta2: r.Beta2, epsilon: r.Epsilon, weightDecay: r.WeightDecay, decoupled: r.Name == "adamw"}
	default:
		return nil, fmt.Errorf("optimizer: update rule is %q, expected one of %v: %w", r.Name, Names(), ErrRule)
	}
	return f, problem
}

// formula is the arithmetic of a rule, coordinate by coordinate, in float64 between float32
// parameters and slots.
type formula interface {
	// slots names the vectors that the rule remembers. They start at zero.
	slots() []slot
	// move applies step number t, counted from 1, to some of the coordinates: parameters p, noisy
	// sums g still to be multiplied by perBatch, one over the batch size, and the same coordinates
	// of each slot.
	move(p []float32, g []float64, perBatch, rate float64, t int, memory [][]float32)
}

type slot struct {
	name        string
	notNegative bool // its values are never below 0
}

// update is every rule: the checks and the book-keeping around a formula.
type update struct {
	name    string
	dim     int
	formula formula
	step    int
	memory  [][]float32 // in the order of formula.slots

	threads   [][][]float32       // for each thread, the slots of the block that it is at
	moveBlock func(release.Noisy) // u.move, made once

	// The Apply in progress.
	parameters     []float32
	perBatch, rate float64
	moved          atomic.Int64 // coordinates
}

// Name implements [Update].
func (u *update) Name() string { return u.name }

// Apply implements [Update].
func (u *update) Apply(parameters []float32, gradient Gradient, expectedBatchSize, learningRate float64) error {
	switch {
	case len(parameters) != u.dim:
		return fmt.Errorf("optimizer: %s got %d parameters, expected %d: %w", u.name, len(parameters), u.dim, ErrUpdate)
	case !(expectedBatchSize > 0) || math.IsInf(expectedBatchSize, 1):
		return fmt.Errorf("optimizer: expected batch size is %g, must be positive and finite: %w", expectedBatchSize, ErrUpdate)
	case !(learningRate >= 0) || math.IsInf(learningRate, 1):
		return fmt.Errorf("optimizer: learning rate is %g, must be finite and not negative: %w", learningRate, ErrUpdate)
	}
	u.parameters, u.perBatch, u.rate = parameters, 1/expectedBatchSize, learningRate
	u.moved.Store(0)
	err := gradient(u.moveBlock)
	u.parameters = nil
	if err != nil {
		return err
	}
	if moved := u.moved.Load(); moved != int64(u.dim) {
		return fmt.Errorf("optimizer: %s got %d noisy values, expected each of %d once: %w", u.name, moved, u.dim, ErrUpdate)
	}
	u.step++
	return nil
}

// move applies the formula to a block of coordinates.
func (u *update) move(n release.Noisy) {
	from, to := n.From(), n.From()+len(n.Values())
	if to > u.dim {
		u.moved.Add(int64(u.dim) + 1) // too many, which Apply reports
		return
	}
	memory := u.threads[n.Worker()]
	for i, m := range u.memory {
		memory[i] = m[from:to]
	}
	u.formula.move(u.parameters[from:to], n.Values(), u.perBatch, u.rate, u.step+1, memory)
	u.moved.Add(int64(to - from))
}

// State implements [Update].
func (u *update) State() State {
	s := State{Step: u.step, Slots: map[string][]float32{}}
	for i, slot := range u.formula.slots() {
		s.Slots[slot.name] = slices.Clone(u.memory[i])
	}
	return s
}

// Restore implements [Update].
func (u *update) Restore(s State) error {
	slots := u.formula.slots()
	if s.Step < 0 {
		return fmt.Errorf("optimizer: state of %s is at step %d, must not be negative: %w", u.name, s.Step, ErrState)
	}
	if len(s.Slots) != len(slots) {
		return fmt.Errorf("optimizer: state of %s has the slots %q, expected %d: %w",
			u.name, slices.Sorted(maps.Keys(s.Slots)), len(slots), ErrState)
	}
	for _, slot := range slots {
		if err := u.checkSlot(slot, s.Slots); err != nil {
			return err
		}
	}
	u.step = s.Step
	for i, slot := range slots {
		copy(u.memory[i], s.Slots[slot.name])
	}
	return nil
}

func (u *update) checkSlot(slot slot, slots map[string][]float32) error {
	values, found := slots[slot.name]
	if !found {
		return fmt.Errorf("optimizer: state of %s has no slot %q: %w", u.name, slot.name, ErrState)
	}
	if len(values) != u.dim {
		return fmt.Errorf("optimizer: slot %q of %s has %d values, expected %d: %w", slot.name, u.name, len(values), u.dim, ErrState)
	}
	for i, v := range values {
		x := float64(v)
		if math.IsNaN(x) || math.IsInf(x, 0) || slot.notNegative && x < 0 {
			return fmt.Errorf("optimizer: slot %q of %s has the value %g at %d: %w", slot.name, u.name, x, i, ErrState)
		}
	}
	return nil
}
