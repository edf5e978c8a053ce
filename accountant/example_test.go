package accountant_test

import (
	"fmt"
	"log"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
)

// The privacy of a finished run, from its ledger: 14,063 steps with batches of 256 on
// average out of 60,000 records, and noise of 1.1 times the clip norm.
func Example() {
	step := accountant.PoissonSampled{
		SamplingProbability: 256.0 / 60000,
		Event:               accountant.Gaussian{NoiseMultiplier: 1.1},
	}
	var ledger accountant.Ledger
	if err := ledger.Add(step, 14063); err != nil {
		log.Fatal(err)
	}
	account, err := accountants.New("rdp", accountant.AddOrRemoveOne)
	if err != nil {
		log.Fatal(err)
	}
	g, err := account.Guarantee(&ledger, 1e-5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g)
	fmt.Println(g.Method)
	// Output:
	// (2.5967, 1e-05)-DP under add-or-remove-one
	// RDP (Poisson-subsampled Gaussian; Mironov, Talwar, Zhang 2019), conversion of Canonne, Kamath, Steinke 2020
}

// Planning: the least noise for a budget, and how far it carries.
func ExampleCalibrateNoiseMultiplier() {
	account, err := accountants.New("rdp", accountant.AddOrRemoveOne)
	if err != nil {
		log.Fatal(err)
	}
	target := accountant.Guarantee{Epsilon: 3, Delta: 1e-5, Relation: accountant.AddOrRemoveOne}
	step := func(noiseMultiplier float64) accountant.Event {
		return accountant.PoissonSampled{
			SamplingProbability: 256.0 / 60000,
			Event:               accountant.Gaussian{NoiseMultiplier: noiseMultiplier},
		}
	}
	sigma, err := accountant.CalibrateNoiseMultiplier(account, step, 14063, target)
	if err != nil {
		log.Fatal(err)
	}
	steps, err := accountant.MaxSteps(account, step(sigma), target, 1_000_000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("noise multiplier %.4f lasts %d steps\n", sigma, steps)
	// Output:
	// noise multiplier 1.0140 lasts 14063 steps
}

// What a person with four pictures in the data set can count on.
func ExampleGroup() {
	var ledger accountant.Ledger
	step := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}}
	if err := ledger.Add(step, 1000); err != nil {
		panic(err)
	}
	exact, err := accountants.New("exact", accountant.AddOrRemoveOne)
	if err != nil {
		panic(err)
	}
	for _, size := range []int{1, 4} {
		seen, err := accountant.Group(&ledger, size)
		if err != nil {
			panic(err)
		}
		g, err := exact.Guarantee(seen, 1e-5)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d: %v\n", size, g)
	}
	// Output:
	// 1: (0.6221, 1e-05)-DP under add-or-remove-one
	// 4: (2.8934, 1e-05)-DP under add-or-remove-one
}
