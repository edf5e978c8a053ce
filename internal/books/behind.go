package books

import (
	"fmt"
	"path/filepath"
	"slices"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
)

// The shared ledger may be behind the ledger of a run: by the one line that the run is writing, or
// that a kill or a power loss left there alone, or by the lines that end an epoch together; or by
// more, if somebody put an older copy in its place. What only the runs' own ledgers know counts
// everywhere ([Known.addOwn]). But an older copy lacks terms too, which no other file has: what tasks
// have reserved, and how δ was split for a first plan. So where there is a limit an older copy is
// refused ([folders.refuseOlder]).

// lacking returns what the ledger of the run in that folder says, if k knows less of it. ok is
// false for a ledger that is missing, damaged, or another one than k knows: k counts for that.
func (k Known) lacking(run string) (m checkpoints.Member, datasets string, ok bool) {
	path := filepath.Join(run, folder.Ledger)
	header, err := checkpoints.ReadHeader(path)
	if err != nil {
		return m, "", false
	}
	m, _ = k.Member(header.Run)
	if last, err := checkpoints.LastHash(path); err != nil || last == m.Hash {
		return m, "", false
	}
	l, info, err := checkpoints.ReadJournal(path, k.claims(header.Run)...)
	if err != nil || info.Entries <= m.Entries {
		return m, "", false
	}
	m.Run, m.Ledger, m.Entries, m.LastStep, m.Hash = info.Run, l, info.Entries, info.LastStep, info.Hash
	return m, info.Datasets, true
}

// inFlight reports whether a run whose own ledger says own can be ahead of what the shared ledger
// knows of it with no older copy: by one line, or by [Books.AppendAll], whose lines are of one step.
func inFlight(known, own checkpoints.Member) bool {
	ahead, entries := own.Entries-known.Entries, own.Ledger.Entries()
	bins, ok := entries[len(entries)-1].Event.(accountant.BallsInBins)
	return ahead <= 1 || ok && ahead < bins.Bins && own.LastStep <= known.LastStep+1
}

// addOwn adds what only the own ledgers of the runs in these folders know. It leaves out a run of
// which nothing tells the data.
func (k *Known) addOwn(runs []string) {
	k.Members = slices.Clone(k.Members)
	for _, run := range runs {
		m, _, ok := k.lacking(run)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(k.Members, func(known checkpoints.Member) bool { return known.Run == m.Run }); i >= 0 {
			k.Members[i] = m
			continue
		}
		var err error
		if m.Registration, err = adopted(k.dir, run); err == nil {
			k.Members = append(k.Members, m)
		}
	}
}

// refuseOlder refuses d, the shared ledger of dir, if it has a limit and is an older copy.
func (f folders) refuseOlder(dir string, d *checkpoints.Datasets) error {
	if len(d.Info().Limits) == 0 {
		return nil
	}
	before := Known{DatasetsInfo: d.Info(), dir: dir}
	var ahead []checkpoints.Member
	for _, run := range f.runs {
		if m, datasets, ok := before.lacking(run); ok && datasets == before.ID {
			if m.Path == "" {
				m.Path, _ = pathFrom(dir, run)
			}
			ahead = append(ahead, m)
		}
	}
	apart, err := readApart(dir)
	if err != nil {
		return err
	}
	// What was written since d was read is no sign of an older copy.
	if err := d.Refresh(); err != nil {
		return err
	}
	now := Known{DatasetsInfo: d.Info(), dir: dir}
	for _, m := range ahead {
		_, isApart := apart.Member(m.Run)
		reserved := now.reservationOf(m.Path)
		isTask := reserved.Lock == "" && account.Holds(reserved.Planned, m.Ledger) // whose ledger apart is gone
		if known, registered := now.Member(m.Run); !isApart && !isTask && (!registered || !inFlight(known, m)) {
			return now.older(fmt.Sprintf("%d releases of %s", known.Entries, m.Path), fmt.Sprintf("the %d of its ledger", m.Entries))
		}
	}
	for _, m := range apart.Members {
		if lost, err := now.lostReservation(m); err != nil {
			return err
		} else if lost {
			return now.older("no room that is reserved for "+m.Path, "what its task reserved")
		}
	}
	return nil
}

func (k Known) older(found, expected string) error {
	return fmt.Errorf("train: %s: found %s, expected %s: it is an older copy, and what it lacks of its limits nothing else knows; put the newer one back, or work in another --runs-dir: %w",
		k.path(), found, expected, checkpoints.ErrRollback)
}

// lostReservation reports whether the run apart m, which has not ended, is on data with a limit and
// k lacks the reservation with which it began.
func (k Known) lostReservation(m checkpoints.Member) (bool, error) {
	dir := filepath.Join(k.dir, filepath.FromSlash(m.Path))
	if _, limited := k.limitOf(m.Data.Subject()); !limited || m.Planned == nil {
		return false, nil
	}
	for _, read := range []func(string) (*Row, error){ReadRow, resultOf} {
		if row, err := read(dir); err != nil || row != nil { // it has ended: a collected sweep gives its room back
			return false, err
		}
	}
	return !account.Holds(larger(m.Ledger, k.reservationOf(m.Path).Planned), m.Planned.Releases), nil
}
