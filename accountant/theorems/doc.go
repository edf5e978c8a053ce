// Package theorems holds theorems about single mechanisms and about (ε, δ)-guarantees alone: how
// private one release with Gaussian or Laplace noise is, and what mechanisms satisfy together, on
// samples and after a shuffle, if nothing is known about each but its [Guarantee].
//
// An accountant that looks at whole distributions answers better for many releases: a thousand
// Gaussian releases cost far less than the guarantees of each, composed. The theorems about (ε, δ)
// serve releases of which only a guarantee is known, and bounds to hold an accountant against.
//
// # One release
//
//	GaussianDelta, GaussianEpsilon   the exact profile of Gaussian noise
//	GaussianNoiseMultiplier          the least Gaussian noise for (ε, δ)
//	LaplaceScale, LaplaceRenyi       the scale of Laplace noise for ε, and its Rényi divergence
//	ResponseRenyi                    the Rényi divergence of randomized response
//
// Sigma of Gaussian noise is its standard deviation over the L2 sensitivity: the noise multiplier, if
// the sensitivity is a clipping norm. Scale of Laplace noise is its scale over the L1 sensitivity. For a
// sensitivity s multiply a calibrated result by s and round it up; divide the noise by s before
// asking for ε or δ. The formulas cited at the functions are not what is computed: in all of them
// large numbers nearly cancel or overflow. The sums and integrals used instead have no negative term
// and are derived where they stand.
//
// # Many releases
//
// [NewBasic], [NewAdvanced] and [NewOptimal] make accountants that know of each event of a ledger its
// (ε, δ) alone. Of k mechanisms that are (ε, δ)-private each, chosen adaptively, they say
//
//	basic       kε                                     at kδ
//	advanced    ε√(2k ln(1/s)) + kε(e^ε-1)/(e^ε+1)     at kδ + s, or a better closed form
//	optimal     the smallest true answer               at any delta
//
// and the same for different ones. Optimal costs milliseconds, and nothing that rests on guarantees alone
// can be better. The others are here because papers quote them.
//
// [Optimal] rests on the fact that randomized response is the worst (ε, δ)-private mechanism: it tells
// the truth outright with probability δ, and else answers truly with probability e^ε/(1+e^ε). Its
// k-fold privacy loss is a binomial, and the delta of any epsilon a sum over a tail of it. All
// such sums here are of positive terms, on a logarithmic scale, so that k = 1e9 and δ = 1e-300 are
// ordinary arguments.
//
// # Samples, shuffles, last iterates
//
//	PoissonSampled             each record with probability q; add or remove one
//	SampledWithoutReplacement  a set of fixed size; replace one
//	Shuffle, ShuffleResponse   local reports, their order forgotten; replace one
//	LastIterate                noisy gradient descent on convex losses, its last iterate alone
//
// The relation is part of each of these theorems, and stands in the comment of its function; a
// Guarantee does not carry it.
//
// # Rounding
//
// Every answer is on the private side: every ε, δ, divergence, σ and scale is rounded up, a delta that
// is spent is rounded down before, and the bound on the error of a sum, 1e-14 to 1e-8 relative, is added
// to the delta it gives. A search returns a point at which the δ, rounded up, was found within the
// target. No answer is NaN or negative, and no delta above 1. +Inf, for no guarantee, is an answer and
// not an error; invalid arguments are errors that match [ErrInvalid].
//
// The rounding covers the arithmetic here, not that of a sampler: a release with floating-point noise
// has its own flaws (Mironov 2012), which no formula of this package sees.
//
// # Sources
//
//   - Dwork, Rothblum, Vadhan 2010, "Boosting and Differential Privacy", FOCS
//   - Dwork, Roth 2014, "The Algorithmic Foundations of Differential Privacy"
//   - Kairouz, Oh, Viswanath 2015, "The Composition Theorem for Differential
//     Privacy", arXiv:1311.0776: Theorems 3.3 and 3.5 ([Optimal])
//   - Murtagh, Vadhan 2016, "The Complexity of Computing the Optimal Composition of
//     Differential Privacy", arXiv:1507.03113: Theorem 1.5 ([NewOptimal])
//   - Balle, Barthe, Gaboardi 2018, "Privacy Amplification by Subsampling: Tight
//     Analyses via Couplings and Divergences", arXiv:1807.01647: Theorems 8 and 9
//   - Feldman, McMillan, Talwar 2021, "Hiding Among the Clones", arXiv:2012.12803:
//     Theorem III.2
//   - Feldman, McMillan, Talwar 2023, "Stronger Privacy Amplification by Shuffling for Rényi and
//     Approximate Differential Privacy", SODA, arXiv:2208.04591, and its errata; Balle, Bell,
//     Gascón, Nissim 2019, "The Privacy Blanket of the Shuffle Model", arXiv:1903.02837
//     (ShuffleResponse)
//   - Feldman, Mironov, Talwar, Thakurta 2018, "Privacy Amplification by Iteration", arXiv:1808.06651;
//     Altschuler, Talwar 2022, "Privacy of Noisy Stochastic Gradient Descent: More Iterations without
//     More Privacy Loss", arXiv:2205.13710 (LastIterate)
//   - Doroshenko et al. 2022, "Connect the Dots", arXiv:2207.04380: the grid
//   - Dwork, McSherry, Nissim, Smith 2006: [LaplaceScale]
//   - Balle, Wang 2018, "Improving the Gaussian Mechanism for Differential Privacy",
//     arXiv:1805.06530: Theorem 8 ([GaussianDelta])
//   - Mironov 2017, "Rényi Differential Privacy", arXiv:1702.07476: Propositions 5 and 6
//     ([ResponseRenyi], [LaplaceRenyi])
//   - Loader 2000, "Fast and Accurate Computation of Binomial Probabilities"
package theorems
