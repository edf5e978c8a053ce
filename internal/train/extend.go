package train

import (
	"errors"
	"fmt"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/release"
)

// ErrExtension: a run that cannot be extended as was asked.
var ErrExtension = errors.New("train: cannot extend")

// past holds the releases and extensions of a run that goes on.
type past struct {
	released   *accountant.Ledger
	extensions []folder.Extension
}

// mostChoices bounds how often the number of steps grows: to about a thousand times.
const mostChoices = 10 * account.PerDoubling

// Extended is the result of an extension: what was chosen, and the guarantee of all steps that the
// run may now take.
type Extended struct {
	Run string `json:"run"`
	folder.Extension
	account.Answer         // of all steps to come too
	SpentEpsilon   float64 `json:"spent_epsilon"` // of what was released so far
}

// Extend gives a run more steps: as many as fit a larger budget, if epsilon is not 0, and at most
// so many in all, if steps is not 0. Noise and sampling stay as they are. What was released counts
// as before, and beside it that the number of steps was chosen with its results in sight; see
// [account.Choice]. The run goes on by [Open].
func Extend(dir string, epsilon float64, steps int, o Options) (Extended, error) {
	r, err := reopen(dir, o)
	if err != nil {
		return Extended{}, err
	}
	defer r.Close()
	if err := r.extensible(epsilon, steps); err != nil {
		return Extended{}, err
	}
	e := folder.Extension{
		Step: r.Step, Entries: r.Books.Len(), Head: r.Books.Hash(), Plan: r.PlanHash,
		From: folder.Terms{Steps: r.plan.MaxSteps, Epsilon: r.Config.Privacy.Epsilon}, To: folder.Terms{Epsilon: r.Config.Privacy.Epsilon},
	}
	if epsilon > 0 {
		e.To.Epsilon = epsilon
	}
	first := e.From.Steps
	if len(r.extensions) > 0 {
		first = r.extensions[0].From.Steps
	}
	cost, err := r.choose(&e, first, steps)
	if err != nil {
		return Extended{}, err
	}
	all, err := r.allOf(r.Books.Ledger(), e.Choices, e.To.Steps)
	if err != nil {
		return Extended{}, err
	}
	spent, err := r.plan.Spent(r.Books.Ledger())
	if err != nil {
		return Extended{}, err
	}
	if err := r.Books.Room(all); err != nil {
		return Extended{}, err
	}
	if err := r.GoOn(); err != nil { // nothing was written before all of this was in order
		return Extended{}, err
	}
	if err := r.Books.Reserve(all); err != nil {
		return Extended{}, err
	}
	// The choice is paid for first: stopped in between, the run has cost more and is not extended.
	for account.Choices(r.Books.Ledger()) < e.Choices {
		if err := r.Books.Append(r.Step, account.Choice); err != nil {
			return Extended{}, err
		}
	}
	return Extended{dir, e, cost.Answer(), spent.Epsilon}, folder.WriteExtensions(dir, append(r.extensions, e))
}

// extensible refuses a run that cannot have more steps, and an extension that asks for nothing or
// for less than the run has.
func (r *Run) extensible(epsilon float64, steps int) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w %s: %s", ErrExtension, r.Dir, fmt.Sprintf(format, args...))
	}
	_, constantNoise := r.Config.Privacy.NoiseSchedule.(*release.ConstantNoise)
	_, constantNorm := r.Config.Privacy.ClipSchedule.(*clip.ConstantNorm)
	switch budget := r.plan.Budget; {
	case folder.HoldsAny(folder.Above(r.Dir), folder.Sweep):
		return refuse("found a trial of a sweep, expected a run of its own; train its configuration by `train run`")
	case !constantNoise || !constantNorm:
		return refuse("found a noise or clip schedule over the planned steps, expected both constant: steps that were made would have had others")
	case r.plan.MaxSteps == 0 || r.Step == 0:
		return refuse("found no step behind it, expected at least one")
	case epsilon == 0 && steps == 0:
		return refuse("found neither a budget nor a number of steps, expected --epsilon or --steps")
	case epsilon != 0 && budget == nil:
		return refuse("found epsilon %g for a run without a budget, expected --steps", epsilon)
	case epsilon != 0 && !(epsilon >= budget.Epsilon):
		return refuse("found epsilon %g, expected at least the budget of now, %g", epsilon, budget.Epsilon)
	}
	return nil
}

