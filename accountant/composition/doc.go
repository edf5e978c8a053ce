// Package composition holds the theorems on (ε, δ)-guarantees alone: what
// mechanisms satisfy together, for groups, on subsamples and after a shuffle, if
// nothing is known about each but its Guarantee.
//
// A mechanism whose distribution is known is better served by an accountant that
// looks at it: a thousand Gaussian releases cost far less than the guarantees of
// each, composed. This package is for the rest: a release by a third party, a mechanism
// without a curve, a budget to be split by hand, and a bound to hold an accountant
// against.
//
// [NewBasic], [NewAdvanced] and [NewOptimal] make accountants of it, which know of each event of a
// ledger its (ε, δ) alone.
//
// # Composition
//
// Of k mechanisms that are (ε, δ)-private each, chosen adaptively:
//
//	Basic       kε                                     at kδ
//	Advanced    ε√(2k ln(1/s)) + kε(e^ε-1)/(e^ε+1)     at kδ + s, or a better closed form
//	Optimal     the smallest true answer               at any delta
//
// and of different ones, Basic, ClosedForm and OptimalHeterogeneous. Use the
// optimal ones: they cost milliseconds, and nothing that rests on guarantees alone
// can be better. The others are here because papers quote them.
//
// Optimal rests on the fact that randomized response is the worst (ε, δ)-private
// mechanism: it tells the truth outright with probability δ, and else answers
// truly with probability e^ε/(1+e^ε). Its k-fold privacy loss is a binomial, and
// the delta of any epsilon a sum over a tail of it. All such sums here are of
// positive terms, on a logarithmic scale, so that k = 1e9 and δ = 1e-300 are
// ordinary arguments.
//
// # One dataset, other neighbours
//
//	Parallel                   mechanisms on disjoint parts of the data
//	Group, GroupRDP            all records of one person
//	PoissonSampled             each record with probability q; add or remove one
//	SampledWithoutReplacement  a set of fixed size; replace one
//	SampledWithReplacement     a list of independent draws; replace one
//	Shuffle, ShuffleResponse   local reports, their order forgotten; replace one
//	LastIterate                noisy gradient descent on convex losses, its last iterate alone
//
// The relation is part of each of these theorems, and stands in the comment of its
// function; a Guarantee does not carry it.
//
// # Rounding
//
// Every answer is on the private side: sums and products are rounded up, deltas that
// are spent are rounded down before and the bound on the error of a sum, 1e-12 to
// 1e-8 relative, is added to the delta it gives. Epsilon moves by much less. No answer
// is NaN or negative, and no delta above 1. +Inf, for no guarantee, is an answer
// and not an error; invalid arguments are errors that match ErrInvalid.
//
// # Sources
//
//   - Dwork, Rothblum, Vadhan 2010, "Boosting and Differential Privacy", FOCS
//   - Dwork, Roth 2014, "The Algorithmic Foundations of Differential Privacy"
//   - Kairouz, Oh, Viswanath 2015, "The Composition Theorem for Differential
//     Privacy", arXiv:1311.0776: Theorems 3.3 (Optimal), 3.4 and 3.5 (ClosedForm)
//   - Murtagh, Vadhan 2016, "The Complexity of Computing the Optimal Composition of
//     Differential Privacy", arXiv:1507.03113: Theorem 1.5 (OptimalHeterogeneous)
//   - Mironov 2017, "Rényi Differential Privacy", arXiv:1702.07476: Proposition 2
//   - Vadhan 2017, "The Complexity of Differential Privacy": Lemma 2.2 (Group)
//   - Balle, Barthe, Gaboardi 2018, "Privacy Amplification by Subsampling: Tight
//     Analyses via Couplings and Divergences", arXiv:1807.01647: Theorems 8, 9, 10
//   - Feldman, McMillan, Talwar 2021, "Hiding Among the Clones", arXiv:2012.12803:
//     Theorems III.1 and III.2
//   - Feldman, McMillan, Talwar 2023, "Stronger Privacy Amplification by Shuffling for Rényi and
//     Approximate Differential Privacy", SODA, arXiv:2208.04591, and its errata; Balle, Bell,
//     Gascón, Nissim 2019, "The Privacy Blanket of the Shuffle Model", arXiv:1903.02837
//     (ShuffleResponse)
//   - Feldman, Mironov, Talwar, Thakurta 2018, "Privacy Amplification by Iteration", arXiv:1808.06651;
//     Altschuler, Talwar 2022, "Privacy of Noisy Stochastic Gradient Descent: More Iterations without
//     More Privacy Loss", arXiv:2205.13710 (LastIterate)
//   - McSherry 2009, "Privacy Integrated Queries", SIGMOD: Theorem 4 (Parallel)
//   - Doroshenko et al. 2022, "Connect the Dots", arXiv:2207.04380: the grid
//   - Loader 2000, "Fast and Accurate Computation of Binomial Probabilities"
package composition
