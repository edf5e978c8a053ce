package checkpoints_test

import (
	"fmt"
	"os"
	"path/filepath"

	"dpsgd/checkpoints"
)

func Example_model() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	weights := []checkpoints.Tensor{
		{Name: "fc.weight", Shape: []int{1, 2}, Data: []float32{0.5, -0.25}},
		{Name: "fc.bias", Shape: []int{1}, Data: []float32{0}},
	}
	if err := checkpoints.WriteModel(path, weights, map[string]string{"epsilon": "2.99"}); err != nil {
		panic(err)
	}
	tensors, metadata, err := checkpoints.ReadModel(path)
	if err != nil {
		panic(err)
	}
	for _, t := range tensors {
		fmt.Println(t.Name, t.Shape, t.Data)
	}
	fmt.Println(metadata)
	// Output:
	// fc.weight [1 2] [0.5 -0.25]
	// fc.bias [1] [0]
	// map[epsilon:2.99]
}
