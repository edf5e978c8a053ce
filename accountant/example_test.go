package accountant_test

import (
	"fmt"
	"log"

	"dpsgd/accountant"
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
	account, err := accountant.New("rdp", accountant.AddOrRemoveOne)
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
	account, err := accountant.New("rdp", accountant.AddOrRemoveOne)
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
	account, err := accountant.New("rdp", accountant.AddOrRemoveOne)
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
