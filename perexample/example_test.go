package perexample_test

import (
	"fmt"

	"dpsgd/internal/graph"
	"dpsgd/perexample"

	"gorgonia.org/tensor"
)

// Norms and a weighted sum of the gradients of a dense layer's weight, for two examples at once.
func ExampleRule() {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 2, 3)
	dz := b.Input("dz", tensor.Float32, 2, 1)
	w := b.Input("w", tensor.Float32, 2)

	use := perexample.Use{Parameter: "weight", Rule: perexample.DenseWeight{In: 3, Out: 1}, Input: x}
	norms := perexample.NewBinding(b, use, dz, perexample.Ghost).SquaredNorms(b)
	sum := perexample.WeightedSum(b, use, dz, w)
	step, err := b.Compile(norms, sum)
	if err != nil {
		fmt.Println(err)
		return
	}

	// The gradients are dz·x: (2, 4, 4) and (0, 0, 30).
	copy(b.Values(x).Float32, []float32{1, 2, 2, 0, 0, 3})
	copy(b.Values(dz).Float32, []float32{2, 10})
	copy(b.Values(w).Float32, []float32{0.5, 0.1})
	step.RunAll()
	fmt.Println("squared norms:", step.Values(norms).Float64)
	fmt.Println("weighted sum: ", step.Values(sum).Float32)
	// Output:
	// squared norms: [36 900]
	// weighted sum:  [1 2 5]
}

// The planner stores the gradients of a layer where that is faster, and leaves the others unformed.
func ExampleChoose() {
	rules := []perexample.Rule{earlyConv, dense}
	const physicalBatchSize, budget = 64, 1 << 30
	for i, engine := range perexample.Choose(rules, physicalBatchSize, budget) {
		fmt.Printf("%d values: %v\n", rules[i].Size(), engine)
	}
	// Output:
	// 1024 values: materialise
	// 262144 values: ghost
}
