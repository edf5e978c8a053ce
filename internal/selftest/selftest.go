// Package selftest checks, on the network of a configuration and random examples of the shape of its
// data, what the ε of its runs rests on: gradients of single examples, isolation, the bound on what
// one example adds, noise, samples, the ledger, and that public files depend on the data through
// noisy vectors alone. It reads no training example.
//
// Each [Check] is a test that the program has for its own parts, carried out on what somebody is
// about to train: batteries are those of package battery, the bound is measured by [clip.Moved], a
// run is recorded and replayed by [train.Replay].
package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
	"dpsgd/model"
)

// ErrFailed is wrapped by the error about a self-test with a check that failed.
var ErrFailed = errors.New("train: the self-test failed")

// Check is the outcome of one check.
type Check struct {
	Name     string   `json:"check"`
	Passed   bool     `json:"passed"`              // or Skipped
	Skipped  string   `json:"skipped,omitempty"`   // why it does not apply
	Measured string   `json:"measured,omitempty"`  // what was looked at
	Faults   []string `json:"faults,omitempty"`    // what was found and what was expected, where
	Means    string   `json:"means,omitempty"`     // of a check that failed: what that means, and what to do
	Chance   float64  `json:"false_failure_bound"` // bounds the probability to fail though nothing is wrong; 0 for checks without chance
}

// Result holds the outcome of all checks.
type Result struct {
	Data       string  `json:"data"`
	Records    int     `json:"records"`
	Parameters int     `json:"parameters"`
	Checks     []Check `json:"checks"`
}

