// Package scattering computes the wavelet scattering transform of pictures (Bruna and Mallat,
// "Invariant Scattering Convolution Networks", IEEE TPAMI 35(8), 2013, arXiv:1203.1513): features
// that were not learnt from anybody's pictures.
//
// A channel x of a picture is convolved with Morlet wavelets ψ of two scales and eight angles and
// the complex values are replaced by their moduli; of those of the finer scale that is done once
// more, with the coarser one; everything is averaged over a Gaussian window φ:
//
//	x∗φ   |x∗ψ₀ₜ|∗φ   |x∗ψ₁ₜ|∗φ   ||x∗ψ₀ₛ|∗ψ₁ₜ|∗φ     s, t = 0…7
//
// That makes 1 + 8 + 8 + 64 = [Coefficients] values for every square of 4×4 pixels.
//
// # Order of the coefficients
//
// x∗φ is coefficient 0, |x∗ψ₀ₜ|∗φ is 1+t, |x∗ψ₁ₜ|∗φ is 9+t and ||x∗ψ₀ₛ|∗ψ₁ₜ|∗φ is 17+8s+t. The
// wave of angle t runs in direction t·π/8, from "to the right" towards "down".
//
// # What holds
//
//   - The transform of the mirror image of a picture is the mirror image of the transform, to
//     rounding: its maps are mirrored and angle t becomes 8-t (mod 8). So it is for a picture that
//     is turned upside down, and for one that is transposed, where t becomes 4-t (mod 8).
//   - Distances shrink: ‖S(x) - S(y)‖ ≤ 0.283·‖x - y‖ for squares of 12 pixels, and a little more
//     for larger ones, up to 32 pixels, where the factor was computed. As a coefficient stands for
//     16 pixels, 1/4 would be that of a transform that keeps all distances between smooth pictures.
//   - A constant has one coefficient that is not near zero, and that is the constant.
//   - Energy is not gained, apart from the edges: |φ̂(ω)|² + ½ Σ (|ψ̂(ω)|² + |ψ̂(-ω)|²) is at most
//     1. The filters are not tight: it is at least 0.75 where |ω| < π/2, and falls to 0.12 in the
//     corner (π, π). Of drawn digits, 16·‖S(x)‖² is 0.69 to 0.91 of ‖x‖².
//
// Edges are continued by reflection about the outermost pixels. Moduli are √(re² + im² + 1e-12).
// Filters are computed in float64, all else in float32.
package scattering
