package pair

import "dpsgd/accountant/internal/numeric"

// Truncation is about a Poisson sample of n records with probability q that is cut down to at most
// so many: the probability that the sample of the others is full, and the one that a record is
// then in the batch, both rounded up.
func Truncation(records int, q float64, atMost int) (full, stays float64) {
	const slack = 1 + 1e-12
	full = numeric.Binomial{N: records - 1, P: q, Q: 1 - q}.Tail(atMost)
	if full == 0 {
		return 0, 0
	}
	longer := numeric.Binomial{N: records, P: q, Q: 1 - q}.Tail(atMost + 1)
	stays = longer * float64(atMost) / float64(records) / full
	return min(1, full*slack), min(1, stays*slack)
}
