package books

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// claimsAbout collects what the other files of a run say about its ledger: every checkpoint, the
// statement, the table of the run's sweep, and the row that a task left; the claim of most entries
// first. While the run goes on, read them before the ledger, which only grows.
func claimsAbout(dir string) ([]checkpoints.Claim, error) {
	var claims []checkpoints.Claim
	states, _, err := readCheckpoints(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		claims = append(claims, s.Claim())
	}
	s, err := statement.Read(dir)
	switch {
	case err == nil:
		claims = append(claims, checkpoints.Claim{Where: folder.StatementData, Entries: s.LedgerEntries, Hash: s.LedgerHead})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for i, read := range []func(dir string) (*Row, error){resultOf, ReadRow} {
		row, err := read(dir)
		if err != nil {
			return nil, err
		}
		if row != nil {
			claims = append(claims, checkpoints.Claim{Where: []string{filepath.Join(dir, "..", folder.Rows), folder.Row}[i], Entries: row.LedgerEntries, Hash: row.LedgerHead})
		}
	}
	// The one that says most comes first, because it is the one to tell about.
	slices.SortStableFunc(claims, func(a, b checkpoints.Claim) int { return cmp.Compare(b.Entries, a.Entries) })
	return claims, nil
}

// readCheckpoints reads all checkpoints of the run in dir; there may be none. damaged has an error
// for each that cannot be read.
func readCheckpoints(dir string) (states []*checkpoints.State, damaged []error, err error) {
	entries, err := disk.ReadDir(filepath.Join(dir, folder.Checkpoints))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // being written
		}
		s, err := checkpoints.Load(filepath.Join(dir, folder.Checkpoints, e.Name()))
		switch {
		case err == nil:
			states = append(states, s)
		case !errors.Is(err, fs.ErrNotExist): // the run may be removing it
			damaged = append(damaged, err)
		}
	}
	return states, damaged, nil
}

// resultOf returns the row of the trial in dir from the table of its sweep; nil if there is none.
func resultOf(dir string) (*Row, error) {
	rows, err := ReadRows(filepath.Join(dir, ".."))
	name := folder.Name(dir)
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Trial == name }); i >= 0 {
		return &rows[i], nil
	}
	return nil, err
}

// Inspection is what the ledger of a run says, after every other file that mentions it was found to
// agree.
type Inspection struct {
	checkpoints.Member // its Registration has Planned alone, which is nil if no file tells the plan
	// Warning says that the ledger of the run's data was not found; "" if it was.
	Warning string
	known   Known // the ledgers of the run's data
}

// Claim returns what the run may state whatever its results are: the cost of all that it planned,
// by the accountant and at the δ of its configuration c.
func (i Inspection) Claim(c *configs.Config) (account.Claim, error) {
	return account.ClaimBy(c.Privacy.Accountant, i.Ledger, i.Planned, c.Privacy.Delta)
}

// Inspect reads the ledger of a run and checks that all other files that mention it agree. It
// changes nothing, so the run may be going on.
func Inspect(dir string) (Inspection, error) { return inspectIn(dir, registryOf) }

// A finder returns the ledgers of the data of the run in dir, whose own ledger begins with header.
type finder func(dir string, header checkpoints.JournalInfo) (Known, error)

// inspectIn does what Inspect does, with the ledgers of the data that find returns.
func inspectIn(dir string, find finder) (i Inspection, err error) {
	path := filepath.Join(dir, folder.Ledger)
	header, err := checkpoints.ReadHeader(path)
	if err != nil {
		return i, withoutLedger(dir, err)
	}
	if err := refuseEdited(dir); err != nil {
		return i, err
	}
	known, claims, err := evidence(dir, header, find)
	if err != nil {
		return i, err
	}
	l, info, err := checkpoints.ReadJournal(path, claims...)
	if err != nil {
		return i, withoutLedger(dir, err)
	}
	i.Member, i.known = checkpoints.Member{Run: info.Run, Entries: info.Entries, Hash: info.Hash, Ledger: l}, known
	i.Planned = known.planned(dir, info.Run, l)
	if known.missing != nil {
		i.Warning = strings.TrimPrefix(known.missing.Error(), "train: ")
	}
	return i, nil
}