// Err returns an error that wraps [ErrFailed] and names the checks that failed; nil if none did.
func (r *Result) Err() error {
	var failed []string
	for _, c := range r.Checks {
		if !c.Passed && c.Skipped == "" {
			failed = append(failed, c.Name)
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: found %d of %d checks that do not hold, %q, expected all to hold", ErrFailed, len(failed), len(r.Checks), failed)
}

// check is one check, before it is carried out.
type check struct {
	name    string
	applies func(*rig) (reason string) // "" if it applies
	run     func(*rig) (finding, error)
	means   string
}

// finding is what a check found.
type finding struct {
	measured string
	faults   []string
	chance   float64 // of faults though nothing is wrong, in one set of draws
}

// checks lists all checks in their order: first what an example contributes, then what is made of
// all contributions.
var checks = []check{
	{"gradients", ofExamples, engines, "a per-example rule is wrong, so that clipping and noise are for another gradient than training's: do not train; if the layer is yours, mend its rule, else report it with the configuration"},
	{"derivatives", undropped, quotients, "the backward pass of the named layer, or of one behind it, is wrong: the network would not learn what its loss says; if the layer is yours, mend its gradient, else report it"},
	{"isolation", ofExamples, isolation, "one example changes what another one contributes, so no ε of a run would hold: do not train; the named layer mixes examples"},
	{"sensitivity", repeatable, sensitivity, "one record can move the sum further than its noise hides: no ε of a run would hold; do not train, and report it with the configuration"},
	{"noise", noisy, noiseLaw, "the noise is not that of the accounted event: no ε of a run would hold; do not train, and report it with the configuration"},
	{"samples", noisy, sampleLaw, "records are not drawn as the accounted event says: no ε of a run would hold; do not train, and report it with the configuration"},
	{"ledger and replay", noisy, replay, "something leaves a run by another way than its noisy vectors, or is not in the ledger: do not publish the named file, and report it"},
}

// Run carries out all checks on a configuration. If examples is above 0, the data has so many;
// otherwise data of one's own is counted, as [train.Describe] does. told is called after each check.
func Run(ctx context.Context, c *configs.Config, examples int, told func(Check)) (*Result, error) {
	r, err := newRig(c, examples)
	if err != nil {
		return nil, err
	}
	defer r.pool.Close()
	result := &Result{Data: r.outline.Name, Records: setup.Records(c, r.outline), Parameters: len(r.model.Values)}
	for _, one := range checks {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("train: self-test: %w", err)
		}
		done, err := one.carryOut(r)
		if err != nil {
			return nil, fmt.Errorf("train: self-test, %s: %w", one.name, err)
		}
		result.Checks = append(result.Checks, done)
		told(done)
	}
	return result, nil
}

// mostFaults is how many faults of a check are told.
const mostFaults = 5

// draws is how often in a row, each time with fresh draws, a check with a chance to fail has to do so.
const draws = 3

func (c check) carryOut(r *rig) (Check, error) {
	done := Check{Name: c.name}
	if done.Skipped = c.applies(r); done.Skipped != "" {
		return done, nil
	}
	found, err := c.run(r)
	for again := 1; again < draws && err == nil && found.chance > 0 && len(found.faults) > 0; again++ {
		found, err = c.run(r)
	}
	done.Measured, done.Faults, done.Chance, done.Passed = found.measured, found.faults, math.Pow(found.chance, draws), len(found.faults) == 0
	if !done.Passed {
		done.Means = c.means
	}
	if more := len(done.Faults) - mostFaults; more > 0 {
		done.Faults = append(done.Faults[:mostFaults], fmt.Sprintf("and %d more", more))
	}
	return done, err
}

// rig is a network with random examples.
type rig struct {
	config  *configs.Config
	outline setup.Outline
	plan    *train.RunPlan // nil where gradients get no noise
	model   *model.Model
	views   *data.Views
	set     data.Set
	pool    *kernel.Pool
}

// Sizes of the rig. A batch has few examples: what holds for these holds for more.
const (
	batch    = 6
	examples = 4 * batch
	seed     = 1 // of examples; nothing that is to be secret
)

func newRig(c *configs.Config, of int) (*rig, error) {
	o, err := setup.OutlineOf(c, of)
	if err != nil {
		return nil, err
	}
	if err := setup.CheckMemory(c, o); err != nil {
		return nil, err
	}
	r := &rig{config: c, outline: o}
	if !c.Privacy.Ordinary() && !c.Pate.Any() {
		if r.plan, err = train.NewPlan(c, setup.Records(c, o)); err != nil {
			return nil, err
		}
	}
	if own := *c; c.Federated.Any() { // with as many clients as checks take
		own.Federated.Clients = max(c.Federated.Clients, 2*batch)
		r.config = &own
	}
	if r.model, err = setup.Model(c, o.Shape, o.Classes); err != nil {
		return nil, err
	}
	if _, err := setup.Start(c, r.model); err != nil {
		return nil, err
	}
	r.wake()
	if r.views, err = setup.Views(c, o.Shape); err != nil {
		return nil, err
	}
	if r.set, err = setup.RandomExamples(c, o, examples, random.Seeded(seed)); err != nil {
		return nil, err
	}
	r.pool = kernel.NewPool(setup.Threads(c))
	return r, nil
}

// wake draws the factors of adapters, half of which begin at 0: then the others have no gradient.
func (r *rig) wake() {
	src := random.Seeded(seed + 1)
	for _, p := range r.model.Parameters() {
		for i := range p.Size() {
			if model.IsFactor(p.Name) {
				r.model.Values[p.Offset+i] = float32(src.Float64() - 0.5)
			}
		}
	}
}

// noisy says why a check of noise on gradients does not apply.
func noisy(r *rig) string {
	switch {
	case r.config.Pate.Any():
		return "teachers learn without noise; votes get it"
	case r.plan == nil:
		return "gradients get no noise in this configuration"
	}
	return ""
}

// ofExamples says why a check of the gradients of single examples does not apply.
func ofExamples(r *rig) string {
	if reason := noisy(r); reason != "" {
		return reason
	}
	if r.config.Federated.Any() {
		return "clients contribute how far they move the model, not gradients of examples"
	}
	return undropped(r)
}

// repeatable says why a check of sums does not apply: they have to be the same twice.
func repeatable(r *rig) string { return cmp.Or(noisy(r), undropped(r)) }

// undropped says why a check that runs one network twice does not apply.
func undropped(r *rig) string {
	for _, l := range r.model.Layers() {
		if l.Kind == (model.Dropout{}).Kind() {
			return fmt.Sprintf("layer %s, dropout, draws other values to drop each time; set its p to 0 to carry out this check", l.Name)
		}
	}
	return ""
}
