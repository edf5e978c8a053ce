package account

import (
	"fmt"

	"dpsgd/accountant"
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
