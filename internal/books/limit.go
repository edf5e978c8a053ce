package books

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// Limits returns the limits that were set in a folder of runs, and how much of each is used.
func Limits(registry string) ([]LimitState, error) {
	_, known, err := readFolder(registry)
	if err != nil {
		return nil, err
	}
	return known.limits()
}

// ShowLimit returns the limit of the data of that name, and its use; an error if none is set.
func ShowLimit(registry, name string) (LimitState, error) {
	states, err := Limits(registry)
	for _, s := range states {
		if s.Same(checkpoints.Subject{Data: name}) {
			return s, err
		}
	}
	if err == nil {
		err = fmt.Errorf("%w %s: found none in %s, expected one that was set; give --epsilon and --delta", ErrLimit, name, filepath.Join(registry, folder.Datasets))
	}
	return LimitState{}, err
}

func (k Known) limits() (states []LimitState, err error) {
	for _, l := range k.Limits {
		s, err := k.state(l)
		if err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	return states, nil
}

// Reserve keeps room in the limit of the run's data, until the run ends, for all that it may
// release, planned and released. The error matches [ErrLimit] if there is none. Without a limit
// nothing is kept.
func (b *Books) Reserve(planned *accountant.Ledger) error {
	if b.apart {
		return b.reserveApart(planned)
	}
	subject := b.own.Data.Subject()
	run, limited := b.Info().Run, false
	err := put(b.datasets, b.Registry, func(known Known) (terms checkpoints.Terms, err error) {
		limit, ok := known.limitOf(subject)
		if limited = ok; !ok {
			return terms, nil
		}
		terms.First, err = admit(known, known, limit, request{Run: run, Path: b.own.Path, Planned: planned})
		terms.Reserve = []checkpoints.Reservation{{By: run, Subject: subject, Lock: b.own.Path + "/" + folder.Ledger, Planned: planned}}
		return terms, err
	})
	if err == nil && limited {
		b.reserved = planned
	}
	return err
}

// put calls decide with what all ledgers say, while nobody else can append to d, and appends the
// terms that it returns. An error of decide is returned, and then nothing is appended.
func put(d *checkpoints.Datasets, registry string, decide func(known Known) (checkpoints.Terms, error)) error {
	complete, err := readBeside(registry)
	if err != nil {
		return err
	}
	var refusal error
	err = d.Put(func(info checkpoints.DatasetsInfo) (terms checkpoints.Terms) {
		known := complete(info)
		if terms, refusal = decide(known); refusal != nil {
			return checkpoints.Terms{}
		}
		return terms
	})
	return cmp.Or(err, refusal)
}

// Room returns the error that Reserve would, but reserves nothing. It may be called before Settle.
func (b *Books) Room(planned *accountant.Ledger) error {
	known, err := ReadDatasets(b.Registry)
	if err != nil {
		return err
	}
	run := b.Info().Run
	self, _ := known.Member(run)
	limit, ok := known.limitOf(self.Data.Subject())
	if !ok {
		return nil
	}
	_, err = admit(known, known, limit, request{Run: run, Path: self.Path, Planned: planned})
	return err
}

// reserveApart is Reserve for a run apart, which may write to no file of others: it refuses unless
// the run's sweep has reserved all of planned for it, with no lock.
func (b *Books) reserveApart(planned *accountant.Ledger) error {
	shared := Known{dir: b.Registry}
	var err error
	if shared.DatasetsInfo, err = checkpoints.ReadDatasets(shared.path()); err != nil {
		return err
	}
	limit, ok := shared.limitOf(b.own.Data.Subject())
	if !ok {
		return nil
	}
	r := shared.reservationOf(b.own.Path)
	if b.reserved = r.Planned; r.Lock != "" || !r.Same(b.own.Data.Subject()) || !account.Holds(r.Planned, planned) {
		return fmt.Errorf("%w %s, ε = %g at δ = %g: found no room for %s in %s, expected that it was reserved; give `train sweep FILE --collect` once before the tasks",
			ErrLimit, b.own.Data.Name, limit.Epsilon, limit.Delta, b.own.Path, shared.path())
	}
	return nil
}

// allows refuses event e if it goes beyond what was reserved for the run and the limit has no room
// for it either: a run that was killed may repeat a step. The error matches [release.ErrBudget].
func (b *Books) allows(e accountant.Event, count int) error {
	if b.reserved == nil {
		return nil
	}
	next, err := b.Ledger().With(e, count)
	if err != nil || account.Holds(b.reserved, next) {
		return err
	}
	err = fmt.Errorf("%w %s: found a release beyond what was reserved for %s, expected none", ErrLimit, b.own.Data.Name, b.own.Path)
	if !b.apart {
		err = b.Reserve(larger(b.reserved, next))
	}
	if errors.Is(err, ErrLimit) {
		err = fmt.Errorf("%w: %w", release.ErrBudget, err)
	}
	return err
}

// giveBack frees what a run has reserved and not released. A run apart keeps its reservation.
func (b *Books) giveBack() error {
	if b.reserved == nil || b.apart {
		return nil
	}
	run := b.Info().Run
	b.reserved = nil
	return b.datasets.Put(func(checkpoints.DatasetsInfo) checkpoints.Terms {
		return checkpoints.Terms{Reserve: []checkpoints.Reservation{{By: run, Subject: b.own.Data.Subject(), Planned: new(accountant.Ledger)}}}
	})
}

// ReserveTrials reserves what the trials of a sweep plan, or refuses all. A trial's By is the path
// of its folder from registry, as is lock. A reservation counts while a process holds the lock; one
// with "", as tasks need it, until another with "" replaces it. Nothing is reserved on data without
// a limit.
func ReserveTrials(registry string, trials []checkpoints.Reservation, lock string) error {
	known, err := readKnown(registry)
	if err != nil || len(known.Limits) == 0 {
		return err
	}
	d, err := OpenDatasets(registry)
	if err != nil {
		return err
	}
	defer d.Close()
	return put(d, registry, func(known Known) (terms checkpoints.Terms, err error) {
		after := known
		after.Reserved = slices.DeleteFunc(slices.Clone(known.Reserved), func(r checkpoints.Reservation) bool {
			return reserves(trials, r.By) && (r.Lock != "" || lock == "")
		})
		for _, t := range trials {
			_, limited := known.limitOf(t.Subject)
			old := known.reservationOf(t.By)
			if t.Lock = lock; !limited || reserves(after.Reserved, t.By) || t.Planned.Count()+old.Planned.Count() == 0 {
				continue
			}
			after.Reserved = append(after.Reserved, t)
			if old.Lock != lock || !account.Holds(old.Planned, t.Planned) || !account.Holds(t.Planned, old.Planned) {
				terms.Reserve = append(terms.Reserve, t)
			}
		}
		for _, l := range known.Limits {
			if !slices.ContainsFunc(trials, func(t checkpoints.Reservation) bool { return t.Same(l.Subject) }) {
				continue
			}
			first, err := admit(known, after, l, request{})
			if err != nil {
				return terms, err
			}
			terms.First = append(terms.First, first...)
		}
		return terms, nil
	})
}

func reserves(list []checkpoints.Reservation, by string) bool {
	return slices.ContainsFunc(list, func(r checkpoints.Reservation) bool { return r.By == by })
}

// SetLimit sets limit l and returns its use. The first limit of data has to come before any release
// on them. Later it may become larger while nothing is released or reserved, or smaller as long as
// that fits, unless its δ was split for a first plan.
func SetLimit(registry string, l checkpoints.Limit) (LimitState, error) {
	if !(l.Epsilon > 0) || math.IsInf(l.Epsilon, 1) || !(l.Delta > 0 && l.Delta < 1) {
		return LimitState{}, fmt.Errorf("%w %s: found ε = %g and δ = %g, expected a finite ε above 0 and a δ in (0, 1)", ErrLimit, l.Data, l.Epsilon, l.Delta)
	}
	if err := checkpoints.MakeDir(registry); err != nil {
		return LimitState{}, fmt.Errorf("train: %w", err)
	}
	d, err := OpenDatasets(registry)
	if err != nil {
		return LimitState{}, err
	}
	defer d.Close()
	var state LimitState
	err = put(d, registry, func(known Known) (terms checkpoints.Terms, err error) {
		if len(known.limitsOf(l.Subject)) > 1 {
			return terms, fmt.Errorf("%w %s: found limits of several units by that name, expected one", ErrLimit, l.Data)
		}
		old, limited := known.limitOf(l.Subject)
		if limited { // by name alone it is the one that is there
			l.Subject = old.Subject
		}
		if state, err = known.state(l); err == nil {
			err = state.refuseSetting(known)
		}
		if !limited || old != l {
			terms.Limit = &l
		}
		return terms, err
	})
	return state, err
}

// agreed returns the limit of a new run's data s, or none. It sets that of the configuration if
// none is set (it refuses this for a run apart), and refuses one that differs from the limit that
// is set.
func agreed(registry string, c *configs.Config, s checkpoints.Subject, apart bool) (configs.Limit, error) {
	known, err := ReadDatasets(registry)
	if err != nil {
		return configs.Limit{}, err
	}
	found, ok := known.limitOf(s)
	switch want := c.Data.Limit; {
	case ok && want.Any() && (want != configs.Limit{Epsilon: found.Epsilon, Delta: found.Delta}):
		return want, fmt.Errorf("%w %s: found data.limit of epsilon %g and delta %g, expected the epsilon %g and delta %g that were set in %s", ErrLimit, s.Data, want.Epsilon, want.Delta, found.Epsilon, found.Delta, filepath.Join(registry, folder.Datasets))
	case ok:
		return configs.Limit{Epsilon: found.Epsilon, Delta: found.Delta}, nil
	case want.Any() && apart:
		return want, fmt.Errorf("%w %s: found data.limit for a task, expected a limit that is set; give `train sweep FILE --collect` once before the tasks", ErrLimit, s.Data)
	case want.Any():
		_, err := SetLimit(registry, checkpoints.Limit{Subject: s, Epsilon: want.Epsilon, Delta: want.Delta})
		return want, err
	}
	return configs.Limit{}, nil
}

// EnsureLimit sets the limit in c, if any, on the data s. It refuses if they have another one.
func EnsureLimit(registry string, c *configs.Config, s checkpoints.Subject) error {
	_, err := agreed(registry, c, s, false)
	return err
}

// RefuseUnprotected refuses a run after which a limit on its examples, of any unit, would say nothing:
// one without privacy, and one that protects labels alone, unless the limit is on labels.
func RefuseUnprotected(registry string, c *configs.Config, o setup.Outline) error {
	if c.Privacy.None {
		if err := EnsureLimit(registry, c, SubjectOf(c, o)); err != nil {
			return err
		}
	}
	states, err := Limits(registry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the run's folder is the first one
	}
	examples := checkpoints.Data{Name: o.Name, Unit: checkpoints.Unit{Kind: checkpoints.Example}}
	for _, l := range states {
		if !l.onExamplesOf(examples) || !c.Privacy.None && l.Unit.Kind == checkpoints.Label {
			continue
		}
		found := "privacy.none, expected a run that is private"
		if !c.Privacy.None {
			found = "privacy.unit label, expected a unit that protects the whole example"
		}
		return fmt.Errorf("%w %s: found %s: the limit is ε = %g at δ = %g", ErrLimit, l.Data, found, l.Epsilon, l.Delta)
	}
	return err
}
