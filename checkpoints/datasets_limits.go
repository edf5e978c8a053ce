package checkpoints

import (
	"encoding/json"
	"fmt"
	"slices"

	"dpsgd/accountant"
)

// Besides its runs, the ledger of data sets holds what the data of a name may cost at most, and who may
// still release how much of that:
//
//	{"limit":{"data":"digits","epsilon":8,"delta":0.00001},"previous":…}
//	{"reserve":[{"by":"<32 hex>","data":"digits","lock":"digits-1/ledger.jsonl","planned":[{"count":12,"event":{…}}]}],"previous":…}
//
// A later line about the same data, or by the same run, stands in place of an earlier one. What the
// lines mean, and when one may be written, is for whoever calls [Datasets.Put].
const (
	limitKey   = `{"limit":`
	reserveKey = `{"reserve":`
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
	By   string // the identifier of a run, or the path of a trial's folder
	Data string // the name of the data
	// Lock is the path of a file, from the folder of the ledger: while nobody has its lock, nothing more is
	// released by the reservation. "" is one that lasts until another one stands in its place.
	Lock    string
	Planned *accountant.Ledger // empty gives it back
}

// reservation is one in its line.
type reservation struct {
	By      string     `json:"by"`
	Data    string     `json:"data"`
	Lock    string     `json:"lock,omitempty"`
	Planned []released `json:"planned"`
}

// Put appends a limit, or reservations, as decide chooses them by what the ledger holds under its lock.
// Nothing is appended where decide returns neither.
func (d *Datasets) Put(decide func(DatasetsInfo) (*Limit, []Reservation)) error {
	return d.append(func() ([]byte, error) {
		limit, reserved := decide(d.book.info())
		switch {
		case limit != nil:
			object, err := json.Marshal(limit)
			if err != nil {
				return nil, err
			}
			return d.book.link(append([]byte(limitKey), object...))
		case len(reserved) > 0:
			return d.book.formatReserve(reserved)
		}
		return nil, nil
	})
}

func (b *book) formatReserve(all []Reservation) ([]byte, error) {
	var lines []reservation
	for _, r := range all {
		planned, err := formatReleased(r.Planned)
		if err != nil {
			return nil, err
		}
		lines = append(lines, reservation{r.By, r.Data, r.Lock, planned})
	}
	object, err := json.Marshal(lines)
	if err != nil {
		return nil, err
	}
	return b.link(append([]byte(reserveKey), object...))
}

func formatReleased(l *accountant.Ledger) ([]released, error) {
	list := []released{}
	for _, e := range l.Entries() {
		text, err := accountant.MarshalEvent(e.Event)
		if err != nil {
			return nil, err
		}
		list = append(list, released{e.Count, text})
	}
	return list, nil
}

func addReleased(l *accountant.Ledger, list []released) error {
	for _, r := range list {
		event, err := accountant.UnmarshalEvent(r.Event)
		if err != nil {
			return err
		}
		if err := l.Add(event, r.Count); err != nil {
			return err
		}
	}
	return nil
}

func (b *book) addLimit(object []byte) error {
	var l Limit
	if err := json.Unmarshal(object, &l); err != nil {
		return err
	}
	if !(l.Epsilon > 0) || !(l.Delta > 0 && l.Delta < 1) || l.Data == "" {
		return fmt.Errorf("found a limit of epsilon %v and delta %v for %.40q, expected a name, an epsilon above 0 and a delta in (0, 1)", l.Epsilon, l.Delta, l.Data)
	}
	b.limits = append(slices.DeleteFunc(b.limits, func(known Limit) bool { return known.Data == l.Data }), l)
	return nil
}

func (b *book) addReserve(object []byte) error {
	var lines []reservation
	if err := json.Unmarshal(object, &lines); err != nil {
		return err
	}
	for _, line := range lines {
		r := Reservation{line.By, line.Data, line.Lock, new(accountant.Ledger)}
		if err := addReleased(r.Planned, line.Planned); err != nil {
			return err
		}
		b.reserved = slices.DeleteFunc(b.reserved, func(known Reservation) bool { return known.By == r.By })
		if r.Planned.Count() > 0 {
			b.reserved = append(b.reserved, r)
		}
	}
	return nil
}

// Limit returns that of the data of a name.
func (i DatasetsInfo) Limit(data string) (Limit, bool) {
	for _, l := range i.Limits {
		if l.Data == data {
			return l, true
		}
	}
	return Limit{}, false
}

// Reservation returns that of a run or of a trial's path; an empty one where there is none.
func (i DatasetsInfo) Reservation(by string) Reservation {
	for _, r := range i.Reserved {
		if r.By == by {
			return r
		}
	}
	return Reservation{Planned: new(accountant.Ledger)}
}
