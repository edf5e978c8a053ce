// Package grid bounds the privacy of composed releases by their privacy loss
// distributions, from both sides.
//
// The loss of a composition is the sum of the losses of its releases, so its distribution
// is the convolution of theirs, and δ(ε) = E_P[(1 - e^(ε-L))₊]. [Epsilon] and [Delta]
// convolve numerically and answer with an [accountant.Interval] that holds the truth. Each error has a
// bound that is part of the answer:
//
//   - The losses of one release are put on a grid twice, once so that δ(ε) of any composition
//     cannot fall (connectDots) and once so that it cannot grow (merge). Both errors are
//     quadratic in the spacing of the grid.
//   - Tails of single releases are cut off: above, their mass becomes part of δ, or is left out
//     for the lower end; below, it is raised to the first grid point, or left out.
//   - The transform is periodic. What lies outside of its window is wrapped into it, and has
//     at most the mass that Chernoff's bound allows.
//   - Rounding of the transforms and powers is bounded in the 2-norm (slips).
//   - Losses and tails themselves are rounded. Each loss may be off by 1e-9 of a grid spacing;
//     ε is widened by that, times the number of releases. This allowance is generous, but
//     unlike the others it is not derived from the arithmetic of every pair.
//
// The law of the loss is tilted by e^(θL) before the transform, with the θ that moves its
// mean to the ε of the question, and the window is around that ε. So the errors of the
// transform are relative to δ, and a δ of 1e-15 or 1e-70 is answered as one of 1e-5.
//
// Tilt, grid, window and cells are chosen from a sketch of the losses, about a thousand
// atoms for each release. The sketch may be poor: that makes the interval wide, not wrong.
//
// # Limits
//
// Where a tilt cannot bring the mass to ε, a δ below about 1e-15 times the number of
// releases drowns in the bound of rounding, and the interval is wide: a release with a tiny
// sampling probability at an ε that one rare jump of the loss reaches. The size of the
// transform grows with the square root of the number of releases: 10,000 steps take some
// 10 ms, a million some 100 ms.
//
// # Sources
//
//   - Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, "Connect the Dots: Tighter Discrete
//     Approximations of Privacy Loss Distributions", arXiv:2207.04380
//   - Koskela, Jälkö, Honkela 2020, "Computing Tight Differential Privacy Guarantees Using
//     FFT", arXiv:1906.03049
//   - Gopi, Lee, Wutschitz 2021, "Numerical Composition of Differential Privacy",
//     arXiv:2106.02848
//   - Zhu, Dong, Wang 2022, "Optimal Accounting of Differential Privacy via Characteristic
//     Function", arXiv:2106.08567
package grid
