package pair

import "dpsgd/accountant/internal/numeric"

// Truncation is about a Poisson sample of n records with probability q that is cut down to at most
// so many: the probability that the sample of the others is full, and the one that a record is
// then in the batch, both rounded up.
func Truncation(records int, q float64, atMost int) (full, stays float64) {
	full = numeric.Binomial{N: records - 1, P: q, Q: 1 - q}.Tail(atMost)
	if full == 0 {
		return 0, 0
	}
	others := numeric.Binomial{N: records, P: q, Q: 1 - q}
	longer, slack := others.Tail(atMost+1), 1+3*others.RelativeError() // of a quotient of two
	stays = longer * float64(atMost) / float64(records) / full
	return min(1, full*slack), min(1, stays*slack)
}
