package drawn_test

import (
	"fmt"
	"log"

	"dpsgd/data"
	"dpsgd/features/drawn"
)

func Example() {
	shape := data.Shape{Height: 32, Width: 32, Channels: 3}
	pictures, err := drawn.Draw(drawn.Leaves, 12, shape, 7, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pictures.Count, "pictures of", len(pictures.At(0)), "values")
	fmt.Println("on a sheet of", pictures.Sheet(12).Bounds().Size(), "pixels")
	// Output:
	// 12 pictures of 3072 values
	// on a sheet of (134,100) pixels
}
