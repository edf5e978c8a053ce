package mechanism_test

import (
	"fmt"
	"log"

	"dpsgd/accountant/mechanism"
)

// One release of a sum of vectors of norm at most 3, with noise of standard deviation 4.5
// in each coordinate.
func ExampleGaussianEpsilon() {
	const clipNorm, std = 3, 4.5
	epsilon, err := mechanism.GaussianEpsilon(std/clipNorm, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ε = %.4f at δ = 1e-6\n", epsilon)
	// Output:
	// ε = 3.0976 at δ = 1e-6
}

// The exact calibration takes a third less noise than the classic one.
func ExampleGaussianNoiseMultiplier() {
	sigma, err := mechanism.GaussianNoiseMultiplier(0.5, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	classic, err := mechanism.ClassicGaussianNoiseMultiplier(0.5, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ = %.4f, classic %.4f\n", sigma, classic)
	_, err = mechanism.ClassicGaussianNoiseMultiplier(2, 1e-6)
	fmt.Println(err)
	// Output:
	// σ = 8.0576, classic 10.5976
	// mechanism: invalid: epsilon is 2, the classic calibration is proved for (0, 1) only
}

// A δ that no float64 can hold.
func ExampleGaussianLogDelta() {
	logDelta, err := mechanism.GaussianLogDelta(2, 40)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ln δ = %.3f\n", logDelta)
	// Output:
	// ln δ = -3190.408
}

func ExampleLaplaceScale() {
	scale, err := mechanism.LaplaceScale(0.5)
	if err != nil {
		log.Fatal(err)
	}
	delta, err := mechanism.LaplaceDelta(scale, 0.3)
	if err != nil {
		log.Fatal(err)
	}
	renyi, err := mechanism.LaplaceRenyi(scale, 8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("scale %v: δ(0.3) = %.4f, D_8 = %.4f\n", scale, delta, renyi)
	// Output:
	// scale 2: δ(0.3) = 0.0952, D_8 = 0.4103
}

// A yes or no question, and one with ten answers.
func ExampleRandomizedResponseTruth() {
	for _, buckets := range []int{2, 10} {
		truth, err := mechanism.RandomizedResponseTruth(1, buckets)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d buckets: true with probability %.4f\n", buckets, truth)
	}
	// Output:
	// 2 buckets: true with probability 0.7311
	// 10 buckets: true with probability 0.2320
}

// A count that one person changes by up to 2.
func ExampleDiscreteGaussianSigma() {
	sigma, err := mechanism.DiscreteGaussianSigma(0.5, 1e-6, 2)
	if err != nil {
		log.Fatal(err)
	}
	epsilon, err := mechanism.DiscreteGaussianEpsilon(sigma, 2, 1e-6)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("σ = %.4f has ε = %.4f\n", sigma, epsilon)
	// Output:
	// σ = 16.1129 has ε = 0.5000
}
