package accountant_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

func TestLedgerCountsEqualNeighboursTogether(t *testing.T) {
	a, b := accountant.PoissonSampled{0.01, accountant.Gaussian{1}}, accountant.PoissonSampled{0.01, accountant.Gaussian{2}}
	l := accounttest.Ledger(t, accountant.Entry{a, 1}, accountant.Entry{a, 2}, accountant.Entry{b, 1}, accountant.Entry{b, 0}, accountant.Entry{a, 4})
	want := []accountant.Entry{{a, 3}, {b, 1}, {a, 4}}
	if got := l.Entries(); !reflect.DeepEqual(got, want) {
		t.Errorf("entries %v, want %v", got, want)
	}
	if l.Count() != 8 {
		t.Errorf("count %d, want 8", l.Count())
	}
}

// What another run released comes behind, whole; its turns come as one composition.
func TestJoinTakesEveryEntry(t *testing.T) {
	a, turns := accountant.Gaussian{1}, accountant.CyclicSampled{4, accountant.PoissonSampled{0.01, accountant.Gaussian{2}}}
	l := accounttest.Ledger(t, accountant.Entry{a, 3})
	tiny.Check(t, l.Join(accounttest.Ledger(t, accountant.Entry{turns, 5}, accountant.Entry{a, 2}, accountant.Entry{turns, 1})))
	want := []accountant.Entry{{a, 3}, {accountant.SelfComposed{turns, 5}, 1}, {a, 2}, {accountant.SelfComposed{turns, 1}, 1}}
	if got := l.Entries(); !reflect.DeepEqual(got, want) {
		t.Errorf("entries %v, want %v", got, want)
	}
}

// What is defined for ReplaceOne alone is accounted for under it, wherever in an event it stands.
func TestRelationOfTheWhole(t *testing.T) {
	fixed := accountant.FixedSizeSampled{9, 3, accountant.Gaussian{1}}
	for _, e := range []accountant.Event{fixed, accountant.RandomizedResponse{0.5, 3}, accountant.PoissonSampled{0.5, fixed}, accountant.SelfComposed{fixed, 2}, accounttest.Composed(t, accountant.Gaussian{1}, fixed), accountant.RepeatAndSelect{fixed, 2, 1}, accountant.CyclicSampled{2, fixed}} {
		if l := accounttest.Ledger(t, accountant.Entry{accountant.Gaussian{1}, 1}, accountant.Entry{e, 1}); accountant.RelationOf(e) != accountant.ReplaceOne || l.Relation() != accountant.ReplaceOne {
			t.Errorf("%v: found %v, in a ledger %v, expected %v", e, accountant.RelationOf(e), l.Relation(), accountant.ReplaceOne)
		}
	}
}

// SamplingProbability returns what WithSamplingProbability has set, also for an event of blocks.
func TestSamplingProbabilityIsTheOneThatWasSet(t *testing.T) {
	poisson := accountant.PoissonSampled{0.5, accountant.Gaussian{1}}
	for _, e := range []accountant.Event{poisson, accountant.CyclicSampled{4, poisson}, accountant.CyclicSampled{2, accountant.TruncatedPoissonSampled{99, 0.5, 9, accountant.Gaussian{1}}}} {
		set := tiny.Must(accountant.WithSamplingProbability(e, 0.125))(t)
		if found := accountant.SamplingProbability(set); found != 0.125 {
			t.Errorf("%v: set 0.125, found %v", e, found)
		}
	}
}

