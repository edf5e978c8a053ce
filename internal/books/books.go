// Package books keeps the books of a folder of runs: the ledger of every run, the ledger of the
// data that all of them share, and all other files that mention a ledger, which have to agree.
//
// Whoever reads a run's ledger reads it through [Inspect] or [Open], which believe no file alone.
// [Show] and [Verify] look at all runs and sweeps of a folder; docs/ledger.md describes both.
package books

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
)

// Told returns the error to end a run with: err, unless one of the run's ledgers was deleted, moved
// or cut off while the run had it open. Then it returns an error that says so and what the run has
// released, because this message may be the only record left.
func (b *Books) Told(err error) error {
	if err == nil || b == nil {
		return err
	}
	run, data := b.Journal.Present(), b.datasets.Refresh()
	gone := cmp.Or(run, data)
	if !errors.Is(gone, checkpoints.ErrMoved) {
		return err
	}
	where := "no file knows that any more, so write it down"
	switch {
	case run == nil:
		where = "the run's own ledger knows that"
	case data == nil:
		where = "the ledger of the data knows that, and counts it"
	}
	spent, err := account.SpentBy(b.own.Accountant, b.Ledger(), b.own.Delta)
	if err != nil {
		return fmt.Errorf("%w; nothing more is released; %d releases were made by then: %s", gone, b.Len(), where)
	}
	return fmt.Errorf("%w; nothing more is released; %d releases were made by then, with ε = %s at δ = %g: %s",
		gone, b.Len(), accountant.RoundUp(spent.Epsilon, 3), spent.Delta, where)
}

// Present returns an error if the path of either ledger no longer leads to the file being written.
func (b *Books) Present() error { return b.Told(cmp.Or(b.Journal.Present(), b.datasets.Refresh())) }

// Close frees what the run reserved and did not release, and closes both ledgers.
func (b *Books) Close() error {
	if b.datasets == nil {
		return b.Journal.Close()
	}
	_ = b.giveBack() // else whoever asks finds that nobody is at work
	err := b.Journal.Close()
	if other := b.datasets.Close(); err == nil {
		err = other
	}
	return err
}

// Planned returns everything that the run set out to release; nil if no file says it.
func (b *Books) Planned() *checkpoints.Planned { return b.planned }

