package data_test

import (
	"fmt"

	"dpsgd/data"
)

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
