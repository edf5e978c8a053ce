package data_test

import (
	"fmt"
	"os"
	"path/filepath"

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
	labels := make([]float32, len(batch))
	batcher.Fill(x, labels, batch)
	// The expected size is 200 with a standard deviation of 14: seven of them are
	// exceeded once in 10^10 runs.
	fmt.Println(shape, "about 200:", len(batch) > 100 && len(batch) < 300)
	// Output: 28x28x1 about 200: true
}

// A table of a person's own: everything but the numbers is declared.
func ExampleLoad_table() {
	folder, err := os.MkdirTemp("", "table")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	for part, content := range map[string]string{
		"train": "id,age,pay,sick\n1,40,30000,no\n2,62,18000,yes\n3,35,25000,no\n",
		"test":  "age,pay,sick\n50,20000,yes\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, part+".csv"), []byte(content), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	source, err := data.Load(data.Spec{Table: folder, Columns: []string{"age", "pay"}, Label: "sick", Classes: []string{"no", "yes"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	batcher, err := data.NewBatcher(source.Train, data.Normalisation{Mean: []float64{40, 30000}, Std: []float64{20, 10000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, labels := make([]float32, 2*2), make([]float32, 2)
	batcher.Fill(x, labels, []int{1, 2})
	fmt.Println(batcher.Shape(), x, labels)
	// Output: 2 columns [1.1 -1.2 -0.25 -0.5] [1 0]
}

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

// alternating are examples of two classes in turn.
type alternating int

func (n alternating) Len() int        { return int(n) }
func (alternating) Classes() []string { return []string{"even", "odd"} }
func (alternating) Label(i int) int   { return i % 2 }

// A Dirichlet split with a small α gives most clients examples of one class.
func ExampleClientSplit_Spread() {
	r := data.NoClients()
	r.Clients, r.Split, r.Alpha = 50, data.Dirichlet, 0.05
	own, err := r.Spread(alternating(1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	oneSided := 0
	for _, examples := range own {
		odd := 0
		for _, i := range examples {
			odd += i % 2
		}
		if odd < 2 || odd > len(examples)-2 {
			oneSided++
		}
	}
	fmt.Println("examples of a client:", len(own[0]))
	fmt.Println("most clients have one class:", oneSided > 25)
	// Output:
	// examples of a client: 20
	// most clients have one class: true
}
