package books

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"dpsgd/accountant"
	"dpsgd/accountant/rdp"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// A limit of a data set is what all releases on it may cost together, set before the first. It
// holds whatever is chosen on the way: which runs are made, how long each is, when somebody stops.
// That is a filter (rdp.Chosen), which is asked about everything that was released and everything
// that runs at work may still release: what would pass the limit is refused. A run reserves what it
// plans in the ledger of the data, under its lock, before its first release, and writes no event
// beyond that; so runs side by side do not pass it together. What a run had reserved and did not
// release is free when the run ends, by itself or by a kill: only what was released counts in the
// theorem.

// ErrLimit: a command would pass the limit of a data set, or change it as nobody may.
var ErrLimit = errors.New("train: the limit of")

// LimitState is a limit with how much of it is used.
type LimitState struct {
	checkpoints.Limit
	Spent    float64 `json:"spent"`    // ε of what was released, even if results chose later releases
	Reserved float64 `json:"reserved"` // ε of that and of all that runs at work may release
}

// String describes the state in one line.
func (s LimitState) String() string {
	line := fmt.Sprintf("limit of %s: ε = %g at δ = %g, of which %s is spent", s.Data, s.Epsilon, s.Delta, accountant.RoundUp(s.Spent, 3))
	if s.Reserved > s.Spent {
		line += fmt.Sprintf(", and %s with what runs at work have reserved", accountant.RoundUp(s.Reserved, 3))
	}
	return line
}

// A request lists the releases for which a run asks room in a limit, past ones included. Path is
// the run's folder, from the folder of runs. The zero value asks for nothing.
type request struct {
	Run, Path string
	Planned   *accountant.Ledger
}

// state returns how much of a limit is used by releases and reservations.
func (k Known) state(l checkpoints.Limit) (LimitState, error) {
	s, _, err := k.stateUnder(l, k.firstOf(l.Subject), request{})
	return s, err
}

// stateUnder returns how much of limit l is used if first, or no plan if nil, is its first plan,
// and what own asks for is reserved too. all holds everything that is then released or reserved.
func (k Known) stateUnder(l checkpoints.Limit, first *checkpoints.First, own request) (s LimitState, all *accountant.Ledger, err error) {
	spent, all, err := k.releases(l.Subject, own)
	s.Limit = l
	if err == nil {
		s.Spent, err = used(l, first, spent)
	}
	if err == nil {
		s.Reserved, err = used(l, first, all)
	}
	if err != nil {
		err = fmt.Errorf("%w %s: %w", ErrLimit, l.Data, err)
	}
	return s, all, err
}

