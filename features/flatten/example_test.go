package flatten_test

import (
	"fmt"
	"math/rand/v2"

	"dpsgd/features/flatten"
	"dpsgd/internal/kernel"
)

// Of rows that vary ten times as much along their first column as along any other, less lies along
// that once the first direction is flattened down to the second.
func Example() {
	normals := rand.New(rand.NewPCG(1, 0))
	draw := func(n int) []float32 {
		rows := make([]float32, 4*n)
		for i := range rows {
			rows[i] = float32(normals.NormFloat64())
			if i%4 == 0 {
				rows[i] *= 10
			}
		}
		return rows
	}
	pool := kernel.NewPool(2)
	defer pool.Close()

	// One channel on a grid of four positions: one scale for all, so the columns stay unequal.
	layout := []flatten.Block{{Channels: 1, Positions: 4}}
	for _, k := range []int{0, 2} {
		f, err := flatten.Fit(draw(500), 500, flatten.Options{Blocks: layout, Directions: k}, pool)
		if err != nil {
			fmt.Println(err)
			return
		}
		rows := draw(1000)
		f.Apply(rows, pool)
		squares := 0.0
		for i := 0; i < len(rows); i += 4 {
			squares += float64(rows[i]) * float64(rows[i]) / 1000
		}
		fmt.Printf("%d directions: %.1f of a row's square lies in its first column\n", k, squares)
	}
	// Output:
	// 0 directions: 0.8 of a row's square lies in its first column
	// 2 directions: 0.6 of a row's square lies in its first column
}
