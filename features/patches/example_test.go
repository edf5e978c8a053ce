package patches_test

import (
	"fmt"
	"log"

	"dpsgd/data"
	"dpsgd/features/drawn"
	"dpsgd/features/patches"
)

func Example() {
	shape := data.Shape{Height: 16, Width: 16, Channels: 3}
	pictures, err := drawn.Draw(drawn.Leaves, 50, shape, 7, nil)
	if err != nil {
		log.Fatal(err)
	}
	options := patches.Options{Filters: 24, Size: 6, Pooling: 2, Scale: 1}
	p, err := patches.New(options, shape, pictures, 7)
	if err != nil {
		log.Fatal(err)
	}
	features := make([]float32, p.Width())
	p.Extractor()(features, pictures.At(0))
	fmt.Println(len(features), "features of", shape.Values(), "values")
	// Output: 192 features of 768 values
}
