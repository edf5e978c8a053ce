package answer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// script is a journal, a budget and a question that write down what happened.
type script struct {
	ledger  accountant.Ledger
	steps   []string
	refuse  bool
	failing error // of the journal
}

func (s *script) Begin(step int, e accountant.Event) func() error {
	s.steps = append(s.steps, fmt.Sprintf("event %d begun", step))
	return func() error {
		if s.failing != nil {
			return s.failing
		}
		s.steps = append(s.steps, "event durable")
		return s.ledger.Add(e, 1)
	}
}

func (s *script) Ledger() *accountant.Ledger { return s.ledger.Clone() }

func (s *script) budget(spent *accountant.Ledger, next accountant.Event) (bool, error) {
	s.steps = append(s.steps, fmt.Sprintf("budget asked with %d and %v", spent.Count(), next))
	return !s.refuse, nil
}

func (s *script) question() Question[int] {
	return Question[int]{accountant.Gaussian{NoiseMultiplier: 2}, func(*random.Source) int {
		s.steps = append(s.steps, "noise drawn")
		return 7
	}}
}

// Budget, durable event, noise, for every answer anew.
func TestAskInOrder(t *testing.T) {
	s := new(script)
	desk := NewDesk(s, s.budget)
	for range 2 {
		if n, err := Ask(desk, s.question()); n != 7 || err != nil {
			t.Fatalf("answer %v, %v", n, err)
		}
	}
	want := []string{
		"budget asked with 0 and Gaussian(σ=2)", "event 1 begun", "event durable", "noise drawn",
		"budget asked with 1 and Gaussian(σ=2)", "event 2 begun", "event durable", "noise drawn",
	}
	if !slices.Equal(s.steps, want) {
		t.Errorf("steps %q, expected %q", s.steps, want)
	}
	if entries := s.ledger.Entries(); len(entries) != 1 || entries[0] != (accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: 2}, Count: 2}) {
		t.Errorf("ledger %v", entries)
	}
}

// No noise is drawn after an error of the budget, of the journal, or of the event.
func TestNothingIsDrawnAfterAnError(t *testing.T) {
	broken := errors.New("the disk is full")
	for name, c := range map[string]struct {
		script script
		event  accountant.Event
		want   error
	}{
		"budget":  {script{refuse: true}, accountant.Gaussian{NoiseMultiplier: 2}, release.ErrBudget},
		"journal": {script{failing: broken}, accountant.Gaussian{NoiseMultiplier: 2}, broken},
		"event":   {script{}, accountant.Gaussian{NoiseMultiplier: math.NaN()}, accountant.ErrInvalid},
		"none":    {script{}, nil, accountant.ErrInvalid},
	} {
		s := c.script
		q := Question[int]{c.event, s.question().draw}
		if n, err := Ask(NewDesk(&s, s.budget), q); n != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: answer %v, %v, expected %v", name, n, err, c.want)
		}
		if slices.Contains(s.steps, "noise drawn") || s.ledger.Count() != 0 {
			t.Errorf("%s: %q", name, s.steps)
		}
	}
	if _, err := Ask(NewDesk(new(script), nil), Question[int]{}); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("no question at all: %v", err)
	}
}

// Answers to one question are drawn independently.
func TestAskedTwiceIsDrawnTwice(t *testing.T) {
	q := must(Gaussian(must(NewTotal([]int64{1, 2}, 0, 5)), 1e6))
	desk := NewDesk(new(script), nil)
	seen := map[int64]bool{}
	for range 20 {
		seen[must(Ask(desk, q))[0]] = true
	}
	if len(seen) < 19 { // two of 20 are equal with a chance of 2e-5
		t.Errorf("20 answers with noise of 5e6 have %d values", len(seen))
	}
}
