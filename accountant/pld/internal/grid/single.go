package grid

import "dpsgd/accountant/internal/pair"

// single returns the pair if only one release is composed: its δ(ε) is in its tails and
// needs no grid.
func single(parts []Part) (p pair.Pair, ok bool) {
	n := 0
	for _, part := range parts {
		if part.Count > 0 {
			p = part.Pair
			n += part.Count
		}
	}
	return p, n == 1
}
