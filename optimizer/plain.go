package optimizer

import (
	"fmt"

	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/release"
)

// Plain is an update rule for gradients that are NOT private: the arithmetic of an [Update] on
// plain sums. What it makes of parameters is as private as the sums are, which is not at all. It
// serves what never leaves the program as it is (teachers, the local steps of clients), what only
// saw public values (students, training on released labels), and the baseline that is marked NOT
// PRIVATE. It is not safe for concurrent use.
type Plain struct {
	*Update
	plain PlainRule
	pool  *kernel.Pool
	wide  [][]float64 // for each thread, the sums of the block that it is at
}

// PlainRule is a rule whose arithmetic asks nothing about noise.
type PlainRule interface {
	UpdateRule
	// MovePlain is Move for sums that have no noise.
	MovePlain(p []float32, g []float64, perBatch, rate float64, t int, memory [][]float32)
}

// CheckPlain refuses a rule that counts on noise. The error wraps [ErrRule].
func CheckPlain(r UpdateRule) error {
	if _, ok := r.(PlainRule); ok {
		return nil
	}
	plain := UpdateRules().Where(func(r UpdateRule) bool { _, ok := r.(PlainRule); return ok })
	return fmt.Errorf("optimizer: %s is a rule for noisy gradients, expected %s where there is no noise: %w", r.Name(), setting.Or(plain), ErrRule)
}

// plainBlock is the number of coordinates that are moved at a time, while they are in the
// first-level cache.
const plainBlock = 1 << 10

// NewPlain returns the rule for dim parameters, as before its first step, on the threads of pool. A
// rule that counts on noise, such as adambc, is refused. The error wraps [ErrRule].
func NewPlain(r UpdateRule, dim int, pool *kernel.Pool) (*Plain, error) {
	update, err := NewUpdate(r, dim, pool.Threads())
	if err != nil {
		return nil, err
	}
	if err := CheckPlain(r); err != nil {
		return nil, err
	}
	p := &Plain{Update: update, plain: r.(PlainRule), pool: pool}
	for range pool.Threads() {
		p.wide = append(p.wide, make([]float64, plainBlock))
	}
	return p, nil
}

// Apply changes parameters (length dim) in place by one step with the mean gradient sum/batch. It
// does not check sum (length dim), which may hold infinities as training that diverges does.
func (p *Plain) Apply(parameters, sum []float32, batch, rate float64) error {
	if err := p.check(len(parameters), len(sum), batch, rate); err != nil {
		return err
	}
	p.step++
	p.pool.Run(len(sum), plainBlock, func(worker, lo, hi int) {
		for ; lo < hi; lo += plainBlock {
			p.move(worker, lo, min(lo+plainBlock, hi), parameters, sum, 1/batch, rate)
		}
	})
	return nil
}

// move applies a step to coordinates lo up to, not including, hi.
func (p *Plain) move(worker, lo, hi int, parameters, sum []float32, perBatch, rate float64) {
	wide, memory := p.wide[worker][:hi-lo], p.threads[worker].memory
	for i, v := range sum[lo:hi] {
		wide[i] = float64(v)
	}
	for i, slot := range p.memory {
		memory[i] = slot[lo:hi]
	}
	p.plain.MovePlain(parameters[lo:hi], wide, perBatch, rate, p.step, memory)
}

// Forget makes the rule what it was before its first step: step 0, a memory of zeros.
func (p *Plain) Forget() {
	p.step = 0
	for _, slot := range p.memory {
		clear(slot)
	}
}

// SGD is stochastic gradient descent (PyTorch's torch.optim.SGD without momentum):
//
//	g = gradient/batch + weightDecay·p
//	p = p - rate·g
type SGD struct {
	WeightDecay float64 // not negative
}

var sgd = setting.KindOf(func() UpdateRule { return &SGD{} })

func (*SGD) Name() string                    { return "sgd" }
func (r *SGD) Arguments() []setting.Argument { return []setting.Argument{weightDecay(&r.WeightDecay)} }
func (*SGD) HeavyBall() (float64, bool)      { return 0, true }

// Slots implements [UpdateRule]: it remembers nothing.
func (*SGD) Slots() []Slot { return nil }

func (r *SGD) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

func (r *SGD) MovePlain(p []float32, g []float64, perBatch, rate float64, _ int, _ [][]float32) {
	kernel.Descend(p, g, perBatch, r.WeightDecay, rate)
}

// Momentum is SGD with heavy-ball momentum µ or, with Nesterov, Nesterov's, both in PyTorch's form
// (torch.optim.SGD, dampening 0), where the rate multiplies the velocity instead of entering it:
//
//	g = gradient/batch + weightDecay·p
//	v = µ·v + g
//	p = p - rate·v            (momentum)
//	p = p - rate·(g + µ·v)    (nesterov)
type Momentum struct {
	Momentum    float64 // µ, in [0, 1)
	WeightDecay float64 // not negative
	Nesterov    bool
}

var (
	momentum = setting.KindOf(func() UpdateRule { return &Momentum{Momentum: 0.9} })
	nesterov = setting.KindOf(func() UpdateRule { return &Momentum{Momentum: 0.9, Nesterov: true} })
)

func (r *Momentum) Name() string {
	if r.Nesterov {
		return "nesterov"
	}
	return "momentum"
}

func (r *Momentum) Arguments() []setting.Argument {
	return []setting.Argument{decay("momentum", "How much of the last update is kept.", &r.Momentum), weightDecay(&r.WeightDecay)}
}

func (r *Momentum) HeavyBall() (float64, bool) { return r.Momentum, !r.Nesterov }
func (*Momentum) Slots() []Slot                { return []Slot{{Name: "momentum_buffer"}} }

func (r *Momentum) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

func (r *Momentum) MovePlain(p []float32, g []float64, perBatch, rate float64, _ int, memory [][]float32) {
	step := kernel.Momentum{PerBatch: perBatch, Decay: r.WeightDecay, Mu: r.Momentum, Rate: rate, Nesterov: r.Nesterov}
	step.Step(p, memory[0], g)
}
