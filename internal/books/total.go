package books

import (
	"fmt"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/statement"
)

// Total is what all runs on one data set cost together: the guarantee for somebody who sees
// everything that they released.
type Total struct {
	Data           checkpoints.Data `json:"data"` // as the first of the runs sees it
	Releases       int              `json:"releases"`
	account.Answer                  // at the least of the runs' δ
	Runs           []RunTotal       `json:"runs"`           // those that released something
	Note           string           `json:"note,omitempty"` // what the total is not about
}

// RunTotal is one run of a total. Its ε covers that run alone, at its own δ.
type RunTotal struct {
	Run      string  `json:"run"` // its path, from the folder of runs
	Releases int     `json:"releases"`
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
}

// onData are the members with the same data that released something.
func onData(members []checkpoints.Member, d checkpoints.Data) []checkpoints.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m checkpoints.Member) bool { return !m.Data.Same(d) || m.Entries == 0 })
}

// tightest are the accountants that a run can have, the tightest first.
var tightest = []string{account.Exact, account.PLD, account.RDP}

// union is one ledger of the releases of all members, the least of their δ, and who accounts for
// it: the tightest of their accountants, which all bound ε from above.
func union(members []checkpoints.Member) (l *accountant.Ledger, delta float64, name string, err error) {
	l, delta, name = new(accountant.Ledger), 1, account.RDP
	for _, m := range members {
		delta = min(delta, m.Delta)
		if slices.Index(tightest, m.Accountant) < slices.Index(tightest, name) {
			name = m.Accountant
		}
		for _, e := range m.Ledger.Entries() {
			if err := l.Add(e.Event, e.Count); err != nil {
				return nil, 0, "", err
			}
		}
	}
	return l, delta, name, nil
}

// Compose accounts for all releases of the members, of which there is at least one.
func Compose(members []checkpoints.Member) (account.Spent, int, error) {
	l, delta, name, err := union(members)
	if err != nil {
		return account.Spent{}, 0, err
	}
	spent, err := account.SpentBy(name, l, delta)
	return spent, l.Count(), err
}

// totalOf composes the members with one data set, and says what each of them alone costs.
func totalOf(d checkpoints.Data, members []checkpoints.Member) (Total, error) {
	spent, releases, err := Compose(members)
	if err != nil {
		return Total{}, err
	}
	t := Total{
		Data: d, Releases: releases, Answer: spent.Answer(),
	}
	if of, ok := strings.CutPrefix(d.Name, ofLabels); ok {
		t.Note = fmt.Sprintf("Only the labels are protected: no total of %[1]s holds for what these runs published. Runs with private examples of %[1]s tell of labels, too: an ε of theirs comes on top here, twice", of)
	}
	for _, m := range members {
		alone, err := account.SpentBy(m.Accountant, m.Ledger, m.Delta)
		if err != nil {
			return Total{}, err
		}
		t.Runs = append(t.Runs, RunTotal{Run: m.Path, Releases: m.Entries, Epsilon: alone.Epsilon, Delta: m.Delta})
	}
	return t, nil
}

// Together asks what everything that was released on this run's data by now costs together. It is
// empty where there are no other runs.
func (b *Books) Together() (statement.Together, error) {
	if err := b.datasets.Refresh(); err != nil {
		return statement.Together{}, err
	}
	info := b.datasets.Info()
	self, _ := info.Member(b.Info().Run)
	members := onData(info.Members, self.Data)
	if len(members) < 2 {
		return statement.Together{}, nil
	}
	spent, releases, err := Compose(members)
	return statement.Together{
		DatasetEpsilon: spent.Epsilon, DatasetDelta: spent.Delta, DatasetRuns: len(members), DatasetReleases: releases,
	}, err
}
