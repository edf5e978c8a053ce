package scattering_test

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/features/scattering"
)

// A vertical edge answers the wavelets of angle 0, whose waves run across it, more than others.
func Example() {
	shape := data.Shape{Height: 12, Width: 12, Channels: 1}
	s, err := scattering.New(shape)
	if err != nil {
		fmt.Println(err)
		return
	}
	picture := make([]float32, shape.Values())
	for i := range picture {
		if i%shape.Width >= 6 {
			picture[i] = 1
		}
	}
	features := make([]float32, s.Width())
	s.Extractor()(features, picture)

	const places, middle = 3 * 3, 4
	for t := range 8 {
		fmt.Printf("angle %d: %.2f\n", t, features[(9+t)*places+middle])
	}
	// Output:
	// angle 0: 0.18
	// angle 1: 0.11
	// angle 2: 0.05
	// angle 3: 0.02
	// angle 4: 0.00
	// angle 5: 0.02
	// angle 6: 0.05
	// angle 7: 0.11
}
