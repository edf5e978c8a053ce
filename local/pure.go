package local

// pure is the estimator of a pure protocol (Wang, Blocki, Li, Jha 2017, section 3.1): a report
// supports some of the values, its own one with probability truth, and every other one with
// probability lie.
type pure struct {
	truth, lie float64
}

// score is the number that a report adds to a value, by equation (1) of the paper.
func (p pure) score(supported bool) float64 {
	if supported {
		return (1 - p.lie) / (p.truth - p.lie)
	}
	return -p.lie / (p.truth - p.lie)
}

// add adds the scores of a report that supports some of the values.
func (p pure) add(scores []float64, supports func(v int) bool) {
	zero, one := p.score(false), p.score(true)
	for v := range scores {
		if supports(v) {
			scores[v] += one
		} else {
			scores[v] += zero
		}
	}
}

// variance returns the variance of every count: the part of records with the value, and of those
// without it, by Theorem 2.
func (p pure) variance(counts []float64) []float64 {
	all := 0.0
	for _, c := range counts {
		all += c
	}
	out := make([]float64, len(counts))
	for v, c := range counts {
		out[v] = (c*p.truth*(1-p.truth) + (all-c)*p.lie*(1-p.lie)) / ((p.truth - p.lie) * (p.truth - p.lie))
	}
	return out
}