// releases returns what was released on a subject, and all: that with what runs at work may still
// release. own stands in place of its run's reservation.
func (k Known) releases(on checkpoints.Subject, own request) (spent, all *accountant.Ledger, err error) {
	spent, all = new(accountant.Ledger), new(accountant.Ledger)
	counted := map[string]bool{} // reservations that were counted with a member
	inForce := func(by string) *accountant.Ledger {
		counted[by] = true
		if r := k.reservationOf(by); by != own.Run && r.Same(on) && held(k.dir, r.Lock) {
			return r.Planned
		}
		return new(accountant.Ledger)
	}
	for _, m := range k.Members {
		if !on.Same(m.Data.Subject()) {
			continue
		}
		most := larger(larger(m.Ledger, inForce(m.Run)), inForce(m.Path))
		if m.Run == own.Run && own.Planned != nil {
			most = larger(most, own.Planned)
		}
		if err := errors.Join(spent.Join(m.Ledger), all.Join(most)); err != nil {
			return nil, nil, err
		}
	}
	if _, known := k.Member(own.Run); !known && own.Planned != nil {
		if err := all.Join(larger(own.Planned, inForce(own.Path))); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range k.Reserved {
		if !counted[r.By] {
			if err := all.Join(inForce(r.By)); err != nil {
				return nil, nil, err
			}
		}
	}
	return spent, all, nil
}

// refuses returns an error if s passes the limit. before, for the message, is s without the new
// plan.
func (s LimitState) refuses(before LimitState) error {
	switch {
	case s.Reserved <= s.Epsilon:
		return nil
	case s.Reserved == statement.NoGuarantee:
		return fmt.Errorf("%w %s: found %s at δ = %g, with what is planned; expected ε of at most %g", ErrLimit, s.Data, statement.NotKnown, s.Delta, s.Epsilon)
	}
	return fmt.Errorf("%w %s: found ε = %s at δ = %g with what is planned, after %s that is spent or reserved, expected at most %g; give a smaller privacy.epsilon, fewer steps or more noise",
		ErrLimit, s.Data, accountant.RoundUp(s.Reserved, 3), s.Delta, accountant.RoundUp(before.Reserved, 3), s.Epsilon)
}

// held reports whether the holder of a reservation with this lock may still be at work: the lock is
// taken, or there never is one (""), or its file was deleted, so that nobody can tell.
func held(registry, lock string) bool {
	return lock == "" || checkpoints.TryLock(filepath.Join(registry, filepath.FromSlash(lock))) != nil
}

// larger returns a ledger with each event of a or b, as often as in the one that has it more often.
func larger(a, b *accountant.Ledger) *accountant.Ledger {
	counts := account.Counts(a)
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

// refuseSetting refuses s as a limit: the first one after a release or while a run is at work, a
// larger one after a release, or one below what is used.
func (s LimitState) refuseSetting(k Known) error {
	old, limited := k.limitOf(s.Subject)
	if !limited {
		if err := s.refuseUnprotected(k); err != nil {
			return err
		}
	}
	releases := 0
	for _, m := range k.Members {
		if !s.Same(m.Data.Subject()) {
			continue
		}
		releases += m.Entries
		if !limited && (k.apart[m.Run] != "" || atWork(k.dir, m.Path)) {
			return fmt.Errorf("%w %s: found the run %s at work on it, expected none; wait until it has ended", ErrLimit, s.Data, m.Path)
		}
	}
	switch {
	case !limited && releases > 0:
		return fmt.Errorf("%w %s: found %d releases on it, expected none: a limit is set before the first; `train ledger show` says what they cost, whatever was chosen on the way", ErrLimit, s.Data, releases)
	case limited && releases+len(k.Reserved) > 0 && (s.Epsilon > old.Epsilon || s.Delta > old.Delta):
		return fmt.Errorf("%w %s: found ε = %g at δ = %g after %d releases, expected at most the ε = %g and the δ = %g of before: a limit is never raised once something was released", ErrLimit, s.Data, s.Epsilon, s.Delta, releases, old.Epsilon, old.Delta)
	case limited && releases+len(k.Reserved) > 0 && k.firstOf(s.Subject) != nil && (s.Epsilon != old.Epsilon || s.Delta != old.Delta):
		return fmt.Errorf("%w %s: found ε = %g at δ = %g, expected the ε = %g at δ = %g of before: its δ was split for a first plan, and a split is never changed once something was released", ErrLimit, s.Data, s.Epsilon, s.Delta, old.Epsilon, old.Delta)
	case s.Reserved > s.Epsilon:
		return fmt.Errorf("%w %s: found ε = %g, expected at least the %s at δ = %g that is spent or reserved", ErrLimit, s.Data, s.Epsilon, accountant.RoundUp(s.Reserved, 3), s.Delta)
	}
	return nil
}

// refuseUnprotected refuses a limit on examples that a run has used without privacy, or with privacy
// for their labels alone: see [RefuseUnprotected], for such a run behind the limit.
func (s LimitState) refuseUnprotected(k Known) error {
	found, err := foldersBelow(k.dir)
	if err != nil {
		return err
	}
	refuse := func(run, of string) error {
		return fmt.Errorf("%w %s: found the run %s with %s, expected none: no limit holds for what it shows", ErrLimit, s.Data, run, of)
	}
	for _, run := range found.runs {
		if c, err := folder.ReadConfig(run); err == nil && notPrivate(run) && s.onExamplesOf(dataOf(c, setup.Declared(c))) {
			return refuse(folder.Name(run), "privacy.none")
		}
	}
	for _, m := range k.Members {
		if m.Entries > 0 && m.Data.Unit.Kind == checkpoints.Label && s.Unit.Kind != checkpoints.Label && !s.Same(m.Data.Subject()) && s.onExamplesOf(m.Data) {
			return refuse(m.Path, "privacy.unit label")
		}
	}
	return nil
}

// onExamplesOf reports whether the limit may be on these examples, whatever their number.
func (s LimitState) onExamplesOf(d checkpoints.Data) bool {
	return d.SameExamples(checkpoints.Data{Name: s.Data, Unit: s.Unit, Examples: d.Examples})
}

// atWork reports whether the ledger of a run exists and may be locked by a process.
func atWork(registry, path string) bool {
	err := checkpoints.TryLock(filepath.Join(registry, filepath.FromSlash(path), folder.Ledger))
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}

// choosing makes, once for each relation, the accountant for [chosen]: it remembers divergences.
var choosing = map[accountant.Relation]func() (*rdp.Chosen, error){
	accountant.ZeroOut:    sync.OnceValues(func() (*rdp.Chosen, error) { return rdp.NewChosen(accountant.ZeroOut) }),
	accountant.ReplaceOne: sync.OnceValues(func() (*rdp.Chosen, error) { return rdp.NewChosen(accountant.ReplaceOne) }),
}

// chosen returns an ε at delta of l's releases, even if results chose later ones: see [rdp.Chosen].
func chosen(l *accountant.Ledger, delta float64) (epsilon float64, err error) {
	c, err := choosing[l.Relation()]()
	if err != nil {
		return 0, err
	}
	g, err := c.Guarantee(l, delta)
	return g.Epsilon, err
}

func (k Known) limitOf(s checkpoints.Subject) (l checkpoints.Limit, ok bool) {
	for _, l := range k.limitsOf(s) {
		return l, true
	}
	return l, false
}

// limitsOf lists all limits on a subject: a name without a unit may have several.
func (k Known) limitsOf(s checkpoints.Subject) []checkpoints.Limit {
	return slices.DeleteFunc(slices.Clone(k.Limits), func(l checkpoints.Limit) bool { return !l.Same(s) })
}

// reservationOf returns the reservation by a run or a trial's path; an empty one if there is none.
func (k Known) reservationOf(by string) checkpoints.Reservation {
	for _, r := range k.Reserved {
		if r.By == by {
			return r
		}
	}
	return checkpoints.Reservation{Planned: new(accountant.Ledger)}
}

// refuseLostLimit refuses the run in dir, on data s, unless the ledgers have the limit in its
// configuration c, with which it began, or a smaller one.
func (k Known) refuseLostLimit(dir string, c *configs.Config, s checkpoints.Subject) error {
	want := c.Data.Limit
	if !want.Any() {
		return nil
	}
	found, ok := k.limitOf(s)
	if ok && found.Epsilon <= want.Epsilon && found.Delta <= want.Delta {
		return nil
	}
	has := "no limit"
	if ok {
		has = fmt.Sprintf("a limit of ε = %g at δ = %g", found.Epsilon, found.Delta)
	}
	return fmt.Errorf("train: %s: found %s of %s, expected one of at most ε = %g at δ = %g, with which %s was begun; put it back from a copy: %w",
		k.path(), has, s.Data, want.Epsilon, want.Delta, dir, checkpoints.ErrRollback)
}
