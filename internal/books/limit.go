package books

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
	"dpsgd/release"
)

// A limit of a data set is what all releases on it may cost together, set before the first. It holds
// whatever is chosen on the way: which runs are made, how long each is, when somebody stops. That is a
// filter (rdp.Chosen), which is asked about everything that was released and everything that runs at work
// may still release: what would pass the limit is refused. A run reserves what it plans in the ledger of the
// data, under its lock, before its first release, and writes no event beyond that; so runs side by side
// do not pass it together. What a run had reserved and did not release is free when the run ends, by itself
// or by a kill: only what was released counts in the theorem.

// ErrLimit: a command would pass the limit of a data set, or change it as nobody may.
var ErrLimit = errors.New("train: the limit of")

// LimitState is a limit with how much of it is used.
type LimitState struct {
	checkpoints.Limit
	Spent    float64 `json:"spent"`    // ε of what was released, whatever was chosen on the way
	Reserved float64 `json:"reserved"` // ε of that and of all that runs at work may release
}

// String is the state in one line.
func (s LimitState) String() string {
	line := fmt.Sprintf("limit of %s: ε = %g at δ = %g, of which %s is spent", s.Data, s.Epsilon, s.Delta, accountant.RoundUp(s.Spent, 3))
	if s.Reserved > s.Spent {
		line += fmt.Sprintf(", and %s with what runs at work have reserved", accountant.RoundUp(s.Reserved, 3))
	}
	return line
}

// Limits are the limits that were set in a folder of runs.
func Limits(registry string) ([]LimitState, error) {
	known, err := readKnown(registry)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return known.limits(registry)
}

// ShowLimit is the limit of the data of a name.
func ShowLimit(registry, name string) (LimitState, error) {
	states, err := Limits(registry)
	for _, s := range states {
		if s.Data == name {
			return s, err
		}
	}
	if err == nil {
		err = fmt.Errorf("%w %s: found none in %s, expected one that was set; give --epsilon and --delta", ErrLimit, name, filepath.Join(registry, folder.Datasets))
	}
	return LimitState{}, err
}

