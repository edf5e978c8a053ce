package accountant

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// geometric is an event of a file of its own: a count plus two-sided geometric noise of ratio
// exp(-Epsilon), which is Epsilon-differentially private (Ghosh, Roughgarden, Sundararajan 2009).
type geometric struct{ Epsilon float64 }

func (e geometric) String() string              { return fmt.Sprintf("Geometric(ε=%v)", e.Epsilon) }
func (e geometric) seenBy(n int) (Event, error) { return geometric{float64(n) * e.Epsilon}, nil }

func (e *geometric) parameters() []parameter {
	return []parameter{within("epsilon", &e.Epsilon, atLeastZero)}
}

// Accountants know it as an event that they can analyse already.
func (e geometric) simplest() (Event, error) { return ApproxDP{Epsilon: e.Epsilon}, nil }

// A new event is its file and its row: ledgers store it, groups see it, and accountants that know
// what it simplifies to analyse it.
func TestEventOfOnesOwn(t *testing.T) {
	before := kinds
	kinds = append(kinds[:len(kinds):len(kinds)], kindNamed[geometric]("geometric"))
	t.Cleanup(func() { kinds = before })

	l := new(Ledger)
	if err := l.Add(geometric{0.5}, 3); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l)
	if err != nil || !strings.Contains(string(text), `{"geometric":{"epsilon":0.5}}`) {
		t.Fatalf("stored as %s (%v)", text, err)
	}
	var again Ledger
	if err := json.Unmarshal(text, &again); err != nil || again.Entries()[0] != (Entry{geometric{0.5}, 3}) {
		t.Errorf("read back as %v (%v)", again.Entries(), err)
	}
	if pairs, err := Group(l, 2); err != nil || pairs.Entries()[0].Event != (geometric{1}) {
		t.Errorf("two records that differ together see %v (%v)", pairs, err)
	}
	known, err := new(Ledger).With(ApproxDP{Epsilon: 0.5}, 3)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Simplify(l) // what every accountant begins with
	want, wantErr := Simplify(known)
	if err != nil || wantErr != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("accountants see %v (%v), expected %v (%v)", found, err, want, wantErr)
	}
	if err := l.Add(geometric{-1}, 1); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "epsilon is -1") {
		t.Errorf("a negative ε: %v", err)
	}
}
