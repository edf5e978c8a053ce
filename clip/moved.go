package clip

import "math/big"

// Moved compares two sums on the lattice l, in its units: it returns the L2 norm of their difference
// as a share of the bound, and whether it is at most the bound, by exact arithmetic. Sums of
// neighbouring sets of examples are within: the guarantee of the package.
func Moved(l Lattice, with, without []int64) (share float64, within bool) {
	square, d := new(big.Int), new(big.Int)
	for i := range with {
		d.SetInt64(with[i] - without[i])
		square.Add(square, d.Mul(d, d))
	}
	limit, _ := new(big.Float).SetFloat64(l.Bound / l.Spacing).Rat(nil)
	limit.Mul(limit, limit)
	length, _ := new(big.Float).Sqrt(new(big.Float).SetInt(square)).Float64()
	return length * l.Spacing / l.Bound, new(big.Rat).SetInt(square).Cmp(limit) <= 0
}
