package theorems_test

import (
	"fmt"
	"log"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/rdp"
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

// DP-SGD with batches of 256 of 60,000, noise multiplier 1 and 600 steps, at δ = 1e-5. Abadi et al.
// 2016 (arXiv:1607.00133v2), Theorem 2 and Lemma 3: ε = (T·α(λ) + log(1/δ))/λ, with the leading
// term q²λ(λ+1)/((1-q)σ²) of the moment α(λ), here at λ = 10. The lemma is for λ ≤ σ²·log(1/(qσ)),
// which is 5.5, so at λ = 10 the leading term alone is no bound: the moment itself is almost five
// times that. The best order, and the exact accountant, stay below 1.27 all the same.
func Example_momentsOfDPSGD() {
	const q, sigma, steps, lambda, delta = 256. / 60_000, 1.0, 600, 10, 1e-5
	leading := q * q * lambda * (lambda + 1) / ((1 - q) * sigma * sigma)
	fmt.Printf("ε = %.2f by the leading term at order %d\n", (steps*leading-math.Log(delta))/lambda, lambda)

	var ledger accountant.Ledger
	step := accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}
	if err := ledger.Add(step, steps); err != nil {
		log.Fatal(err)
	}
	renyi, err := rdp.New(accountant.AddOrRemoveOne, rdp.DefaultOrders())
	if err != nil {
		log.Fatal(err)
	}
	divergence, err := renyi.Divergence(step, lambda+1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ε = %.2f by the moment itself, %.4g for the leading term's %.4g\n", (steps*lambda*divergence-math.Log(delta))/lambda, lambda*divergence, leading)
	for _, name := range []string{"rdp", "exact"} {
		a, err := accountants.New(name, accountant.AddOrRemoveOne)
		if err != nil {
			log.Fatal(err)
		}
		g, err := a.Guarantee(&ledger, delta)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("ε = %.2f by the accountant %q\n", g.Epsilon, name)
	}
	// Output:
	// ε = 1.27 by the leading term at order 10
	// ε = 1.71 by the moment itself, 0.009389 for the leading term's 0.002011
	// ε = 1.01 by the accountant "rdp"
	// ε = 0.58 by the accountant "exact"
}
