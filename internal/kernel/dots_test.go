package kernel

import "testing"

// TestDotsAgreeWithPortable computes every shape that begins, fills and leaves tiles, and compares
// with the portable twin. What lies between the rows of C must not change, and an element must be
// the same bit for bit when it is computed alone: a row of a product does not depend on how many
// others there are.
func TestDotsAgreeWithPortable(t *testing.T) {
	const k, gap = 3 * dotLanes, 2
	onEachKernelSet(t, func(t *testing.T) {
		for rows := 1; rows <= 9; rows++ {
			for cols := 1; cols <= mostDots; cols++ {
				a, b := randoms(1, rows*(k+1)), randoms(2, cols*(k+gap))
				got, want := randoms(3, rows*(cols+gap)), randoms(3, rows*(cols+gap))
				active.dots(got, cols+gap, rows, cols, k, a, k+1, b, k+gap)
				portableDots(want, cols+gap, rows, cols, k, a, k+1, b, k+gap)
				checkClose(t, "products of rows", got, toFloat64(want), 1e-5)
				for i := range rows {
					for j := range cols {
						var alone [1]float32
						active.dots(alone[:], 1, 1, 1, k, a[i*(k+1):], k, b[j*(k+gap):], k)
						if alone[0] != got[i*(cols+gap)+j] {
							t.Fatalf("%d×%d: C[%d][%d] is %v, and %v alone", rows, cols, i, j, got[i*(cols+gap)+j], alone[0])
						}
					}
				}
			}
		}
	})
}
