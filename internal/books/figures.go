package books

import (
	"fmt"
	"path"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
)

// Refute refuses an ε that a file without a ledger says of releases, and that is below what they cost by the tightest
// accountant: the file was edited or damaged. Nothing is known against it where no accountant answers.
func Refute(where string, l *accountant.Ledger, delta float64, said account.Answer) error {
	least, err := account.SpentBy(account.Exact, l, delta)
	if err != nil || said.Delta == delta && said.Epsilon >= 0.999*least.Epsilon {
		return nil
	}
	return fmt.Errorf("train: %s: found ε = %g at δ = %g, expected at least the %.4g at δ = %g of the ledger; put the file back from a copy: %w",
		where, said.Epsilon, said.Delta, least.Epsilon, delta, checkpoints.ErrCorrupt)
}

// First is a ledger of the first n releases of another one, or all of them. Choices are none.
func First(l *accountant.Ledger, n int) *accountant.Ledger {
	first := new(accountant.Ledger)
	for _, e := range l.Entries() {
		if e.Event == account.Choice {
			continue
		}
		count := min(n, e.Count)
		if n -= count; first.Add(e.Event, count) != nil {
			return l // cannot be: both are events of a ledger
		}
	}
	return first
}

// RefuteRow is Refute for the row of a trial whose ledger is known. A trial that went on after its row is not
// what the row is of.
func RefuteRow(where string, trials []Listed, name string, entries int, said account.Answer) error {
	for _, t := range trials {
		if m := t.Member; path.Base(m.Path) == name && m.Entries > 0 && (entries == 0 || entries == m.Entries) {
			return Refute(where+": trial "+name, m.Ledger, m.Delta, said)
		}
	}
	return nil
}
