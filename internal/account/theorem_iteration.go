package account

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
)

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
			if q.Ledger, err = OneEntry(accountant.ZCDP{Rho: rho}, 1); err != nil {
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

// above reads a finite number above 0 that must be there.
func (f *fields) above(key string) float64 {
	x := f.needed(key, "a number above 0")
	if f.err == nil && !(x > 0 && !math.IsInf(x, 1)) {
		f.failf("found %q: %.40s, expected a number above 0", key, f.Get(key))
	}
	return x
}

// count reads a whole number of at least 1 that must be there.
func (f *fields) count(key string) int {
	f.needed(key, "a whole number")
	return f.whole(key, MostSteps, 1)
}
