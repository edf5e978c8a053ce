package books

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// planned is everything that a run set out to release, as the ledger of its data has it, or else as
// its folder tells.
func (h home) planned(dir, run string, l *accountant.Ledger) *checkpoints.Planned {
	if m, ok := h.info.Member(run); ok && m.Planned != nil {
		return m.Planned
	}
	return plannedIn(dir, l)
}

// plannedIn is what the folder of a training run tells of its plan, no less than the plan was: all
// planned steps, each as costly as any, and the budget that may end them. It is nil where nothing is
// released, or nothing was planned by steps.
func plannedIn(dir string, l *accountant.Ledger) *checkpoints.Planned {
	c, err := folder.ReadConfig(dir)
	if err != nil || l == nil || c.Privacy.Ordinary() || c.Pate.Any() || folder.HoldsAny(dir, folder.Statistics) {
		return nil
	}
	p := &checkpoints.Planned{Epsilon: c.Privacy.Epsilon, Releases: new(accountant.Ledger)}
	steps := plannedSteps(dir)
	if steps == 0 && p.Epsilon == 0 {
		return nil
	}
	var released []accountant.Event
	for _, e := range l.Entries() {
		if e.Event != account.Choice && !slices.Contains(released, e.Event) {
			released = append(released, e.Event)
		}
	}
	if c.Features.Any() && c.Features.MeanNoise > 0 && len(released) > 0 { // ahead of the steps
		if p.Releases.Add(released[0], 1) != nil {
			return nil
		}
		released = released[1:]
	}
	if len(released) > 0 && p.Releases.Add(costliest(c, released[0], steps), steps) != nil {
		return nil
	}
	return p
}

// plannedSteps is how many steps a run planned before any extension; 0 where its folder does not say.
func plannedSteps(dir string) (n int) {
	if list, err := folder.ReadExtensions(dir); err == nil && len(list) > 0 {
		return list[0].From.Steps
	}
	n = inPlan(dir, "steps %d")
	if s, err := statement.Read(dir); err == nil {
		n = max(n, s.PlannedSteps)
	}
	return n
}

// inPlan is the number in the first line of that form in the plan of a run; 0 where none is kept.
func inPlan(dir, form string) (n int) {
	plan, _ := os.ReadFile(filepath.Join(dir, folder.Plan))
	for line := range strings.Lines(string(plan)) {
		if _, err := fmt.Sscanf(line, form, &n); err == nil {
			return n
		}
	}
	return 0
}

// costliest is the event of a step with the least noise that the schedule comes to after the first.
func costliest(c *configs.Config, first accountant.Event, steps int) accountant.Event {
	factor := 1.0
	for step := range steps {
		factor = min(factor, c.Privacy.NoiseSchedule.Factor(step, steps))
	}
	if factor == 1 {
		return first
	}
	if least, err := accountant.WithNoiseMultiplier(first, accountant.NoiseMultiplier(first)*factor); err == nil {
		return least
	}
	return first
}