// choose sets in e the largest number of steps that the requested budget and the requested steps
// allow, and returns the guarantee of the run with that number.
func (r *Run) choose(e *folder.Extension, first, most int) (account.Spent, error) {
	made := r.Books.Ledger()
	var best, cheapest account.Spent
	for j := max(1, account.Choices(made)); j <= mostChoices; j++ {
		n := account.Total(first, j)
		if n <= e.From.Steps || n <= r.plan.stepsIn(made) {
			continue
		}
		cost, err := r.costOf(made, j, n)
		if err != nil {
			return account.Spent{}, err
		}
		if cheapest.Epsilon == 0 {
			cheapest = cost
			e.To.Steps = n
		}
		if most > 0 && n > most || e.To.Epsilon > 0 && cost.Epsilon > e.To.Epsilon {
			break
		}
		best, e.Choices, e.To.Steps = cost, j, n
		if e.To.Epsilon == 0 && most == 0 {
			break
		}
	}
	switch {
	case e.Choices > 0:
		return best, nil
	case cheapest.Epsilon == 0:
		return best, fmt.Errorf("%w %s: found a run that was extended to %d times its first %d steps, expected a new run", ErrExtension, r.Dir, e.From.Steps/first, first)
	case most > 0 && e.To.Steps > most:
		return best, fmt.Errorf("%w %s: found --steps %d, expected at least %d, the next number of steps that it can be extended to", ErrExtension, r.Dir, most, e.To.Steps)
	}
	return best, fmt.Errorf("%w %s: found a budget of ε = %g, expected at least %s at δ = %g, for the next number of steps that it can be extended to, %d",
		ErrExtension, r.Dir, e.To.Epsilon, accountant.RoundUp(cheapest.Epsilon, 3), r.plan.Delta, e.To.Steps)
}

// costOf returns the guarantee of the run with this number of steps in all, of which the number was
// chosen so many times.
func (r *Run) costOf(made *accountant.Ledger, choices, steps int) (account.Spent, error) {
	all, err := r.allOf(made, choices, steps)
	if err != nil {
		return account.Spent{}, err
	}
	cost, _, err := r.plan.accounts.Spent(all, r.plan.Delta)
	return cost, err
}

// allOf returns the ledger of the run with this number of steps in all, of which the number was
// chosen so many times.
func (r *Run) allOf(made *accountant.Ledger, choices, steps int) (*accountant.Ledger, error) {
	all, err := made.With(account.Choice, choices-account.Choices(made))
	if err != nil {
		return nil, err
	}
	return all, all.Add(r.plan.Event(r.Step), steps-r.plan.stepsIn(made))
}

// extend gives a plan what its run released up to its last extension: later releases of the plan
// are added to these. A run that was never extended has none.
func (p *RunPlan) extend(past *past) (err error) {
	if past == nil || len(past.extensions) == 0 {
		return nil
	}
	last := past.extensions[len(past.extensions)-1]
	if found := account.Choices(past.released); found < last.Choices {
		return fmt.Errorf("%w: %s speaks of %d choices, expected at most the %d of the ledger: %w", setup.ErrPlan, folder.Extended, last.Choices, found, checkpoints.ErrRollback)
	}
	entries, n := past.released.Entries(), past.released.Count()
	for i := len(entries) - 1; entries[i].Event != account.Choice; i-- {
		n -= entries[i].Count
	}
	p.behind, err = account.Beginning(past.released, n)
	return err
}

// extended returns the extensions of the run as its statement holds them.
func (r *Run) extended() []statement.Extension {
	var list []statement.Extension
	for _, e := range r.extensions {
		list = append(list, statement.Extension{
			Step: e.Step, Releases: e.Entries, FromSteps: e.From.Steps, FromEpsilon: e.From.Epsilon, ToSteps: e.To.Steps, ToEpsilon: e.To.Epsilon,
		})
	}
	return list
}

// ofExtensions returns the text that extensions add to the identity of a plan: a checkpoint that
// was saved after one belongs to no run that was not extended.
func ofExtensions(list []folder.Extension) string {
	var h strings.Builder
	for i, e := range list {
		fmt.Fprintf(&h, "extension_%d after step %d, %d releases %s, from %d steps and epsilon %v to %d and %v, plan %s\n",
			i+1, e.Step, e.Entries, e.Head, e.From.Steps, e.From.Epsilon, e.To.Steps, e.To.Epsilon, e.Plan)
	}
	return h.String()
}