// create creates the ledger of a new run in dir, reserves what r plans, and registers the run as r.
func create(dir, registry string, r checkpoints.Registration, apart bool) (*Books, error) {
	b := &Books{Registry: registry, apart: apart, own: r, planned: r.Planned}
	all := new(accountant.Ledger)
	if r.Planned != nil {
		all = r.Planned.Releases
	}
	if apart {
		if err := b.Reserve(all); err != nil {
			return nil, err
		}
	}
	err := b.open(r)
	if err != nil {
		return nil, err
	}
	if err = b.datasets.Refresh(); err == nil { // the run's ledger, which names it, must not outlive it
		b.Journal, err = checkpoints.CreateRegistered(filepath.Join(dir, folder.Ledger), b.datasets)
	}
	if err != nil {
		b.datasets.Close()
		return nil, err
	}
	if !apart {
		err = b.Reserve(all)
	}
	if err == nil {
		err = b.register(r, all)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// register registers the run as r. It asks for room again where that may be gone, unseen by others:
// a limit that is set, or an older copy of the shared ledger that is put back, before anybody could
// read that the run is there.
func (b *Books) register(r checkpoints.Registration, all *accountant.Ledger) error {
	if err := b.datasets.Register(b.Journal, r); err != nil || b.reserved != nil && !b.apart {
		return err
	}
	return b.Reserve(all)
}

// Open opens the ledger of a run that was started before, if it agrees with all other files that
// mention it. It writes nothing: Settle does, when the rest of the run has been checked too.
func Open(dir string) (*Books, error) {
	journal, err := checkpoints.OpenJournal(filepath.Join(dir, folder.Ledger))
	if err != nil {
		return nil, withoutLedger(dir, err)
	}
	b := &Books{Journal: journal}
	if err := b.check(dir); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Books) check(dir string) error {
	info := b.Info()
	known, claims, err := evidence(dir, info, registryOf)
	if err != nil {
		return err
	}
	if known.missing != nil {
		return known.missing
	}
	b.Registry = known.dir
	b.planned = known.planned(dir, info.Run, b.Ledger())
	return b.Check(claims...)
}

// Settle prepares an opened run to go on. It cuts a torn line off the run's own ledger, and
// registers the run as r in the ledger of its data. all is everything that the plan may release,
// past releases included. If that, or what was released, passes the limit of the data, Settle
// refuses before it changes the run's own ledger.
func (b *Books) Settle(r checkpoints.Registration, all *accountant.Ledger) error {
	b.own = r
	if err := b.open(r); err != nil {
		return err
	}
	all = larger(b.Ledger(), all)
	if err := b.Reserve(all); err != nil {
		return err
	}
	if err := b.Recover(); err != nil {
		return err
	}
	r.Planned = b.planned
	return b.register(r, all)
}

// AppendAll returns nil when so many releases of e are durable in both ledgers, each of which takes
// one durable write for them; else it returns why not.
func (b *Books) AppendAll(step int, e accountant.Event, count int) error {
	err := b.allows(e, count)
	if err == nil {
		err = b.Journal.AppendAll(step, e, count)
	}
	if err == nil {
		err = b.datasets.Register(b.Journal, b.own)
	}
	return b.Told(err)
}

// Begin writes two files into the empty folder dir of a new run: its configuration c, as write
// formats it, with the limit of the data, if any, and then its ledger. Any other file comes later,
// because it would show that there was a ledger. The ledger of the data records planned: nil for a
// run that releases all at once. A run apart registers in its ledger apart.
func Begin(dir, registry string, c *configs.Config, write func(*configs.Config) []byte, o setup.Outline, planned *accountant.Ledger, apart bool) (*Books, checkpoints.Registration, error) {
	limit, err := agreed(registry, c, SubjectOf(c, o), apart)
	if err != nil {
		return nil, checkpoints.Registration{}, err
	}
	limited := *c
	limited.Data.Limit = limit
	config := write(&limited)
	if err := checkpoints.WriteFileAtomic(filepath.Join(dir, folder.Config), config, folder.FilePerm); err != nil {
		return nil, checkpoints.Registration{}, err
	}
	r, err := Registration(c, o, registry, dir)
	if err != nil {
		return nil, r, err
	}
	if planned != nil {
		r.Planned = &checkpoints.Planned{Epsilon: c.Privacy.Epsilon, Releases: planned}
	}
	b, err := create(dir, registry, r, apart)
	if err != nil {
		return nil, r, err
	}
	// Somebody may have taken the ledger with the limit away before it was opened.
	known, err := b.known()
	if err = cmp.Or(err, known.refuseLostLimit(dir, &limited, r.Data.Subject())); err != nil {
		b.Close()
		return nil, r, err
	}
	return b, r, nil
}

// Registration returns what registers the run in dir in the ledger of registry, without a plan.
func Registration(c *configs.Config, o setup.Outline, registry, dir string) (checkpoints.Registration, error) {
	path, err := pathFrom(registry, dir)
	return checkpoints.Registration{Path: path, Data: dataOf(c, o), Delta: c.Privacy.Delta, Accountant: c.Privacy.Accountant}, err
}

// unitOf returns the unit of privacy of a run. The ε of different units are never added. A run with
// private labels takes the pictures as public, so its ε says nothing about whole examples. Nor does
// an ε for clients or persons hold for examples, or the reverse: removing a client moves a sum half
// as far as replacing one of its examples may, and one example is not all that a client has.
func unitOf(c *configs.Config) checkpoints.Unit {
	switch {
	case c.Federated.Any():
		return checkpoints.Unit{Kind: checkpoints.Client, By: c.Federated.Division()}
	case c.Privacy.Unit == configs.UnitLabel:
		return checkpoints.Unit{Kind: checkpoints.Label}
	case c.Privacy.Unit == configs.UnitPerson && c.Data.Table != "":
		return checkpoints.Unit{Kind: checkpoints.Person, By: c.Data.Group}
	case c.Privacy.Unit == configs.UnitPerson:
		return checkpoints.Unit{Kind: checkpoints.Person}
	}
	return checkpoints.Unit{Kind: checkpoints.Example}
}

// dataOf describes, for a ledger, the data whose privacy a run spends. The unit begins the name.
func dataOf(c *configs.Config, o setup.Outline) checkpoints.Data {
	unit := unitOf(c)
	return checkpoints.Data{Name: unit.Of(o.Name), Examples: o.Examples, Shape: o.Shape.String(), Classes: o.Classes, Unit: unit}
}

// SubjectOf returns the name and the unit of a run's data, by which a limit of them is found.
func SubjectOf(c *configs.Config, o setup.Outline) checkpoints.Subject { return dataOf(c, o).Subject() }

// pathFrom returns the path of dir relative to registry, with slashes, as the ledgers have it.
func pathFrom(registry, dir string) (string, error) {
	from, err := filepath.Abs(registry)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	path, err := filepath.Rel(from, dir)
	if err != nil {
		return "", fmt.Errorf("train: %w", err)
	}
	return filepath.ToSlash(path), nil
}
