package accountant_test

import (
	"fmt"
	"log"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/pld"
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

// The loop of a trainer: ask with the next step included, then take it.
func ExampleLedger_With() {
	account, err := accountants.New("rdp", accountant.AddOrRemoveOne)
	if err != nil {
		log.Fatal(err)
	}
	target := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}
	step := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1.2}}
	ledger := &accountant.Ledger{}
	for {
		next, err := ledger.With(step, 1)
		if err != nil {
			log.Fatal(err)
		}
		g, err := account.Guarantee(next, target.Delta)
		if err != nil {
			log.Fatal(err)
		}
		if !g.Within(target) {
			break
		}
		ledger = next // on disk first, then the noisy update
	}
	spent, err := account.Guarantee(ledger, target.Delta)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d steps, ε = %s\n", ledger.Count(), accountant.RoundUp(spent.Epsilon, 3))
	// Output:
	// 375 steps, ε = 1.000
}

func ExampleMarshalEvent() {
	e := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1.1}}
	data, err := accountant.MarshalEvent(e)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	back, err := accountant.UnmarshalEvent(data)
	fmt.Println(back == accountant.Event(e), err)
	// Output:
	// {"poisson_sampled":{"sampling_probability":0.01,"event":{"gaussian":{"noise_multiplier":1.1}}}}
	// true <nil>
}

// The interval says how far an answer can be from the truth. RDP, with its simpler view of the
// same ledger, answers above it.
func ExampleIntervalAccountant() {
	exact, err := pld.NewExact(accountant.AddOrRemoveOne)
	if err != nil {
		panic(err)
	}
	rdp, err := accountants.New("rdp", accountant.AddOrRemoveOne)
	if err != nil {
		panic(err)
	}
	step := accountant.PoissonSampled{SamplingProbability: 256.0 / 60000, Event: accountant.Gaussian{NoiseMultiplier: 1.1}}
	var ledger accountant.Ledger
	if err := ledger.Add(step, 14063); err != nil {
		panic(err)
	}
	i, err := exact.EpsilonInterval(&ledger, 1e-5)
	if err != nil {
		panic(err)
	}
	g, err := rdp.Guarantee(&ledger, 1e-5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("exact: from %.9f to %.9f\n", i.Lower, i.Upper)
	fmt.Printf("rdp: %.4f\n", g.Epsilon)
	// Output:
	// exact: from 2.381689726 to 2.381689726
	// rdp: 2.5967
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
