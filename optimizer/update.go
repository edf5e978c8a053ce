package optimizer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"dpsgd/internal/setting"
	"dpsgd/release"
)

// Update is a [UpdateRule] that moves parameters against noisy gradients, and what it remembers
// between steps. All rules are post-processing of noisy sums: their memory is made of
// [release.Noisy] values, parameters and public numbers. An Update serves one vector of parameters
// and is not safe for concurrent use.
type Update struct {
	dim    int
	rule   UpdateRule
	step   int
	memory [][]float32 // in the order of rule.Slots

	threads   []thread
	moveBlock func(release.Noisy) // u.move, made once

	// The Apply in progress.
	parameters     []float32
	perBatch, rate float64
}

// thread is what one thread writes while it moves blocks.
type thread struct {
	memory [][]float32 // the slots of the block that it is at
	moved  int         // coordinates, in the Apply in progress
	_      [128]byte   // between threads, which would wait for each other's cache lines
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

// Errors of this package's rules, to match with errors.Is.
var (
	ErrRule   = errors.New("invalid update rule")
	ErrUpdate = errors.New("update refused")
	ErrState  = errors.New("state does not fit the update rule")
)

// NewUpdate returns the rule for dim parameters, as before its first step, whose noisy values come
// from at most that many threads at a time. The error wraps [ErrRule]. The parameters do not depend
// on the number of threads.
func NewUpdate(r UpdateRule, dim, threads int) (*Update, error) {
	if dim <= 0 {
		return nil, fmt.Errorf("optimizer: update rule for %d parameters, must be at least 1: %w", dim, ErrRule)
	}
	if r == nil {
		return nil, fmt.Errorf("optimizer: update rule is nil, expected one of %v: %w", UpdateRules().Names(), ErrRule)
	}
	if err := setting.Check(r.Name(), r); err != nil {
		return nil, fmt.Errorf("optimizer: %w: %w", err, ErrRule)
	}
	u := &Update{dim: dim, rule: r, threads: make([]thread, threads)}
	for range r.Slots() {
		u.memory = append(u.memory, make([]float32, dim))
	}
	for i := range u.threads {
		u.threads[i].memory = make([][]float32, len(u.memory), 16) // two cache lines and more
	}
	u.moveBlock = u.move
	return u, nil
}

func (u *Update) Name() string { return u.rule.Name() }

// Apply changes parameters (length dim) in place by one step with the gradient estimate
// gradient/expectedBatchSize. gradient is asked for its noisy values once and must hand out every
// coordinate once. expectedBatchSize is a public number, positive and finite, never the number of
// examples drawn; where gradients were scaled ahead of their sum (clip.Moving) it is divided by
// the policy's Unit. learningRate is finite and not negative. After an error from before the first
// value was handed out nothing has changed; an error of this package wraps [ErrUpdate].
func (u *Update) Apply(parameters []float32, gradient Gradient, expectedBatchSize, learningRate float64) error {
	if err := u.check(len(parameters), u.dim, expectedBatchSize, learningRate); err != nil {
		return err
	}
	u.parameters, u.perBatch, u.rate = parameters, 1/expectedBatchSize, learningRate
	for i := range u.threads {
		u.threads[i].moved = 0
	}
	err := gradient(u.moveBlock)
	u.parameters = nil
	if err != nil {
		return err
	}
	moved := 0
	for i := range u.threads {
		moved += u.threads[i].moved
	}
	if moved != u.dim {
		return fmt.Errorf("optimizer: %s got %d noisy values, expected each of %d once: %w", u.rule.Name(), moved, u.dim, ErrUpdate)
	}
	u.step++
	return nil
}

// check refuses numbers of parameters and values, a batch size and a rate that no step can have.
func (u *Update) check(parameters, values int, batch, rate float64) error {
	switch {
	case parameters != u.dim || values != u.dim:
		return fmt.Errorf("optimizer: %s got %d parameters and a sum of %d, expected %d: %w", u.rule.Name(), parameters, values, u.dim, ErrUpdate)
	case !(batch > 0) || math.IsInf(batch, 1):
		return fmt.Errorf("optimizer: batch size is %g, must be positive and finite: %w", batch, ErrUpdate)
	case !(rate >= 0) || math.IsInf(rate, 1):
		return fmt.Errorf("optimizer: learning rate is %g, must be finite and not negative: %w", rate, ErrUpdate)
	}
	return nil
}

// move applies the rule to the block of coordinates that n holds, of the Apply in progress.
func (u *Update) move(n release.Noisy) {
	from, to, t := n.From(), n.From()+len(n.Values()), &u.threads[n.Worker()]
	if to > u.dim {
		t.moved += u.dim + 1 // too many, which Apply reports
		return
	}
	for i, m := range u.memory {
		t.memory[i] = m[from:to]
	}
	u.rule.Move(u.parameters[from:to], n, u.perBatch, u.rate, u.step+1, t.memory)
	t.moved += to - from
}

// View returns what the rule remembers, for a checkpoint that is written before the next Apply
// hands out its first value, which changes the vectors.
func (u *Update) View() State {
	s := State{Step: u.step, Slots: map[string][]float32{}}
	for i, slot := range u.rule.Slots() {
		s.Slots[slot.Name] = u.memory[i]
	}
	return s
}

// Restore makes the update continue from a state of the same rule and dim, bit for bit. It wants
// exactly the slots of [Update.View], of the right length, with finite values; otherwise it
// returns an error that wraps [ErrState] and changes nothing.
func (u *Update) Restore(s State) error {
	slots := u.rule.Slots()
	if s.Step < 0 {
		return fmt.Errorf("optimizer: state of %s is at step %d, must not be negative: %w", u.rule.Name(), s.Step, ErrState)
	}
	if len(s.Slots) != len(slots) {
		return fmt.Errorf("optimizer: state of %s has the slots %q, expected %d: %w",
			u.rule.Name(), slices.Sorted(maps.Keys(s.Slots)), len(slots), ErrState)
	}
	for _, slot := range slots {
		if err := u.checkSlot(slot, s.Slots); err != nil {
			return err
		}
	}
	u.step = s.Step
	for i, slot := range slots {
		copy(u.memory[i], s.Slots[slot.Name])
	}
	return nil
}

func (u *Update) checkSlot(slot Slot, slots map[string][]float32) error {
	values, found := slots[slot.Name]
	if !found {
		return fmt.Errorf("optimizer: state of %s has no slot %q: %w", u.rule.Name(), slot.Name, ErrState)
	}
	if len(values) != u.dim {
		return fmt.Errorf("optimizer: slot %q of %s has %d values, expected %d: %w", slot.Name, u.rule.Name(), len(values), u.dim, ErrState)
	}
	for i, v := range values {
		x := float64(v)
		if math.IsNaN(x) || math.IsInf(x, 0) || slot.NotNegative && x < 0 {
			return fmt.Errorf("optimizer: slot %q of %s has the value %g at %d: %w", slot.Name, u.rule.Name(), x, i, ErrState)
		}
	}
	return nil
}
