package books

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/statement"
)

// Total says what all runs on one data set cost together, for somebody who sees everything that
// they released and who may have chosen the next run, or to stop, by what he saw.
type Total struct {
	Data     checkpoints.Data `json:"data"` // as the first of the runs sees it
	Releases int              `json:"releases"`
	// Answer holds whatever was chosen on the way, at the least of the runs' δ; see [Chosen].
	account.Answer
	// Fixed is ε if it was decided before any result was seen which runs are made, and how long
	// each is.
	Fixed account.Answer `json:"if_decided_before"`
	Runs  []RunTotal     `json:"runs"`           // those that released something
	Note  string         `json:"note,omitempty"` // what the total is not about
}

// RunTotal is one run of a total. Its ε covers that run alone, at its own δ, and all that it
// planned where it stopped before.
type RunTotal struct {
	Run      string  `json:"run"` // its path, from the folder of runs
	Releases int     `json:"releases"`
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
}

// onData returns the members that released something on data.
func onData(members []checkpoints.Member, d checkpoints.Data) []checkpoints.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m checkpoints.Member) bool { return !m.Data.Same(d) || m.Entries == 0 })
}

// tightest are the accountants that a run can have, the tightest first.
var tightest = []string{account.Exact, account.PLD, account.RDP}

// union returns one ledger of the releases of all members, the least of their δ, and the tightest
// of their accountants. All accountants bound ε from above.
func union(members []checkpoints.Member) (l *accountant.Ledger, delta float64, name string, err error) {
	l, delta, name = new(accountant.Ledger), 1, account.RDP
	for _, m := range members {
		delta = min(delta, m.Delta)
		if slices.Index(tightest, m.Accountant) < slices.Index(tightest, name) {
			name = m.Accountant
		}
		if err := l.Join(m.Ledger); err != nil {
			return nil, 0, "", err
		}
	}
	return l, delta, name, nil
}

// Compose returns what all releases of members, at least one, cost together if no result changed
// what was released, and how many there are.
func Compose(members []checkpoints.Member) (account.Spent, int, error) {
	l, delta, name, err := union(members)
	if err != nil {
		return account.Spent{}, 0, err
	}
	spent, err := account.SpentBy(name, l, delta)
	if len(members) > 1 && (errors.Is(err, accountant.ErrUnsupported) || errors.Is(err, accountant.ErrUncertified)) {
		spent, err = oneByOne(members, delta)
	}
	releases := 0 // turns of several runs are fewer entries together
	for _, m := range members {
		releases += m.Ledger.Count()
	}
	return spent, releases, err
}

// Chosen accounts for all releases of the members for somebody who chose each of them, and when to
// stop, by what the earlier ones showed: see [rdp.Chosen]. Where nothing finite is known ε is
// [statement.NoGuarantee].
func Chosen(members []checkpoints.Member) (account.Answer, error) {
	l, delta, _, err := union(members)
	if err != nil {
		return account.Answer{}, err
	}
	epsilon, err := chosen(l, delta)
	if errors.Is(err, accountant.ErrUnsupported) || errors.Is(err, accountant.ErrUncertified) {
		epsilon, err = math.Inf(1), nil
	}
	return account.Answer{Epsilon: min(epsilon, statement.NoGuarantee), Delta: delta, Accountant: account.ByChoice}, err
}

// oneByOne adds up what members cost, each at an equal share of δ: basic composition (Dwork, Roth
// 2014, Theorem 3.16), for releases that no accountant takes together.
func oneByOne(members []checkpoints.Member, delta float64) (account.Spent, error) {
	all := account.Spent{Accountant: "run by run"}
	all.Guarantee = accountant.Guarantee{
		Delta: delta, Relation: accountant.ZeroOut,
		Method: "basic composition of the runs, each by its accountant at an equal share of δ, as none takes all their releases together",
	}
	for _, m := range members {
		alone, err := account.SpentBy(m.Accountant, m.Ledger, delta/float64(len(members)))
		if err != nil {
			return account.Spent{}, err
		}
		all.Epsilon = math.Nextafter(all.Epsilon+alone.Epsilon, math.Inf(1))
	}
	return all, nil
}

