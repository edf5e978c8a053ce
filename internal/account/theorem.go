package account

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dpsgd/accountant"
)

// Theorem is a kind of question about ε that a theorem answers, from objects with keys of its own.
// The Method of the answer says the conditions of the theorem.
type Theorem struct {
	Name   string // its key in a line, and its flag
	Usage  string // of the flag
	Many   bool   // the key has a list of objects, the flag is repeated; else there is one object
	keys   []string
	view   []string // the keys of a View that a line may have: accountant, relation
	answer func(a *Answerer, o fields, q Question) (Cost, error)
}

// Theorems returns all of them, in the order in which a line is looked through for their names.
func Theorems() []Theorem { return []Theorem{parallel(), shuffle(), iteration()} }

// theoremIn returns the first theorem that a line names, nil if none.
func theoremIn(o object) *Theorem {
	for _, t := range Theorems() {
		if o.Get(t.Name) != nil {
			return &t
		}
	}
	return nil
}

// Ask answers a question of the command line. Each text, key=value,…, is one use of the flag;
// common holds the other keys of a line, such as delta.
func (t Theorem) Ask(a *Answerer, texts []string, common map[string]any) (Cost, error) {
	var list []object
	for _, text := range texts {
		var o object
		for _, pair := range strings.Split(text, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || value == "" {
				return Cost{}, fmt.Errorf("found %q in --%s, expected key=value,… with the keys %s", pair, t.Name, strings.Join(t.keys, ", "))
			}
			o = append(o, field{Key: strings.TrimSpace(key), Value: json.RawMessage(strings.TrimSpace(value))})
		}
		list = append(list, o)
	}
	if len(list) > 1 && !t.Many {
		return Cost{}, fmt.Errorf("found --%s %d times, expected it once", t.Name, len(list))
	}
	var line object
	for key, value := range common {
		line = append(line, jsonField(key, value))
	}
	c, err := t.ask(a, line, list)
	if err != nil {
		err = fmt.Errorf("--%s: %w", t.Name, err)
	}
	return c, err
}

// line answers the question of a line of a batch, of which t's key holds what t is about: one
// object, or a list of them if t.Many.
func (t Theorem) line(a *Answerer, o object) (Cost, error) {
	raw := o.Get(t.Name)
	texts := []json.RawMessage{raw}
	if t.Many {
		texts = nil
		if err := json.Unmarshal(raw, &texts); err != nil || len(texts) == 0 {
			return Cost{}, fmt.Errorf("found %q: %.40s, expected a list of at least one", t.Name, raw)
		}
	}
	var list []object
	for _, text := range texts {
		one, err := readObject(text)
		if err != nil {
			return Cost{}, fmt.Errorf("%s: %w", t.Name, err)
		}
		list = append(list, one)
	}
	return t.ask(a, o.Without(t.Name), list)
}

// ask answers for each object of the list, with the other keys of the line, and returns the answer
// of the largest ε. Only parallel composition has lists of more than one.
func (t Theorem) ask(a *Answerer, line object, list []object) (Cost, error) {
	f := fields{object: line}
	f.only(append(slices.Concat([]string{keyID, keyDelta}, t.view), t.Name))
	q := Question{Unknown: Epsilon, Delta: f.needed(keyDelta, "a number")}
	f.view(&q.View)
	q.named = f.Get(keyAccountant) != nil
	if f.Get(keyRelation) == nil {
		q.Relation = -1 // that of the theorem
	}
	if f.err != nil {
		return Cost{}, f.err
	}
	var worst Cost
	for i, o := range list {
		f := fields{object: o}
		f.only(t.keys)
		c, err := Cost{}, f.err
		if err == nil {
			c, err = t.answer(a, f, q)
		}
		if err != nil && t.Many {
			err = fmt.Errorf("part %d: %w", i+1, err)
		}
		if err != nil {
			return Cost{}, err
		}
		c.Lower = max(c.Lower, worst.Lower)
		if c.Epsilon >= worst.Epsilon {
			worst = c
		}
		worst.Lower = c.Lower
	}
	worst.Of = strings.Replace(worst.Of, "{}", fmt.Sprint(len(list)), 1)
	return worst, nil
}

// under refuses a relation of q that is not in holds, those of a theorem, and says why. A q without
// a relation gets holds[0].
func (q *Question) under(why string, holds ...accountant.Relation) error {
	if q.Relation == -1 {
		q.Relation = holds[0]
	}
	if !slices.Contains(holds, q.Relation) {
		var names []string
		for _, r := range holds {
			names = append(names, r.String())
		}
		return fmt.Errorf("found %q: %s, expected %s: %s", keyRelation, q.Relation, strings.Join(names, " or "), why)
	}
	return nil
}
