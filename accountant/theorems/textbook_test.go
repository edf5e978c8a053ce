package theorems_test

import (
	"fmt"
	"log"
	"math"

	"dpsgd/accountant/theorems"
)

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
