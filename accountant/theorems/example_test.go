package theorems_test

import (
	"fmt"
	"log"
	"math"

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

// The worked examples of a textbook, by its formulas and by the exact ones beside them.

// A mean with noise of deviation 1.5 that one record moves by at most 0.01: the classic formula of
// Dwork, Roth 2014, Theorem A.1, solved for ε, and the exact profile of Balle, Wang 2018.
func Example_gaussianNoiseOnAMean() {
	const std, sensitivity, delta = 1.5, 0.01, 1e-5
	classic := sensitivity / std * math.Sqrt(2*math.Log(1.25/delta))
	exact, err := theorems.GaussianEpsilon(std/sensitivity, delta)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ε = %.4f by the classic formula, %.4f exactly\n", classic, exact)
	// Output:
	// ε = 0.0323 by the classic formula, 0.0173 exactly
}

// A counting query, which one record moves by 1, at ε = 0.5: the deviation of Laplace noise, and of
// Gaussian noise at δ = 1e-5 by the classic calibration and by the exact one.
func Example_countingQuery() {
	const epsilon, delta = 0.5, 1e-5
	scale, err := theorems.LaplaceScale(epsilon)
	if err != nil {
		log.Fatal(err)
	}
	classic := math.Sqrt(2*math.Log(1.25/delta)) / epsilon
	exact, err := theorems.GaussianNoiseMultiplier(epsilon, delta)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ = %.2f Laplace, %.2f Gaussian by the classic formula, %.2f exactly\n", math.Sqrt2*scale, classic, exact)
	// Output:
	// σ = 2.83 Laplace, 9.69 Gaussian by the classic formula, 7.03 exactly
}
