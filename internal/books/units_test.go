package books

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
)

var (
	labelled = checkpoints.Unit{Kind: checkpoints.Label}
	examples = checkpoints.Unit{Kind: checkpoints.Example}
	unsaid   = checkpoints.Unit{} // of an earlier version
)

// registerPets makes a folder of runs on the data "labels of pets", one of each unit, of which each
// releases so often as its place says.
func registerPets(t *testing.T, registry string, units ...checkpoints.Unit) {
	t.Helper()
	for i, unit := range units {
		path := string(rune('a' + i))
		r := registered(path)
		r.Data = checkpoints.Data{Name: "labels of pets", Examples: 300, Unit: unit}
		b := begun(t, registry, r)
		for step := range i + 1 {
			must(0, b.Append(step+1, gradient))
		}
		must(0, b.Close())
	}
}

// petTotals is ε of each total of such a folder, by its unit.
func petTotals(t *testing.T, units ...checkpoints.Unit) map[checkpoints.Unit]Total {
	t.Helper()
	registry := t.TempDir()
	registerPets(t, registry, units...)
	shown := must(Show(registry))
	totals := map[checkpoints.Unit]Total{}
	for _, total := range shown.Datasets {
		totals[total.Data.Unit] = total
	}
	if len(totals) != len(shown.Datasets) {
		t.Fatalf("found %+v, expected one total for each unit", shown.Datasets)
	}
	return totals
}

// Examples of a folder that is called "labels of pets" are not the labels of "pets". A run of an
// earlier version, which said neither, counts in the totals of both, and so does one whose unit was
// deleted: no total becomes smaller.
func TestFolderNamedAsLabels(t *testing.T) {
	for _, test := range []struct {
		units []checkpoints.Unit
		runs  map[checkpoints.Unit]int
	}{
		{[]checkpoints.Unit{labelled, examples, labelled}, map[checkpoints.Unit]int{labelled: 2, examples: 1}},
		{[]checkpoints.Unit{unsaid, labelled, examples}, map[checkpoints.Unit]int{labelled: 2, examples: 2}},
		{[]checkpoints.Unit{labelled, unsaid}, map[checkpoints.Unit]int{labelled: 2}},
		{[]checkpoints.Unit{unsaid, unsaid}, map[checkpoints.Unit]int{unsaid: 2}},
	} {
		totals := petTotals(t, test.units...)
		if len(totals) != len(test.runs) {
			t.Fatalf("%v: found %+v, expected totals of %v", test.units, totals, test.runs)
		}
		for unit, runs := range test.runs {
			if len(totals[unit].Runs) != runs {
				t.Errorf("%v: found the runs %+v for %v, expected %d", test.units, totals[unit].Runs, unit, runs)
			}
		}
		for i := range test.units {
			edited := append([]checkpoints.Unit(nil), test.units...)
			edited[i] = unsaid
			after := petTotals(t, edited...)
			for unit, before := range totals {
				total, ok := after[unit]
				for _, other := range after {
					if !ok && other.Epsilon > total.Epsilon { // its runs are all in another one now
						total = other
					}
				}
				if total.Epsilon < before.Epsilon || total.Fixed.Epsilon < before.Fixed.Epsilon {
					t.Errorf("%v without unit %d: found ε %g for %v, expected at least %g", test.units, i, total.Epsilon, unit, before.Epsilon)
				}
			}
		}
	}
}

// A run whose two ledgers say different units counts with every unit.
func TestUnitsThatDiffer(t *testing.T) {
	own, shared := member(t, stripes, 1e-5, gradient), member(t, stripes, 1e-5, gradient)
	own.Data.Unit, shared.Data.Unit = labelled, examples
	k := Known{DatasetsInfo: checkpoints.DatasetsInfo{Members: []checkpoints.Member{own}}}
	k.addShared(checkpoints.DatasetsInfo{Members: []checkpoints.Member{shared}})
	if len(k.Members) != 1 || k.Members[0].Data.Unit.Known() {
		t.Errorf("found %+v, expected one run of no known unit", k.Members)
	}
	longer := own
	longer.Entries++
	for _, copies := range [][]Listed{{{Member: own}, {Member: longer}}, {{Member: longer}, {Member: own}}} {
		if found := Members(copies); len(found) != 1 || found[0].Entries != longer.Entries {
			t.Errorf("found %+v, expected the longer copy of one run", found)
		}
	}
}

