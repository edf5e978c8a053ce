package votes_test

import (
	"fmt"

	"dpsgd/accountant/votes"
)

// What 200 answers cost where 245 of 250 teachers agree: for these votes, which nobody may be told,
// and for any.
func Example() {
	a := votes.Aggregation{Max: votes.GaussianMax{Sigma: 40}}
	these, any := a.NewAccount(), a.NewAccount()
	for range 200 {
		these.Add(votes.Question{Votes: []int{245, 5, 0, 0, 0, 0, 0, 0, 0, 0}})
	}
	any.AddLost(0, 200)
	dependent, _ := these.Epsilon(1e-5)
	independent, _ := any.Epsilon(1e-5)
	fmt.Printf("ε = %.2f for these votes, %.2f for any\n", dependent, independent)
	// Output: ε = 0.28 for these votes, 2.17 for any
}
