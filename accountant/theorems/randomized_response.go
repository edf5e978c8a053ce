package theorems

import (
	"math"
)

// ResponseRenyi returns the Rényi divergence of order alpha, not rounded up, between two
// distributions of which one outcome is e^L times as likely under the first as under the second,
// another the other way round, and the rest equally likely. likeliest is the chance of the first
// outcome under the first. Loss and likeliest are above 0. The divergence is log(A)/(α-1), A being
// 1 plus the product of three positive numbers
//
//	likeliest (exp((α-1) L) - 1) (1 - exp(-α L)),
//
// so that no digit is lost where L is small.
func ResponseRenyi(loss, likeliest, alpha float64) float64 {
	factor := -likeliest * math.Expm1(-alpha*loss)
	if up := (alpha - 1) * loss; up < 700 {
		return math.Log1p(factor*math.Expm1(up)) / (alpha - 1)
	}
	// The 1 is below 1e-280 of the rest: likeliest is the chance of one of at most 2^53 answers.
	return loss + math.Log(factor)/(alpha-1)
}
