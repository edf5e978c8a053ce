package data_test

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/internal/random"
)

// From a set to the input of one step: draw a batch, fill the network's input.
func Example() {
	source, err := data.Load(data.Spec{Name: "digits"})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Public constants, not statistics of the pictures.
	batcher, err := data.NewBatcher(source.Train, data.Normalisation{Mean: []float64{0.1}, Std: []float64{0.25}})
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler := data.Poisson{SamplingProbability: 0.01}
	batch := sampler.Sample(nil, source.Train.Len(), random.New())

	shape := batcher.Shape()
	x := make([]float32, len(batch)*shape.Values())
	labels := make([]int32, len(batch))
	batcher.Fill(x, labels, batch)
	// The expected size is 200 with a standard deviation of 14: five of them are
	// exceeded once in a million runs.
	fmt.Println(shape, "about 200:", len(batch) > 130 && len(batch) < 270)
	// Output: 28x28x1 about 200: true
}