// totalOf composes the members with one data set, and says what each of them alone costs.
func totalOf(d checkpoints.Data, members []checkpoints.Member) (Total, error) {
	spent, releases, err := Compose(members)
	if err != nil {
		return Total{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	t := Total{Data: d, Releases: releases, Fixed: spent.Answer()}
	if t.Answer, err = Chosen(members); err != nil {
		return Total{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	labels := checkpoints.Unit{Kind: checkpoints.Label}
	if of, ok := strings.CutPrefix(d.Name, labels.Of("")); ok && d.Unit.Same(labels) {
		t.Note = fmt.Sprintf("Only the labels are protected: no total of %[1]s holds for what these runs published. Runs with private examples of %[1]s tell of labels, too: an ε of theirs comes on top here, twice", of)
	}
	for _, m := range members {
		alone, err := account.ClaimBy(m.Accountant, m.Ledger, m.Planned, m.Delta)
		if err != nil {
			return Total{}, err
		}
		t.Runs = append(t.Runs, RunTotal{Run: m.Path, Releases: m.Entries, Epsilon: alone.Epsilon, Delta: m.Delta})
	}
	return t, nil
}

// Together returns what all releases on this run's data cost together, the use of the data's limit,
// and notes on what the total leaves out. The total is empty if no other run released anything.
func (b *Books) Together() (statement.Together, error) {
	if err := b.Present(); err != nil {
		return statement.Together{}, err
	}
	known, err := b.known()
	if err != nil {
		return statement.Together{}, err
	}
	return known.together(b.Info().Run, b.own.Data.Unit)
}

// TogetherNow returns the same by now for the run in dir, which may have ended, or what its statement
// has where that counts more releases, or where the ledger of the data is not there: a total never
// falls.
func TogetherNow(dir string, stated statement.Together) (statement.Together, error) {
	i, err := Inspect(dir)
	if err != nil || i.known.ID == "" {
		return stated, err
	}
	found, err := foldersBelow(i.known.dir)
	if err != nil {
		return stated, err
	}
	i.known.addOwn(found.runs)
	now, err := i.known.together(i.Run, checkpoints.Unit{})
	if err != nil || now.DatasetReleases < stated.DatasetReleases {
		return stated, err
	}
	return now, nil
}

// together does what [Books.Together] does, for a run that protects unit where k has none for it.
func (k Known) together(run string, unit checkpoints.Unit) (statement.Together, error) {
	self, _ := k.Member(run)
	self.Data.Unit = cmp.Or(self.Data.Unit, unit)
	t, err := together(k.Members, self.Data)
	if limit, ok := k.limitOf(self.Data.Subject()); ok && err == nil {
		var s LimitState
		s, err = k.state(limit)
		t.DatasetLimit, t.DatasetLimitDelta, t.DatasetSpent = s.Epsilon, s.Delta, s.Spent
	}
	return t, err
}

func together(all []checkpoints.Member, d checkpoints.Data) (t statement.Together, err error) {
	var notes []string
	if members := onData(all, d); len(members) > 1 {
		spent, releases, err := Compose(members)
		switch {
		case errors.Is(err, account.ErrNoGuarantee):
			_, delta, _, _ := union(members)
			notes = append(notes, fmt.Sprintf("No ε is known at δ = %g for what all %d runs on this data cost together", delta, len(members)))
		case err != nil:
			return t, err
		default:
			whole, err := Chosen(members)
			if err != nil {
				return t, err
			}
			t = statement.Together{DatasetEpsilon: whole.Epsilon, DatasetDelta: whole.Delta, DatasetRuns: len(members), DatasetReleases: releases, DatasetFixed: spent.Epsilon}
		}
	}
	if others := otherUnits(all, d); len(others) > 0 {
		notes = append(notes, fmt.Sprintf("Beside it, runs on the same examples protect something else (%s): what they cost is in no total of this one", strings.Join(others, "; ")))
	}
	t.DatasetOthers = strings.Join(notes, ". ")
	return t, nil
}

// otherUnits names the data of runs on the same examples that protect another unit.
func otherUnits(all []checkpoints.Member, d checkpoints.Data) (names []string) {
	for _, m := range all {
		if m.Entries > 0 && !m.Data.Same(d) && m.Data.SameExamples(d) && !slices.Contains(names, m.Data.Name) {
			names = append(names, m.Data.Name)
		}
	}
	return names
}

// Releases holds what a run has released so far, and its budget.
type Releases struct {
	Run        string
	Ledger     *accountant.Ledger // without choices
	Divisor    float64            // divides δ for Ledger, because of its choices: see account.Choice
	Claimed    *accountant.Ledger // whose cost the run states, without choices: see account.Claim
	OfClaimed  float64            // divides δ for Claimed
	Epsilon    float64            // of the budget; 0 for none
	Delta      float64
	Accountant string
	Unit       string // what the ε protects, in the words of setup.UnitOf
	Warning    string // that the ledger of the run's data was not found; "" if it was
}

// ReadReleases reads the ledger and the budget of a run. It only reads, so the run may be going on.
func ReadReleases(dir string) (Releases, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return Releases{}, err
	}
	i, err := Inspect(dir)
	if err != nil {
		return Releases{}, err
	}
	released, divisor, err := account.Seen(i.Ledger)
	if err != nil {
		return Releases{}, err
	}
	claim, err := i.Claim(c)
	if err != nil {
		return Releases{}, err
	}
	claimed, ofClaimed, err := account.Seen(claim.Ledger)
	return Releases{
		Run: dir, Ledger: released, Divisor: divisor, Claimed: claimed, OfClaimed: ofClaimed, Epsilon: c.Privacy.Epsilon, Delta: c.Privacy.Delta, Accountant: c.Privacy.Accountant, Unit: setup.UnitOf(c), Warning: i.Warning,
	}, err
}

// Question returns a question for u, about what was released if u is Steps and else about what is
// claimed, with accountant, δ and budget of the run's configuration. The caller may change it.
func (r Releases) Question(u account.Unknown) account.Question {
	q := account.Question{
		View:    account.View{Accountant: r.Accountant, Relation: r.Claimed.Relation()},
		Unknown: u, Ledger: r.Ledger, Epsilon: r.Epsilon, Delta: r.Delta, Run: r.Run, Unit: r.Unit, Divisor: r.Divisor,
	}
	if u != account.Steps { // which come after what was released
		q.Ledger, q.Divisor = r.Claimed, r.OfClaimed
		if r.Ledger.Count() < r.Claimed.Count() || r.Divisor < r.OfClaimed {
			q.Made = &account.Made{Ledger: r.Ledger, Divisor: r.Divisor}
		}
	}
	if q.Unit == setup.Label {
		q.Relation = accountant.ReplaceOne
	}
	if entries := r.Ledger.Entries(); len(entries) > 0 {
		q.Step = entries[len(entries)-1].Event
		if q.Unit == setup.Label { // the entry of a second stage costs nothing: nothing more is asked in it
			q.Step = entries[0].Event
		}
	}
	return q
}
