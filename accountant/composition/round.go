package composition

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// afterDeltas returns 1 - (1-delta)·Π(1-δᵢ)^kᵢ for logKeep = Σ kᵢ log(1-δᵢ), the
// form in which composition theorems join deltas, rounded up.
func afterDeltas(logKeep, delta float64) float64 {
	if delta == 0 && logKeep == 0 {
		return 0
	}
	return math.Min(1, numeric.Up(-math.Expm1(logKeep+math.Log1p(-delta)), 8))
}

// beforeDeltas is the inverse in delta: what is left of a total delta for the
// epsilons to use, rounded down. It is negative if the total is below what the
// δᵢ alone cost.
func beforeDeltas(logKeep, total float64) float64 {
	if logKeep == 0 {
		return total
	}
	left := -math.Expm1(math.Log1p(-total) - logKeep)
	return left - 8*numeric.Ulp*total
}
