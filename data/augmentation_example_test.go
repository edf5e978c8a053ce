package data_test

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/internal/random"
)

// Four views of a picture of one line, at step 0, as the eighth example of its set.
func Example_augmentation() {
	line := data.Shape{Height: 1, Width: 4, Channels: 1}
	views, err := data.NewViews(data.Augmentation{Views: 4, Flip: true}, line, random.ForTest(1)) // random.New() outside of tests
	if err != nil {
		fmt.Println(err)
		return
	}
	view := make([]float32, line.Values())
	for v := range views.PerExample() {
		views.Write(view, []float32{1, 2, 3, 4}, 0, 7, v)
		fmt.Println(view)
	}
	// Output:
	// [1 2 3 4]
	// [1 2 3 4]
	// [4 3 2 1]
	// [1 2 3 4]
}
