package account

import (
	"fmt"
	"math"
	"time"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
)

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
