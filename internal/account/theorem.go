package account

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
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

// parallel returns the theorem of composition on disjoint parts of the data: the largest ε of all.
func parallel() Theorem {
	return Theorem{
		Name: "parallel",
		Usage: "one of several mechanisms on disjoint parts of the data: sampling_probability, noise_multiplier, steps; once for each part. " +
			"Which part a record is in may depend on that record alone",
		Many: true,
		keys: []string{keyProbability, keyNoise, keySteps, keyPhases, keyLedger},
		view: []string{keyAccountant, keyRelation},
		answer: func(a *Answerer, f fields, q Question) (Cost, error) {
			if err := q.under("a record that is replaced may leave one part and join another, and touches both", accountant.ZeroOut, accountant.AddOrRemoveOne); err != nil {
				return Cost{}, err
			}
			releases := f.object
			if f.Get(keyPhases) == nil && f.Get(keyLedger) == nil { // one phase
				phase, err := releases.MarshalJSON()
				if err != nil {
					return Cost{}, err
				}
				releases = object{{Key: keyPhases, Value: fmt.Appendf(nil, "[%s]", phase)}}
			} else if len(releases) > 1 {
				return Cost{}, fmt.Errorf("found %q with %d other keys, expected phases or a ledger alone", releases[0].Key, len(releases)-1)
			}
			if err := (&Lines{Unknown: Epsilon}).readReleases(releases, &q); err != nil {
				return Cost{}, err
			}
			c, err := a.Answer(q)
			c.Of, c.Steps, c.SamplingProbability, c.NoiseMultiplier = "{} mechanisms, each on its own part of the data", nil, 0, 0
			of := "that record or its place"
			if q.Relation == accountant.AddOrRemoveOne {
				of = "that record" // places are no more the same
			}
			c.Method = fmt.Sprintf("parallel composition (McSherry 2009, Theorem 4): the largest ε of the parts, which is by %s; assumed: a record is in one part, which follows from %s alone", c.Method, of)
			return c, err
		},
	}
}

// shuffle returns the theorem of amplification by shuffling.
func shuffle() Theorem {
	return Theorem{
		Name: "shuffle",
		Usage: "local reports whose order is forgotten: local_epsilon of each, reports (their number), and buckets, if each is the randomised " +
			"response among so many",
		keys: []string{"local_epsilon", "reports", "buckets"},
		view: []string{keyRelation},
		answer: func(_ *Answerer, f fields, q Question) (Cost, error) {
			if err := q.under("the theorem is about a report in the place of another; it covers an empty place for which a report of a fixed value stands", accountant.ReplaceOne); err != nil {
				return Cost{}, err
			}
			local, reports := f.needed("local_epsilon", "a number of at least 0"), f.count("reports")
			buckets := f.Get("buckets") != nil
			k := f.whole("buckets", MostSteps, 2)
			if f.err != nil {
				return Cost{}, f.err
			}
			start := time.Now()
			c := Cost{
				Delta: q.Delta, Relation: q.Relation.String(), Of: fmt.Sprintf("%d reports in an order that nobody knows, each of them %v-private", reports, local),
				Method: "amplification by shuffling (Feldman, McMillan, Talwar 2021, Theorem III.2, by numbers); assumed: records are randomised apart from each other, and whoever shuffles sees to it that no report is told from another but by what it says",
			}
			var err error
			if !buckets {
				c.Epsilon, err = theorems.Shuffle(local, reports, q.Delta)
			} else {
				c.Epsilon, err = theorems.ShuffleResponse(local, k, reports, q.Delta)
				c.Method = fmt.Sprintf("shuffled randomised response among %d buckets, with the attacker knowing who answered at random (Balle, Bell, Gascón, Nissim 2019); assumed: all records use it, and nobody tells reports apart but by what they say", k)
			}
			c.Upper, c.Seconds = c.Epsilon, time.Since(start).Seconds()
			return c, err
		},
	}
}

// iteration returns the theorem of amplification by iteration.
func iteration() Theorem {
	return Theorem{
		Name: "iteration",
		Usage: "projected noisy SGD on convex losses in a fixed order, its last iterate alone published: noise_multiplier, passes, batches " +
			"(of a pass), learning_rate, smoothness; with the diameter of the set also lipschitz and batch_size",
		keys: []string{keyNoise, "passes", "batches", "learning_rate", "smoothness", "diameter", "lipschitz", "batch_size"},
		view: []string{keyAccountant, keyRelation},
		answer: func(a *Answerer, f fields, q Question) (Cost, error) {
			if err := q.under("where records move up, the batches of all others change", accountant.ZeroOut, accountant.ReplaceOne); err != nil {
				return Cost{}, err
			}
			l := theorems.LastIterate{
				NoiseMultiplier: f.above(keyNoise),
				Passes:          f.count("passes"), Batches: f.count("batches"), Reach: math.Inf(1),
			}
			rate := f.above("learning_rate")
			if smoothness := f.above("smoothness"); rate*smoothness > 2 {
				f.failf(`found "learning_rate" · "smoothness" = %g, expected at most 2: beyond, a step may move two models apart, and no theorem covers it`, rate*smoothness)
			}
			bounded := f.Get("diameter") != nil
			if bounded {
				l.Reach = f.above("diameter") * f.above("batch_size") / (rate * f.above("lipschitz"))
			} else if f.Get("lipschitz") != nil || f.Get("batch_size") != nil {
				f.failf(`found "lipschitz" or "batch_size" without "diameter", expected all three or none`)
			}
			if f.err != nil {
				return Cost{}, f.err
			}
			rho, err := l.Rho(q.Relation.Sensitivity())
			if err != nil {
				return Cost{}, err
			}
			if q.Ledger, err = new(accountant.Ledger).With(accountant.ZCDP{Rho: rho}, 1); err != nil {
				return Cost{}, err
			}
			if !q.named {
				q.Accountant = RDP // of this event no more is known
			}
			c, err := a.Answer(q)
			c.Of = fmt.Sprintf("the last iterate of %d passes of %d batches", l.Passes, l.Batches)
			c.Method = fmt.Sprintf("amplification by iteration (Feldman, Mironov, Talwar, Thakurta 2018, Theorem 22): Rényi divergence at most %.6g·α; %s; "+
				"assumed: every loss is convex, Lipschitz and smooth as said, no gradient is clipped, each pass has the same batches, and nothing of earlier iterates is published", rho, c.Method)
			if bounded {
				c.Method += "; every iterate is projected to the set (Altschuler, Talwar 2022)"
			}
			return c, err
		},
	}
}