// evidence returns the ledgers of a run's data, and what they and the files of the run claim about
// the run's own ledger. It refuses a configuration that differs from the run's registration.
func evidence(dir string, header checkpoints.JournalInfo, find finder) (Known, []checkpoints.Claim, error) {
	claims, err := claimsAbout(dir)
	if err != nil {
		return Known{}, nil, err
	}
	known, err := find(dir, header)
	if err == nil {
		err = known.refuseOtherPlan(dir, header.Run)
	}
	return known, append(claims, known.claims(header.Run)...), err
}

// ErrNotPrivate: a run has no guarantee, and so no ledger.
var ErrNotPrivate = fmt.Errorf("%w: NOT PRIVATE", account.ErrNoGuarantee)

// notPrivate reports whether a run is a baseline that was trained without privacy. A run that has a
// ledger, or a checkpoint or a statement that speaks of one, is none, whatever its configuration
// says.
func notPrivate(dir string) bool {
	c, err := folder.ReadConfig(dir)
	if err != nil || !c.Privacy.None || folder.HoldsAny(dir, folder.Ledger) {
		return false
	}
	states, _, err := readCheckpoints(dir)
	if err != nil || slices.ContainsFunc(states, func(s *checkpoints.State) bool { return !s.Unreleased || s.LedgerEntries > 0 }) {
		return false
	}
	s, err := statement.Read(dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !s.Private()
}

// withoutLedger returns err, or for the missing ledger of dir, an error that says what that means.
func withoutLedger(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && notPrivate(dir) {
		return fmt.Errorf("%w: %s was trained with privacy.none, expected a run with a guarantee; its epsilon is infinite", ErrNotPrivate, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return folder.Without(dir, folder.Ledger)
	}
	return err
}

// Refute refuses an answer that a file gives for the releases of l if its δ is not delta, or its ε
// is below 0.999 of the tightest accountant's. It accepts any answer if that accountant gives none.
func Refute(where string, l *accountant.Ledger, delta float64, said account.Answer) error {
	least, err := account.SpentBy(account.Exact, l, delta)
	if err != nil || said.Delta == delta && said.Epsilon >= 0.999*least.Epsilon {
		return nil
	}
	return fmt.Errorf("train: %s: found ε = %g at δ = %g, expected at least the %.4g at δ = %g of the ledger; put the file back from a copy: %w",
		where, said.Epsilon, said.Delta, least.Epsilon, delta, checkpoints.ErrCorrupt)
}

// RefuteRow applies Refute to a row of a sweep's results if the trial's ledger is known. It accepts
// a row whose number of releases differs from the ledger's.
func RefuteRow(where string, trials []Listed, r Row) error {
	for _, t := range trials {
		if m := t.Member; path.Base(m.Path) == r.Trial && m.Entries > 0 && (r.LedgerEntries == 0 || r.LedgerEntries == m.Entries) {
			return Refute(where+": trial "+r.Trial, m.Ledger, m.Delta, r.Answer)
		}
	}
	return nil
}

// planned returns everything that a run set out to release, from the ledger of its data, or else
// from the run's folder.
func (k Known) planned(dir, run string, l *accountant.Ledger) *checkpoints.Planned {
	if m, ok := k.Member(run); ok && m.Planned != nil {
		return m.Planned
	}
	return plannedIn(dir, l)
}

// plannedIn returns, from the folder of a training run with ledger l, at least what it planned: all
// planned steps, each as costly as the costliest, and the budget that may end them. It returns nil
// for a run that does not train with noise, or if nothing tells its steps and budget.
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

// plannedSteps counts the steps that a run planned before any extension; 0 where its folder does
// not say.
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

// inPlan returns the number in the first line of the run's plan that [fmt.Sscanf] reads by form, or
// 0.
func inPlan(dir, form string) (n int) {
	plan, _ := disk.ReadFile(filepath.Join(dir, folder.Plan))
	for line := range strings.Lines(string(plan)) {
		if _, err := fmt.Sscanf(line, form, &n); err == nil {
			return n
		}
	}
	return 0
}

// costliest returns the event first with the least noise that c's schedule gives any of the steps.
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
