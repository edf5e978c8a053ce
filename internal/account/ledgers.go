package account

import "dpsgd/accountant"

// Counts returns the number of releases of each event in a ledger.
func Counts(l *accountant.Ledger) map[accountant.Event]int {
	n := map[accountant.Event]int{}
	for _, e := range l.Entries() {
		n[e.Event] += e.Count
	}
	return n
}

// AddAll adds the releases of the ledger from to the ledger to, of the same run:
// [accountant.Ledger.Join] adds those of another one.
func AddAll(to, from *accountant.Ledger) error {
	for _, e := range from.Entries() {
		if err := to.Add(e.Event, e.Count); err != nil {
			return err
		}
	}
	return nil
}

// Beginning returns a ledger of the first n releases of l, of all if l has fewer.
func Beginning(l *accountant.Ledger, n int) (*accountant.Ledger, error) {
	entries := l.Entries()
	for i := range entries {
		entries[i].Count = min(n, entries[i].Count)
		n -= entries[i].Count
	}
	return ledgerOf(entries)
}

// ledgerOf returns the ledger of these entries.
func ledgerOf(entries []accountant.Entry) (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	for _, e := range entries {
		if err := l.Add(e.Event, e.Count); err != nil {
			return nil, err
		}
	}
	return l, nil
}
