package theorems

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

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
