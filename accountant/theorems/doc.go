// Package theorems holds theorems about single mechanisms and about (ε, δ)-guarantees alone: how
// private one release with Gaussian or Laplace noise is, and what mechanisms satisfy together, on
// samples and after a shuffle, if nothing is known about each but its ε and δ.
//
//	GaussianDelta, GaussianEpsilon      the exact profile of Gaussian noise
//	GaussianNoiseMultiplier             the least Gaussian noise for (ε, δ)
//	LaplaceScale, LaplaceRenyi          the scale of Laplace noise for ε, and its Rényi divergence
//	ResponseRenyi                       the Rényi divergence of randomized response
//	NewBasic, NewAdvanced, NewOptimal   accountants that know the (ε, δ) of each event
//	Shuffle, ShuffleResponse            the ε of local reports after a shuffle; replace one
//	LastIterate                         the ρ of noisy gradient descent if only its end is published
//
// An accountant that looks at whole distributions answers better for many releases. The theorems
// about (ε, δ) serve releases of which only a guarantee is known, and bounds to hold an accountant
// against.
//
// Sigma of Gaussian noise is its standard deviation over the L2 sensitivity: the noise multiplier,
// if the sensitivity is a clipping norm. Scale of Laplace noise is its scale over the L1
// sensitivity. For a sensitivity s multiply a calibrated result by s and round it up; divide the
// noise by s before asking for ε or δ. The formulas cited at the functions are not what is
// computed: in all of them large numbers nearly cancel or overflow. The sums and integrals used
// instead have no negative term and are derived where they stand.
//
// Optimal composition rests on the fact that randomized response is the worst (ε, δ)-private
// mechanism: it tells the truth outright with probability δ, and else answers truly with
// probability e^ε/(1+e^ε). Its k-fold privacy loss is a binomial, and the delta of any epsilon a
// sum over a tail of it. All such sums are of positive terms, on a logarithmic scale, so that k =
// 1e9 and δ = 1e-300 are ordinary arguments.
//
// # Rounding
//
// Every answer is on the private side: every ε, δ, divergence, σ and scale is rounded up, a delta
// that is spent is rounded down before, and the bound on the error of a sum, 1e-14 to 1e-8
// relative, is added to the delta it gives. A search returns a point at which the δ, rounded up,
// was found within the target. No answer is NaN or negative, and no delta above 1. +Inf, for no
// guarantee, is an answer and not an error; invalid arguments are errors that match
// [accountant.ErrInvalid].
//
// The rounding covers the arithmetic here, not that of a sampler: a release with floating-point
// noise has its own flaws (Mironov 2012), which no formula of this package sees.
package theorems
