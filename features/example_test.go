package features_test

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/features"
)

// What a configuration says in its section features is a recipe: every picture becomes one row, by
// a function in which no other picture has a part.
func ExampleCompute() {
	shape := data.Shape{Height: 12, Width: 12, Channels: 1}
	pictures, err := data.NewImages(shape, []string{"dark", "bright"}, []uint8{0, 1}, make([]uint8, 2*shape.Values()))
	if err != nil {
		panic(err)
	}
	scattering, _ := features.Transforms().Named("scattering")
	recipe := features.Recipe{Transform: scattering.New(), Drawn: "strokes", Pictures: 20, Seed: 1, Directions: 5}
	rows, err := features.Compute(recipe, &data.Split{Name: "two", Train: pictures, Test: pictures}, features.Request{})
	if err != nil {
		panic(err)
	}
	fmt.Println(recipe)
	fmt.Println(rows.Train.Len(), "rows of", rows.Train.Shape())
	// Output:
	// scattering, groups 27, version 2; 20 strokes drawn from seed 1 by version 1 of the rules, 5 of their directions evened out
	// 2 rows of 729 columns
}
