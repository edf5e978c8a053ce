package theorems_test

import (
	"fmt"
	"log"
	"math"

	"dpsgd/accountant/theorems"
)

// One release of a sum of vectors of norm at most 3, with noise of standard deviation 4.5
// in each coordinate.
func ExampleGaussianEpsilon() {
	const clipNorm, std = 3, 4.5
	epsilon, err := theorems.GaussianEpsilon(std/clipNorm, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ε = %.4f at δ = 1e-6\n", epsilon)
	// Output:
	// ε = 3.0976 at δ = 1e-6
}

// The exact calibration takes a third less noise than the classic one.
func ExampleGaussianNoiseMultiplier() {
	sigma, err := theorems.GaussianNoiseMultiplier(0.5, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ = %.4f, classic %.4f\n", sigma, math.Sqrt(2*math.Log(1.25/1e-6))/0.5)
	// Output:
	// σ = 8.0576, classic 10.5976
}

func ExampleLaplaceScale() {
	scale, err := theorems.LaplaceScale(0.5)
	if err != nil {
		log.Fatal(err)
	}
	renyi, err := theorems.LaplaceRenyi(scale, 8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("scale %v: D_8 = %.4f\n", scale, renyi)
	// Output:
	// scale 2: D_8 = 0.4103
}
