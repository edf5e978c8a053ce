package rdp_test

import (
	"fmt"
	"log"

	"dpsgd/accountant"
	"dpsgd/accountant/rdp"
)

// Releases whose noise is chosen as one goes, within a budget that was fixed before.
func ExampleFilter() {
	budget := accountant.Guarantee{Epsilon: 1, Delta: 1e-5, Relation: accountant.AddOrRemoveOne}
	filter, err := rdp.NewFilter(budget, rdp.FilterOrders())
	if err != nil {
		log.Fatal(err)
	}
	for _, sigma := range []float64{12, 8, 4, 16} { // looked at the outputs, then chose
		ok, err := filter.Spend(accountant.Gaussian{NoiseMultiplier: sigma}, 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("σ = %v: %v\n", sigma, ok)
	}
	// Output:
	// σ = 12: true
	// σ = 8: true
	// σ = 4: false
	// σ = 16: true
}
