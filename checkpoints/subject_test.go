package checkpoints

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/accountant"
)

// The last limit of a subject counts, and ends its first plan; the last reservation by a run
// counts, and an empty one gives it back. A limit without a unit, as earlier versions wrote, stands
// in the place of all with its name. One of another unit than its name says is refused.
func TestTermsOfSubjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "datasets.jsonl")
	must(0, os.WriteFile(path, NewDatasets(), 0o600))
	d := must(OpenDatasets(path))
	defer d.Close()
	plan := must(new(accountant.Ledger).With(event(1.1), 3))
	on := func(unit Unit) Subject { return Subject{"labels of pets", unit} }
	label, example := on(Unit{Kind: Label}), on(Unit{Kind: Example})
	put := func(terms Terms, limits, first, reserved int) {
		t.Helper()
		must(0, d.Put(func(DatasetsInfo) Terms { return terms }))
		for _, info := range []DatasetsInfo{d.Info(), must(ReadDatasets(path))} {
			if len(info.Limits) != limits || len(info.First) != first || len(info.Reserved) != reserved {
				t.Errorf("found %+v, expected %d limits, %d first plans and %d reservations", info, limits, first, reserved)
			}
		}
	}
	put(Terms{Limit: &Limit{label, 3, 1e-5}}, 1, 0, 0)
	put(Terms{Limit: &Limit{example, 5, 1e-5}, First: []First{{example, plan, 1e-6}, {label, plan, 1e-6}}}, 2, 2, 0)
	put(Terms{Reserve: []Reservation{{By: "a", Subject: label, Planned: plan}, {By: "b", Subject: example, Planned: plan}}}, 2, 2, 2)
	put(Terms{Reserve: []Reservation{{By: "a", Subject: label, Planned: new(accountant.Ledger)}}}, 2, 2, 1)
	put(Terms{Limit: &Limit{label, 2, 1e-5}}, 2, 1, 1)
	put(Terms{}, 2, 1, 1)
	put(Terms{Limit: &Limit{on(Unit{}), 1, 1e-5}}, 1, 0, 1)
	wrong := Subject{"pets", Unit{Kind: Label}}
	for _, terms := range []Terms{{Limit: &Limit{wrong, 1, 1e-5}}, {First: []First{{wrong, plan, 1e-6}}}, {Reserve: []Reservation{{By: "a", Subject: wrong, Planned: plan}}}} {
		line := must(json.Marshal(terms))
		if d.Put(func(DatasetsInfo) Terms { return terms }) == nil || new(book).addTerms(line[:len(line)-1]) == nil {
			t.Errorf("%s is written or read, expected a refusal of another unit than that in the name", line)
		}
	}
}

// Data are the same, or of the same examples, by name, unit and number; a unit that is not known
// may be any.
func TestSameData(t *testing.T) {
	of := func(name, kind string) Data { return Data{Name: name, Examples: 9, Unit: Unit{Kind: kind}} }
	for _, test := range []struct {
		a, b           Data
		same, examples bool
	}{
		{of("pets", Example), of("pets", Example), true, true},
		{of("pets", Example), of("labels of pets", Label), false, true},
		{of("labels of pets", Example), of("labels of pets", Label), false, false},
		{of("labels of pets", ""), of("labels of pets", Label), true, true},
		{of("labels of pets", ""), of("labels of pets", Example), true, true},
		{of("labels of pets", ""), of("pets", Example), false, true},
		{of("labels of B\u00fccher", Label), of("labels of Bu\u0308cher", Label), true, true},
		{of("cats", ""), of("pets", Example), false, false},
		{of("pets", Example), Data{Name: "pets", Examples: 8, Unit: Unit{Kind: Example}}, false, false},
	} {
		for _, pair := range [][2]Data{{test.a, test.b}, {test.b, test.a}} {
			if pair[0].Same(pair[1]) != test.same || pair[0].SameExamples(pair[1]) != test.examples {
				t.Errorf("%+v: found the same data %t, the same examples %t", pair, pair[0].Same(pair[1]), pair[0].SameExamples(pair[1]))
			}
		}
	}
}
