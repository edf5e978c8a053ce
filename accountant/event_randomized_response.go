package accountant

import (
	"fmt"
	"math"
)

// RandomizedResponse is the release of one record's answer among Buckets possible ones, replaced
// with probability NoiseProbability by an answer drawn uniformly from all of them. It is defined
// for ReplaceOne. A NoiseProbability of 0 gives no privacy.
type RandomizedResponse struct {
	NoiseProbability float64
	Buckets          int
}

// Epsilon returns the logarithm of the odds of the truth against one other answer, +Inf without
// noise: e is (Epsilon, 0)-differentially private under ReplaceOne.
func (e RandomizedResponse) Epsilon() float64 {
	p := e.NoiseProbability
	return math.Log1p(float64(e.Buckets) * (1 - p) / p)
}

func (e RandomizedResponse) String() string {
	return fmt.Sprintf("RandomizedResponse(p=%v, k=%d)", e.NoiseProbability, e.Buckets)
}

func (e RandomizedResponse) simplest() (Event, error) {
	if e.Buckets == 1 || e.NoiseProbability == 1 {
		return nil, nil // the answer says nothing
	}
	return nonPrivateIf(e.NoiseProbability == 0, e)
}

func (RandomizedResponse) relation() Relation { return ReplaceOne }

// seenBy returns size releases of e: every record gives its own answer.
func (e RandomizedResponse) seenBy(size int) (Event, error) { return SelfComposed{e, size}, nil }

func (e *RandomizedResponse) parameters() []parameter {
	return []parameter{
		within("noise_probability", &e.NoiseProbability, probability),
		within("buckets", &e.Buckets, atLeast(1)),
	}
}