func TestLedgerRefusesAndStaysAsItWas(t *testing.T) {
	e := accountant.Gaussian{1}
	for _, tt := range []struct {
		name  string
		event accountant.Event
		count int
		want  string
	}{
		{"negative count", e, -1, "count of Gaussian(σ=1) is -1, must be at least 0"},
		{"overflow", e, math.MaxInt - 2, "overflow"},
		{"bad event", accountant.Gaussian{-1}, 1, "noise multiplier"},
		{"bad event, count 0", accountant.Gaussian{-1}, 0, "noise multiplier"},
		{"nil event", nil, 1, "nil"},
	} {
		l := accounttest.Ledger(t, accountant.Entry{e, 3})
		err := l.Add(tt.event, tt.count)
		if !errors.Is(err, accountant.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want ErrInvalid with %q", tt.name, err, tt.want)
		}
		if next, err := l.With(tt.event, tt.count); err == nil || next != nil {
			t.Errorf("%s: With gave %v, %v", tt.name, next, err)
		}
		if l.Count() != 3 || len(l.Entries()) != 1 {
			t.Errorf("%s: ledger changed to %v", tt.name, l.Entries())
		}
	}
}

// Asking about the next step must not book it: Opacus once changed its history in
// a getter (its pull request 541).
func TestCopiesAreIndependent(t *testing.T) {
	e := accountant.Gaussian{1}
	l := accounttest.Ledger(t, accountant.Entry{e, 3})
	next := tiny.Must(l.With(e, 1))(t)
	l.Entries()[0].Count = 99
	clone := l.Clone()
	tiny.Check(t, clone.Add(e, 5))
	if l.Count() != 3 || l.Entries()[0].Count != 3 || next.Count() != 4 || clone.Count() != 8 {
		t.Errorf("ledger %v, next %v, clone %v", l.Entries(), next.Entries(), clone.Entries())
	}
}

func TestLedgerJSON(t *testing.T) {
	l := accounttest.Ledger(t, accountant.Entry{accountant.PoissonSampled{0.01, accountant.Gaussian{1.1}}, 12}, accountant.Entry{accountant.NonPrivate{}, 1})
	want := `[{"event":{"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}},"count":12},` +
		`{"event":{"non_private":{}},"count":1}]`
	data, err := json.Marshal(l)
	if err != nil || string(data) != want {
		t.Fatalf("marshalled as %s, %v\nwant %s", data, err, want)
	}
	var back accountant.Ledger
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(&back, l) {
		t.Errorf("came back as %v, %v", back, err)
	}
	if data, err := json.Marshal(&accountant.Ledger{}); err != nil || string(data) != "[]" {
		t.Errorf("the empty ledger is %s, %v, want []", data, err)
	}
}

func TestLedgerJSONIsStrict(t *testing.T) {
	const g = `{"gaussian":{"noise_multiplier":1}}`
	for _, tt := range []struct{ text, want string }{
		{`{}`, "want a list"},
		{`null`, "want a list"},
		{`[null]`, "entry 0: accountant: invalid"},
		{`[{"event":` + g + `}]`, `key "count" is missing`},
		{`[{"event":` + g + `,"count":1,"note":""}]`, `unknown key "note"`},
		{`[{"event":` + g + `,"count":1,"count":2}]`, "twice, expected it once"},
		{`[{"event":` + g + `,"count":0}]`, "count is 0, want a whole number of at least 1"},
		{`[{"event":` + g + `,"count":-1}]`, "count is -1"},
		{`[{"event":` + g + `,"count":1.5}]`, "count is 1.5"},
		{`[{"event":` + g + `,"count":1e3}]`, "count is 1e3"},
		{`[{"event":` + g + `,"count":null}]`, "count is null"},
		{`[{"event":` + g + `,"count":9223372036854775808}]`, "count is 9223372036854775808"},
		{`[{"event":` + g + `,"count":9223372036854775807},{"event":` + g + `,"count":1}]`, "overflow"},
		{`[{"event":{"gaussian":{"noise_multiplier":-1}},"count":1}]`, "noise multiplier is -1"},
	} {
		l := accounttest.Ledger(t, accountant.Entry{accountant.Gaussian{7}, 7})
		err := json.Unmarshal([]byte(tt.text), l)
		if !errors.Is(err, accountant.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want ErrInvalid with %q", tt.text, err, tt.want)
		}
		if l.Count() != 7 {
			t.Errorf("%s: a failed read changed the ledger", tt.text)
		}
	}
}
