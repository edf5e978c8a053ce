// Package mechanism knows the exact privacy of the classic mechanisms, for one release:
// Gaussian, Laplace and discrete Gaussian noise, and randomized response. It answers
// three questions about each: which δ goes with an ε, which ε with a δ (or the Rényi
// divergence of an order), and how much noise a target takes.
//
// # What a number means
//
// A release is (ε, δ)-differentially private if for all pairs of neighbouring datasets and
// every set S of outcomes, Pr[M(D) ∈ S] ≤ exp(ε) Pr[M(D′) ∈ S] + δ. The smallest δ for each
// ε is the privacy profile of a mechanism. It depends on the noise over the sensitivity
// only:
//
//   - Sigma of Gaussian noise is the standard deviation over the L2 sensitivity: the noise
//     multiplier, when the sensitivity is a clipping norm. Scale of Laplace noise
//     is the scale over the L1 sensitivity. For a sensitivity s multiply a calibrated
//     result by s, and divide the noise by s before asking for ε or δ; the
//     results have no room for a rounding of that product, so round it up.
//   - The discrete Gaussian lives on the integers and does not scale: its sensitivity is
//     an argument, and an integer.
//   - Randomized response compares any two answers of one person (replace-one).
//
// What the neighbours are is up to the caller, who knows the sensitivity. Epsilon and Rényi
// divergences are in nats, and logarithms are natural.
//
// # Formulas and sources
//
// Gaussian noise, Balle, Wang 2018, "Improving the Gaussian Mechanism for Differential
// Privacy", arXiv:1805.06530, Theorem 8, with Φ the normal distribution function:
//
//	δ(ε) = Φ(1/(2σ) - εσ) - exp(ε) Φ(-1/(2σ) - εσ)
//
// The classic calibration σ = √(2 ln(1.25/δ))/ε is Theorem A.1 of Dwork, Roth 2014, "The
// Algorithmic Foundations of Differential Privacy", and holds for ε < 1.
//
// Laplace noise of scale b is (1/b, 0)-private (Dwork, McSherry, Nissim, Smith 2006). Its
// profile is Theorem 3 of Balle, Barthe, Gaboardi 2018, arXiv:1807.01647, its Rényi
// divergence Proposition 6 and Table II of Mironov 2017, "Rényi Differential Privacy",
// arXiv:1702.07476:
//
//	δ(ε) = max(0, 1 - exp((ε - 1/b)/2))
//	D_α  = 1/(α-1) ln(α/(2α-1) exp((α-1)/b) + (α-1)/(2α-1) exp(-α/b))
//
// Discrete Gaussian noise, Pr[Y = y] ∝ exp(-y²/(2σ²)), for a sensitivity s, Canonne,
// Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy", arXiv:2004.00010,
// Theorem 7:
//
//	δ(ε) = Pr[Y > εσ²/s - s/2] - exp(ε) Pr[Y > εσ²/s + s/2]
//
// Randomized response that is true with probability p and else one of the k-1 other
// answers, each with probability q = (1-p)/(k-1); the divergence is Proposition 5 of
// Mironov 2017 for k = 2, and for any k its definition written out:
//
//	ε   = |ln(p/q)|
//	D_α = 1/(α-1) ln(p^α q^(1-α) + q^α p^(1-α) + (k-2) q)
//
// # How exact, and on which side
//
// Every ε, δ, divergence, σ and scale is rounded up and every probability of truth down, so
// that what is returned holds. The distance to the true value is at most about 1e-14 of it;
// each function says how much. Where an inverse is so steep that the last digits of δ
// decide about ε or σ, the promise is that of a δ lowered by 1e-14. A search returns a
// point at which the δ, rounded up, was found within the target.
//
// The formulas above are not what is computed. In all of them large numbers nearly cancel,
// to nothing for σ = 1e8, or overflow. The sums and integrals used instead have no negative
// term; they are derived where they stand. Results are never NaN and never negative.
//
// The rounding up covers the arithmetic here, not that of a sampler: a release with
// floating-point noise has its own flaws (Mironov 2012), which no formula of this package
// sees.
//
// # Errors
//
// An argument out of its range is an error that matches ErrInvalid, and the result is 0
// then.
package mechanism