// What a run says of others tells such a folder from the labels, too, and names what is known of
// both.
func TestTogetherOfUnits(t *testing.T) {
	d := func(name string, unit checkpoints.Unit) checkpoints.Data {
		return checkpoints.Data{Name: name, Examples: 300, Unit: unit}
	}
	self := member(t, d("labels of pets", labelled), 1e-5, gradient)
	for _, test := range []struct {
		other  checkpoints.Data
		runs   int
		beside bool
	}{
		{d("labels of pets", examples), 0, false},
		{d("labels of pets", unsaid), 2, false},
		{d("pets", examples), 0, true},
		{d("pets", unsaid), 0, true},
		{d("persons of pets", unsaid), 0, true},
		{d("persons by who of pets", checkpoints.Unit{Kind: checkpoints.Person, By: "who"}), 0, true},
	} {
		got, err := together([]checkpoints.Member{member(t, test.other, 1e-5, gradient), self}, self.Data)
		if err != nil || got.DatasetRuns != test.runs || (got.DatasetOthers != "") != test.beside {
			t.Errorf("beside %+v: found %+v (%v), expected %d runs together, others: %t", test.other, got, err, test.runs, test.beside)
		}
	}
}

// A limit with a unit leaves the other unit alone; one without, as the command sets it and earlier
// versions did, is for the name. An entry without a unit counts under every limit of its name.
func TestLimitOfUnit(t *testing.T) {
	registry := t.TempDir()
	under := func(unit checkpoints.Unit) checkpoints.Limit {
		return checkpoints.Limit{Subject: checkpoints.Subject{Data: "labels of pets", Unit: unit}, Epsilon: 5, Delta: 1e-5}
	}
	must(SetLimit(registry, under(labelled)))
	lower := under(unsaid)
	lower.Epsilon = 4
	if s, err := SetLimit(registry, lower); err != nil || s.Unit != labelled {
		t.Fatalf("found %+v (%v), expected the limit of labels, lowered", s, err)
	}
	registerPets(t, registry, examples)
	if states, err := Limits(registry); err != nil || len(states) != 1 || states[0].Spent != 0 {
		t.Fatalf("found %+v (%v), expected that examples use nothing of the limit of labels", states, err)
	}
	if _, err := SetLimit(registry, under(examples)); err == nil {
		t.Error("examples got a limit after a release")
	}
	for _, unit := range []checkpoints.Unit{labelled, unsaid} {
		m := member(t, checkpoints.Data{Name: "labels of pets", Examples: 300, Unit: unit}, 1e-5, gradient)
		for _, l := range []checkpoints.Limit{under(labelled), under(unsaid)} {
			known := Known{dir: registry, DatasetsInfo: checkpoints.DatasetsInfo{Members: []checkpoints.Member{m}, Limits: []checkpoints.Limit{l}}}
			if s, err := known.state(l); err != nil || s.Spent == 0 {
				t.Errorf("a run with %+v uses %g (%v) of %+v, expected more", unit, s.Spent, err, l)
			}
		}
	}
	known := Known{DatasetsInfo: checkpoints.DatasetsInfo{Limits: []checkpoints.Limit{under(labelled), under(examples)}}}
	if l, ok := known.limitOf(under(examples).Subject); !ok || l != under(examples) || len(known.limitsOf(under(unsaid).Subject)) != 2 {
		t.Errorf("found %+v, expected the limit of examples", l)
	}
	several := t.TempDir()
	for _, unit := range []checkpoints.Unit{labelled, examples} {
		must(SetLimit(several, under(unit)))
	}
	if _, err := SetLimit(several, under(unsaid)); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "several units") {
		t.Errorf("found %v for a limit of one of two units, expected that the name alone does not tell which", err)
	}
}

// A run of an earlier version has the unit of its configuration where its plan was made of that,
// and only for the data that the configuration names.
func TestUnitOfEarlierRun(t *testing.T) {
	label, example := people(t, "privacy.unit=label"), people(t)
	text, edited := string(label.YAML()), string(example.YAML())
	plan, other := string(label.Identity()), string(example.Identity())
	for _, test := range []struct {
		config, plan, name string
		want               checkpoints.Unit
	}{
		{text, plan, "labels of people", labelled},
		{text, "", "labels of people", unsaid},
		{text, other, "labels of people", unsaid},
		{edited, plan, "labels of people", unsaid},
		{text, plan, "people", unsaid},
		{text, plan, "labels of others", unsaid},
		{edited, other, "people", examples},
		{edited, other, "labels of people", unsaid},
	} {
		dir := t.TempDir()
		for name, content := range map[string]string{folder.Config: test.config, folder.Plan: test.plan} {
			if content == "" {
				continue
			}
			must(0, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		if got := withUnit(dir, checkpoints.Data{Name: test.name}).Unit; got != test.want {
			t.Errorf("%+v: found %+v", test, got)
		}
	}
}
