package checkpoints

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"dpsgd/accountant"
)

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
	// Lock is the path of a file, from the folder of the ledger: while nobody has its lock, nothing is
	// released by the reservation. "" lasts until another one stands in its place.
	Lock    string             `json:"lock,omitempty"`
	Planned *accountant.Ledger `json:"planned"` // empty gives it back
}

// First is a plan that was fixed before anything was released on the data of a limit, and that the limit
// admits by its own accounting.
type First struct {
	Subject
	Planned *accountant.Ledger `json:"planned"` // empty takes it back
	// Rest is the part of the limit's δ that is left for whatever is released beyond the plan.
	Rest float64 `json:"rest"`
}

// Terms are a line with a limit or reservations. A later one of the same subject, or by the same run, counts;
// a limit ends the first plan that was fixed under the one before.
type Terms struct {
	Limit   *Limit        `json:"limit,omitempty"`
	Reserve []Reservation `json:"reserve,omitempty"`
	First   []First       `json:"first,omitempty"`
}

// Put appends the terms that decide makes of what the ledger holds under its lock, if it makes any.
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

// check refuses terms about a unit that does not belong to its name.
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
