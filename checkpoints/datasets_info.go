package checkpoints

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"dpsgd/accountant"
	"dpsgd/internal/disk"
)

// DatasetsInfo describes a ledger of data sets.
type DatasetsInfo struct {
	ID       string // random identifier, 32 hexadecimal digits
	Hash     string // hash of the whole file
	Lines    int
	Members  []Member // in the order of their registration
	Limits   []Limit
	Reserved []Reservation
	First    []First
}

// Member is one run in a ledger of data sets: its identifier, and how it was registered.
type Member struct {
	Run string // its identifier
	Registration
	Entries  int
	LastStep int    // of the last entry
	Hash     string // of the run's own ledger after these entries
	Ledger   *accountant.Ledger

	line []byte
}

// Claim returns what the ledger of data sets, called where in errors, says of the run's own ledger.
func (m Member) Claim(where string) Claim {
	return Claim{Where: where, Entries: m.Entries, Hash: m.Hash, line: m.line}
}

// Member returns what is known about the run with that identifier; false if it is not registered.
func (i DatasetsInfo) Member(run string) (Member, bool) {
	for _, m := range i.Members {
		if m.Run == run {
			return m, true
		}
	}
	return Member{}, false
}

func (b *book) info() DatasetsInfo {
	i := DatasetsInfo{ID: b.id, Hash: b.head.String(), Lines: b.lines, Limits: slices.Clone(b.limits), Reserved: slices.Clone(b.reserved), First: slices.Clone(b.first)}
	for _, m := range b.order {
		i.Members = append(i.Members, Member{
			Run: m.chain.run, Registration: m.Registration, Entries: m.chain.entries, LastStep: m.chain.lastStep, Hash: m.chain.head.String(),
			Ledger: m.chain.ledger.Clone(), line: m.line,
		})
	}
	return i
}

// ReadDatasets reads a ledger of data sets without locking or changing it.
func ReadDatasets(path string) (DatasetsInfo, error) {
	var b book
	err := readLedger(disk.System, path, b.read)
	return b.info(), err
}

// FindHash returns the number, from 1, of the line of a ledger of data sets with that hash, or 0.
func FindHash(path, hash string) (line int, err error) {
	var b book
	err = readLedger(disk.System, path, func(r io.Reader) (extent, error) {
		return b.readEach(r, func() {
			if b.head.String() == hash {
				line = b.lines
			}
		})
	})
	return line, err
}

// Limit bounds the cost of all releases on its subject together.
type Limit struct {
	Subject
	Epsilon float64 `json:"epsilon"` // above 0
	Delta   float64 `json:"delta"`   // in (0, 1)
}

// Reservation lists what a run may release in all, including what it has released.
type Reservation struct {
	By string `json:"by"` // the identifier of a run, or the path of a trial's folder
	Subject
	// Lock is the path of a file, from the folder of the ledger. While no process holds its lock,
	// the reservation is void. With "", it lasts until another one replaces it.
	Lock    string             `json:"lock,omitempty"`
	Planned *accountant.Ledger `json:"planned"` // empty gives it back
}

// First is a plan that was fixed before anything was released on the data of a limit, and that the
// limit admits by its own accounting.
type First struct {
	Subject
	Planned *accountant.Ledger `json:"planned"` // empty takes it back
	// Rest is the part of the limit's δ that is left for whatever is released beyond the plan.
	Rest float64 `json:"rest"`
}

// Terms holds the limit, the reservations or the first plans that one line of a ledger of data sets
// sets. A later limit of a subject, or reservation by a run, replaces the earlier one. A new limit ends the subject's first plan.
type Terms struct {
	Limit   *Limit        `json:"limit,omitempty"`
	Reserve []Reservation `json:"reserve,omitempty"`
	First   []First       `json:"first,omitempty"`
}

// Put calls decide with what the ledger says, under its lock, and appends decide's terms, if any.
func (d *Datasets) Put(decide func(DatasetsInfo) Terms) error {
	return d.append(func() ([]byte, error) {
		terms := decide(d.book.info())
		if err := terms.check(); err != nil {
			return nil, err
		}
		object, err := json.Marshal(terms)
		if err != nil || string(object) == "{}" {
			return nil, err
		}
		return d.book.link(bytes.TrimSuffix(object, []byte("}")))
	})
}

// check refuses terms of which a subject has another unit than its name begins with.
func (t Terms) check() (err error) {
	if t.Limit != nil {
		err = t.Limit.check()
	}
	for _, f := range t.First {
		err = cmp.Or(err, f.check())
	}
	for _, r := range t.Reserve {
		err = cmp.Or(err, r.check())
	}
	return err
}

func (b *book) addTerms(content []byte) error {
	var t Terms
	if err := json.Unmarshal(append(bytes.Clone(content), '}'), &t); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	if l := t.Limit; l != nil {
		b.limits = append(slices.DeleteFunc(b.limits, func(known Limit) bool { return known.Same(l.Subject) }), *l)
		b.endFirst(l.Subject)
	}
	for _, f := range t.First {
		if b.endFirst(f.Subject); f.Planned != nil && f.Planned.Count() > 0 {
			b.first = append(b.first, f)
		}
	}
	for _, r := range t.Reserve {
		b.reserved = slices.DeleteFunc(b.reserved, func(known Reservation) bool { return known.By == r.By })
		if r.Planned != nil && r.Planned.Count() > 0 {
			b.reserved = append(b.reserved, r)
		}
	}
	return nil
}

func (b *book) endFirst(s Subject) {
	b.first = slices.DeleteFunc(b.first, func(known First) bool { return known.Same(s) })
}
