package numeric

import "math"

// Group returns the (ε, δ), rounded up, that a mechanism has for a group of k records, if it is
// (epsilon, delta)-differentially private for one of them:
//
//	kε,  δ Σ_{i<k} e^{iε} = δ (e^{kε} - 1)/(e^ε - 1),
//
// the delta at most 1 (the proof of Lemma 2.2 in Vadhan 2017, "The Complexity of Differential
// Privacy").
func Group(epsilon, delta float64, k int) (groupEpsilon, groupDelta float64) {
	n := float64(k)
	groupEpsilon = MulUp(n, epsilon)
	switch {
	case k == 1:
		return epsilon, delta
	case delta == 0:
		return groupEpsilon, 0
	case epsilon == 0:
		return groupEpsilon, min(1, MulUp(n, delta))
	case math.IsInf(epsilon, 1):
		return groupEpsilon, 1
	}
	// e^{(k-1)ε} (1 - e^{-kε})/(1 - e^{-ε}) in logs: the first factor overflows.
	log := Log(delta) + (n-1)*epsilon + Log(math.Expm1(-n*epsilon)/math.Expm1(-epsilon))
	if log >= 0 {
		return groupEpsilon, 1
	}
	return groupEpsilon, min(1, Up(math.Exp(log), 16+4*(math.Abs(Log(delta))+n*epsilon)))
}
