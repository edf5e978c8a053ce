package checkpoints

import (
	"bytes"
	"encoding/json"
	"slices"

	"dpsgd/accountant"
)

// Limit is what all releases on the data of one name may cost together, whatever number of examples
// a run sees of it.
type Limit struct {
	Data    string  `json:"data"`
	Epsilon float64 `json:"epsilon"` // above 0
	Delta   float64 `json:"delta"`   // in (0, 1)
}

// Reservation is what a run may release in all, together with what it has released.
type Reservation struct {
	By   string `json:"by"`   // the identifier of a run, or the path of a trial's folder
	Data string `json:"data"` // the name of the data
	// Lock is the path of a file, from the folder of the ledger: while nobody has its lock, nothing is
	// released by the reservation. "" lasts until another one stands in its place.
	Lock    string             `json:"lock,omitempty"`
	Planned *accountant.Ledger `json:"planned"` // empty gives it back
}

// Terms are a line with a limit or reservations. A later one of the same data, or by the same run, counts.
type Terms struct {
	Limit   *Limit        `json:"limit,omitempty"`
	Reserve []Reservation `json:"reserve,omitempty"`
}

// Put appends the terms that decide makes of what the ledger holds under its lock, if it makes any.
func (d *Datasets) Put(decide func(DatasetsInfo) Terms) error {
	return d.append(func() ([]byte, error) {
		object, err := json.Marshal(decide(d.book.info()))
		if err != nil || string(object) == "{}" {
			return nil, err
		}
		return d.book.link(bytes.TrimSuffix(object, []byte("}")))
	})
}

func (b *book) addTerms(content []byte) error {
	var t Terms
	if err := json.Unmarshal(append(bytes.Clone(content), '}'), &t); err != nil {
		return err
	}
	if l := t.Limit; l != nil {
		b.limits = append(slices.DeleteFunc(b.limits, func(known Limit) bool { return known.Data == l.Data }), *l)
	}
	for _, r := range t.Reserve {
		b.reserved = slices.DeleteFunc(b.reserved, func(known Reservation) bool { return known.By == r.By })
		if r.Planned != nil && r.Planned.Count() > 0 {
			b.reserved = append(b.reserved, r)
		}
	}
	return nil
}
