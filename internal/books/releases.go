package books

import (
	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
)

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