func (k Known) limits(registry string) (states []LimitState, err error) {
	for _, l := range k.Limits {
		s, err := k.state(registry, l, claim{})
		if err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	return states, nil
}

// A claim is what a run wants to reserve.
type claim struct {
	run, path string
	planned   *accountant.Ledger
}

// state says how much of a limit is used, with a claim beside what is known.
func (k Known) state(registry string, l checkpoints.Limit, own claim) (LimitState, error) {
	s := LimitState{Limit: l}
	spent, all := new(accountant.Ledger), new(accountant.Ledger)
	used := map[string]bool{} // reservations that were counted with a member
	inForce := func(by string) *accountant.Ledger {
		used[by] = true
		if r := k.Reservation(by); by != own.run && r.Data == l.Data && held(registry, r.Lock) {
			return r.Planned
		}
		return new(accountant.Ledger)
	}
	for _, m := range k.Members {
		if m.Data.Name != l.Data {
			continue
		}
		most := larger(larger(m.Ledger, inForce(m.Run)), inForce(m.Path))
		if m.Run == own.run && own.planned != nil {
			most = larger(most, own.planned)
		}
		if err := errors.Join(addAll(spent, m.Ledger), addAll(all, most)); err != nil {
			return s, err
		}
	}
	if _, known := k.Member(own.run); !known && own.planned != nil {
		if err := addAll(all, larger(own.planned, inForce(own.path))); err != nil {
			return s, err
		}
	}
	for _, r := range k.Reserved {
		if !used[r.By] {
			if err := addAll(all, inForce(r.By)); err != nil {
				return s, err
			}
		}
	}
	var err error
	if s.Spent, err = chosen(spent, l.Delta); err == nil {
		s.Reserved, err = chosen(all, l.Delta)
	}
	if err != nil {
		return s, fmt.Errorf("%w %s: %w", ErrLimit, l.Data, err)
	}
	s.Spent, s.Reserved = min(s.Spent, statement.NoGuarantee), min(s.Reserved, statement.NoGuarantee)
	return s, nil
}

// refuses is the error of what would pass the limit; nil for what fits. before is how much was used before.
func (s LimitState) refuses(before LimitState) error {
	if s.Reserved <= s.Epsilon {
		return nil
	}
	return fmt.Errorf("%w %s: found ε = %s at δ = %g with what is planned, after %s that is spent or reserved, expected at most %g; give a smaller privacy.epsilon, fewer steps or more noise (a plan pays for free choice on the way, about a quarter more than its own ε)",
		ErrLimit, s.Data, accountant.RoundUp(s.Reserved, 3), s.Delta, accountant.RoundUp(before.Reserved, 3), s.Epsilon)
}

// held says whether somebody may still release something by a reservation with this lock: who has deleted
// the file may be at work without it.
func held(registry, lock string) bool {
	if lock == "" {
		return true
	}
	path := filepath.Join(registry, filepath.FromSlash(lock))
	if _, err := os.Lstat(path); err != nil {
		return true
	}
	l, err := checkpoints.TakeLock(path)
	if err != nil {
		return true
	}
	return l.Close() != nil
}

// larger holds of each event the larger of its counts in two ledgers.
func larger(a, b *accountant.Ledger) *accountant.Ledger {
	counts := counted(a)
	l := a.Clone()
	for _, e := range b.Entries() {
		more := max(0, e.Count-counts[e.Event])
		counts[e.Event] -= e.Count - more
		if l.Add(e.Event, more) != nil {
			return b // cannot be: both were ledgers
		}
	}
	return l
}

func counted(l *accountant.Ledger) map[accountant.Event]int {
	counts := map[accountant.Event]int{}
	for _, e := range l.Entries() {
		counts[e.Event] += e.Count
	}
	return counts
}

func addAll(to, from *accountant.Ledger) error {
	for _, e := range from.Entries() {
		if err := to.Add(e.Event, e.Count); err != nil {
			return err
		}
	}
	return nil
}

// Reserve makes sure that everything which the run has planned, with what it has released, stays within the
// limit of its data, and keeps it for the run until it ends. The error matches [ErrLimit]. Where there is no limit
// nothing is kept.
func (b *Books) Reserve(planned *accountant.Ledger) error {
	name := b.own.Data.Name
	if b.apart {
		return b.reserveApart(planned, name)
	}
	run := b.Info().Run
	apart, err := readApart(b.Registry)
	if err != nil {
		return err
	}
	var refusal error
	limited := false
	err = b.datasets.Put(func(info checkpoints.DatasetsInfo) (*checkpoints.Limit, []checkpoints.Reservation) {
		limit, ok := info.Limit(name)
		if limited = ok; !ok {
			return nil, nil
		}
		known := apart
		known.addShared(info)
		if refusal = known.fits(b.Registry, limit, claim{run, b.own.Path, planned}); refusal != nil {
			return nil, nil
		}
		return nil, []checkpoints.Reservation{{By: run, Data: name, Lock: b.own.Path + "/" + folder.Ledger, Planned: planned}}
	})
	if err := cmp.Or(err, refusal); err != nil {
		return err
	}
	if limited {
		b.reserved = planned
	}
	return nil
}

// fits refuses a claim that would pass a limit.
func (k Known) fits(registry string, l checkpoints.Limit, own claim) error {
	before, err := k.state(registry, l, claim{run: own.run})
	if err != nil {
		return err
	}
	after, err := k.state(registry, l, own)
	if err != nil {
		return err
	}
	return after.refuses(before)
}

// reserveApart is Reserve for a run apart, which may write to no file of others: its sweep has reserved
// for it, or it is refused.
func (b *Books) reserveApart(planned *accountant.Ledger, name string) error {
	shared, err := checkpoints.ReadDatasets(filepath.Join(b.Registry, folder.Datasets))
	if err != nil {
		return err
	}
	limit, ok := shared.Limit(name)
	if !ok {
		return nil
	}
	r := shared.Reservation(b.own.Path)
	if b.reserved = r.Planned; r.Lock != "" || r.Data != name || !within(planned, r.Planned) {
		return fmt.Errorf("%w %s, ε = %g at δ = %g: found no room for %s in %s, expected that it was reserved; give `train sweep FILE --collect` once before the tasks",
			ErrLimit, name, limit.Epsilon, limit.Delta, b.own.Path, filepath.Join(b.Registry, folder.Datasets))
	}
	return nil
}

// within says whether a ledger holds of no event more than another one.
func within(l, of *accountant.Ledger) bool { return larger(l, of).Count() == of.Count() }

// allows refuses an event beyond what was reserved, unless the limit has room for it: a run that was killed may
// repeat a step. The error matches [release.ErrBudget].
func (b *Books) allows(e accountant.Event) error {
	if b.reserved == nil {
		return nil
	}
	next, err := b.Ledger().With(e, 1)
	if err != nil || within(next, b.reserved) {
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

// giveBack frees what a run has reserved and not released.
func (b *Books) giveBack() error {
	if b.reserved == nil || b.apart {
		return nil
	}
	run := b.Info().Run
	b.reserved = nil
	return b.datasets.Put(func(checkpoints.DatasetsInfo) (*checkpoints.Limit, []checkpoints.Reservation) {
		return nil, []checkpoints.Reservation{{By: run, Data: b.own.Data.Name, Planned: new(accountant.Ledger)}}
	})
}

// ReserveTrials keeps for the trials of a sweep what they plan, by the paths of their folders from the registry,
// or refuses all of them. Where lock is "" it is kept until other reservations stand in the place of these, as tasks need
// it, and such a one is not changed by one with a lock. Nothing is kept on data without a limit.
func ReserveTrials(registry string, trials []checkpoints.Reservation, lock string) error {
	known, err := readKnown(registry)
	if absent(err) {
		return nil
	}
	if err != nil || len(known.Limits) == 0 {
		return err
	}
	apart, err := readApart(registry)
	if err != nil {
		return err
	}
	d, err := OpenDatasets(registry)
	if err != nil {
		return err
	}
	defer d.Close()
	var refusal error
	err = d.Put(func(info checkpoints.DatasetsInfo) (_ *checkpoints.Limit, put []checkpoints.Reservation) {
		before := apart
		before.addShared(info)
		after := before
		after.Reserved = nil
		for _, r := range info.Reserved {
			if !reserves(trials, r.By) || r.Lock == "" && lock != "" {
				after.Reserved = append(after.Reserved, r)
			}
		}
		for _, t := range trials {
			_, limited := info.Limit(t.Data)
			old := info.Reservation(t.By)
			if t.Lock = lock; !limited || reserves(after.Reserved, t.By) || t.Planned.Count()+old.Planned.Count() == 0 {
				continue
			}
			after.Reserved = append(after.Reserved, t)
			if old.Lock != lock || !within(t.Planned, old.Planned) || !within(old.Planned, t.Planned) {
				put = append(put, t)
			}
		}
		for _, l := range info.Limits {
			was, err := before.state(registry, l, claim{})
			is, other := after.state(registry, l, claim{})
			if refusal = cmp.Or(err, other, is.refuses(was)); refusal != nil {
				return nil, nil
			}
		}
		return nil, put
	})
	return cmp.Or(err, refusal)
}

func reserves(list []checkpoints.Reservation, by string) bool {
	for _, r := range list {
		if r.By == by {
			return true
		}
	}
	return false
}

// NameOf is the name by which the ledger of data sets, and its limits, know what a configuration spends privacy of.
func NameOf(c *configs.Config, o setup.Outline) string {
	return ofUnit(c, checkpoints.Data{Name: o.Name}).Name
}

// SetLimit sets the limit of the data of a name, before anything was released on it. A limit that is there may be
// made smaller, as long as what was released and reserved fits, and larger only while that is nothing.
func SetLimit(registry string, l checkpoints.Limit) (LimitState, error) {
	if !(l.Epsilon > 0) || math.IsInf(l.Epsilon, 1) || !(l.Delta > 0 && l.Delta < 1) {
		return LimitState{}, fmt.Errorf("%w %s: found ε = %g and δ = %g, expected a finite ε above 0 and a δ in (0, 1)", ErrLimit, l.Data, l.Epsilon, l.Delta)
	}
	if err := os.MkdirAll(registry, folder.Perm); err != nil {
		return LimitState{}, fmt.Errorf("train: %w", err)
	}
	d, err := OpenDatasets(registry)
	if err != nil {
		return LimitState{}, err
	}
	defer d.Close()
	apart, err := readApart(registry)
	if err != nil {
		return LimitState{}, err
	}
	var state LimitState
	var refusal error
	err = d.Put(func(info checkpoints.DatasetsInfo) (*checkpoints.Limit, []checkpoints.Reservation) {
		known := apart
		known.addShared(info)
		if state, refusal = known.state(registry, l, claim{}); refusal != nil {
			return nil, nil
		}
		if refusal = known.refuseLimit(registry, state); refusal != nil {
			return nil, nil
		}
		if old, ok := info.Limit(l.Data); ok && old == l {
			return nil, nil
		}
		return &l, nil
	})
	return state, cmp.Or(err, refusal)
}

// refuseLimit refuses a limit that comes too late, or too small or too large.
func (k Known) refuseLimit(registry string, s LimitState) error {
	old, limited := k.Limit(s.Data)
	releases := 0
	for _, m := range k.Members {
		if m.Data.Name != s.Data {
			continue
		}
		releases += m.Entries
		if _, apart := k.apart[m.Run]; !limited && (apart || atWork(registry, m.Path)) {
			return fmt.Errorf("%w %s: found the run %s at work on it, expected none; wait until it has ended", ErrLimit, s.Data, m.Path)
		}
	}
	switch {
	case !limited && releases > 0:
		return fmt.Errorf("%w %s: found %d releases on it, expected none: a limit is set before the first; `train ledger show` says what they cost, whatever was chosen on the way", ErrLimit, s.Data, releases)
	case limited && releases+len(k.Reserved) > 0 && (s.Epsilon > old.Epsilon || s.Delta > old.Delta):
		return fmt.Errorf("%w %s: found ε = %g at δ = %g after %d releases, expected at most the ε = %g and the δ = %g of before: a limit is never raised once something was released", ErrLimit, s.Data, s.Epsilon, s.Delta, releases, old.Epsilon, old.Delta)
	case s.Reserved > s.Epsilon:
		return fmt.Errorf("%w %s: found ε = %g, expected at least the %s at δ = %g that is spent or reserved", ErrLimit, s.Data, s.Epsilon, accountant.RoundUp(s.Reserved, 3), s.Delta)
	}
	return nil
}

// atWork says whether somebody has the ledger of a run that is there.
func atWork(registry, path string) bool {
	lock := path + "/" + folder.Ledger
	_, err := os.Lstat(filepath.Join(registry, filepath.FromSlash(lock)))
	return !errors.Is(err, fs.ErrNotExist) && held(registry, lock)
}

// agreed is the limit that a new run works under: the one that its configuration names, which is set where there is
// none, or the one that is there.
func agreed(registry string, c *configs.Config, name string, apart bool) (configs.Limit, error) {
	known, err := ReadDatasets(registry)
	if err != nil {
		return configs.Limit{}, err
	}
	found, ok := known.Limit(name)
	switch want := c.Data.Limit; {
	case ok && want.Any() && (want != configs.Limit{Epsilon: found.Epsilon, Delta: found.Delta}):
		return want, fmt.Errorf("%w %s: found data.limit of epsilon %g and delta %g, expected the epsilon %g and delta %g that were set in %s", ErrLimit, name, want.Epsilon, want.Delta, found.Epsilon, found.Delta, filepath.Join(registry, folder.Datasets))
	case ok:
		return configs.Limit{Epsilon: found.Epsilon, Delta: found.Delta}, nil
	case want.Any() && apart:
		return want, fmt.Errorf("%w %s: found data.limit for a task, expected a limit that is set; give `train sweep FILE --collect` once before the tasks", ErrLimit, name)
	case want.Any():
		_, err := SetLimit(registry, checkpoints.Limit{Data: name, Epsilon: want.Epsilon, Delta: want.Delta})
		return want, err
	}
	return configs.Limit{}, nil
}

// EnsureLimit makes sure that the data has the limit that a configuration names.
func EnsureLimit(registry string, c *configs.Config, name string) error {
	_, err := agreed(registry, c, name, false)
	return err
}

// refuseLostLimit makes sure that the ledger of the data has the limit that a run began with, or a smaller one.
func refuseLostLimit(dir, where string, info checkpoints.DatasetsInfo, c *configs.Config, name string) error {
	want := c.Data.Limit
	if !want.Any() {
		return nil
	}
	found, ok := info.Limit(name)
	if ok && found.Epsilon <= want.Epsilon && found.Delta <= want.Delta {
		return nil
	}
	has := "no limit"
	if ok {
		has = fmt.Sprintf("a limit of ε = %g at δ = %g", found.Epsilon, found.Delta)
	}
	return fmt.Errorf("train: %s: found %s of %s, expected one of at most ε = %g at δ = %g, with which %s was begun; put it back from a copy: %w",
		where, has, name, want.Epsilon, want.Delta, dir, checkpoints.ErrRollback)
}

// RefuseBaseline refuses a run without privacy on data that have a limit.
func RefuseBaseline(registry string, c *configs.Config, o setup.Outline) error {
	limit, err := agreed(registry, c, NameOf(c, o), false)
	if err == nil && limit.Any() {
		err = fmt.Errorf("%w %s: found privacy.none, expected a run that is private: the limit is ε = %g at δ = %g", ErrLimit, NameOf(c, o), limit.Epsilon, limit.Delta)
	}
	return err
}
