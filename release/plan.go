package release

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/random"
)

// ErrPlan is wrapped by errors about a plan that cannot be carried out.
var ErrPlan = errors.New("invalid plan")

// ErrBudget is wrapped by the error of a release that would pass the budget. Nothing was sampled,
// recorded or released.
var ErrBudget = errors.New("one more release would pass the budget")

// Plan is everything that the guarantee of a series of releases depends on. All of it is public.
type Plan struct {
	Unit      string // what one record is, as in "one training example"
	Records   int    // places that a record can take; how many there are is public
	Sampler   Sampler
	Policy    clip.Policy
	Mechanism Mechanism
}

// Sampler decides which records a release is computed from. Its fields are public, what it draws is
// secret.
type Sampler interface {
	// Sample draws one sample from records 0 … n-1: distinct indices in order, maybe none. It
	// reuses the memory of dst and ignores its content.
	Sample(dst []int, n int, src *random.Source) []int
	// Sampled returns the event of drawing a sample and doing to it what e describes.
	Sampled(e accountant.Event) accountant.Event
	// Validate refuses fields out of range.
	Validate() error
	// Varies reports whether samples differ in size, so that the time that a release takes tells
	// something about its sample.
	Varies() bool
	// Excess bounds the distance in total variation of one sample of n records from the law that
	// Sampled names.
	Excess(n int) float64
	// Name returns one word, String a sentence about how records are sampled, with its numbers, for
	// the privacy statement.
	Name() string
	String() string
}

// Event describes one release, number step of the plan counted from 0, to an accountant.
func (p Plan) Event(step int) accountant.Event { return p.Sampler.Sampled(p.Mechanism.Event(step)) }

// Room returns the number of contributions that a sum under the plan must hold: the fewer, the
// finer its lattice. A mechanism that is Coarse leaves room for any number.
func (p Plan) Room() int {
	if p.Mechanism.Coarse() {
		return math.MaxInt
	}
	if m, ok := p.Mechanism.(interface{ Room(records int) int }); ok {
		return m.Room(p.Records)
	}
	return p.Records
}

func (p Plan) validate() error {
	switch {
	case p.Sampler == nil || p.Policy == nil || p.Mechanism == nil:
		return fmt.Errorf("release: a plan lacks its sampler, policy or mechanism: %w", ErrPlan)
	case p.Records < 0:
		return fmt.Errorf("release: a plan has %d records, expected at least 0: %w", p.Records, ErrPlan)
	}
	if err := p.Sampler.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrPlan)
	}
	separation := 1
	if s, ok := p.Sampler.(Separated); ok {
		separation = s.Separation()
	}
	if m, ok := p.Mechanism.(Remembering); ok && m.Bands() > separation {
		return fmt.Errorf("release: a mechanism of %d bands has samples with one record %d turns apart, expected at least %d: %w", m.Bands(), separation, m.Bands(), ErrPlan)
	}
	return nil
}
