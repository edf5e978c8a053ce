package pate

import "dpsgd/internal/random"

// partition deals the indices of n examples to teachers: every one to one teacher, and the parts
// differ in size by at most 1. It is a function of public numbers alone, so that an example whose place is
// empty changes one part, and no other.
func partition(n, teachers int, seed uint64) [][]int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	src := random.Seeded(seed)
	for i := n - 1; i > 0; i-- { // Fisher and Yates; nothing rests on its law
		j := int(src.Uint64() % uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	parts := make([][]int, teachers)
	for k := range parts {
		parts[k] = order[k*n/teachers : (k+1)*n/teachers]
	}
	return parts
}
