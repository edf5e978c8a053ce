package theorems_test

import (
	"fmt"
	"log"

	"dpsgd/accountant/theorems"
)

// Ten thousand people, each with a local epsilon of 1.
func ExampleShuffle() {
	epsilon, err := theorems.Shuffle(1, 10000, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", epsilon)
	// Output:
	// 0.053
}

// What is known of k-ary randomized response beyond what holds for every randomizer of the same
// local epsilon, when reports are shuffled: with two answers epsilon is 0.70 to 0.82 of that, with
// a hundred 0.14 to 0.40.
func ExampleShuffleResponse() {
	for _, people := range []struct {
		local float64
		n     int
	}{{1, 10_000}, {2, 100_000}, {4, 1_000_000}} {
		general, err := theorems.Shuffle(people.local, people.n, 1e-6)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("local ε %v, %d people: %.4f for all randomizers", people.local, people.n, general)
		for _, buckets := range []int{2, 10, 100} {
			response, err := theorems.ShuffleResponse(people.local, buckets, people.n, 1e-6)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf(", %.4f for %d answers", response, buckets)
		}
		fmt.Println()
	}
	// Output:
	// local ε 1, 10000 people: 0.0530 for all randomizers, 0.0432 for 2 answers, 0.0233 for 10 answers, 0.0072 for 100 answers
	// local ε 2, 100000 people: 0.0450 for all randomizers, 0.0332 for 2 answers, 0.0231 for 10 answers, 0.0084 for 100 answers
	// local ε 4, 1000000 people: 0.0493 for all randomizers, 0.0343 for 2 answers, 0.0319 for 10 answers, 0.0198 for 100 answers
}
