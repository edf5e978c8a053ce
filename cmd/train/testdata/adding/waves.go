package data

import "math"

// The set "waves" is rows of two classes, drawn by the program.
var waves = Dataset{
	Name: "waves", Doc: "slow and fast waves", Drawn: true, Aliases: []string{"sines"},
	Shape: Row(8), Classes: []string{"slow", "fast"}, Train: 1000, Test: 200,
	Load: func(set *Dataset, _ string, seed uint64) (*Split, error) {
		return splitOf("", func(part int) (*Rows, error) {
			n := [2]int{set.Train, set.Test}[part]
			labels, values := make([]uint8, n), make([]float32, 0, 8*n)
			for i := range labels {
				labels[i] = uint8(i % 2)
				for x := range 8 {
					values = append(values, float32(math.Sin(float64(seed)+float64(i)+float64(x*(1+i%2)))))
				}
			}
			return NewRows(8, set.Classes, labels, values)
		})
	},
}
