// Package clip bounds what one example can do to a sum of gradients.
//
// A [Policy] turns the norms of per-example gradients gᵢ into factors wᵢ such that ‖wᵢ·gᵢ‖ <= Bound for every
// example, whatever it holds. A [Sum] adds up Σᵢ wᵢ·gᵢ over the physical batches of one logical batch, carries the
// bound with it, and gives its values away once, to the mechanism that adds noise. So noise is scaled by what the sum
// says of itself, and no second copy of the clip norm can disagree with it.
//
// The guarantee: for two sets of examples of which one is the other plus one example, the sums differ by at most
// Bound in the L2 norm, because all other terms are equal. It is a statement about the exact sum of the scaled
// float32 rows. What is rounded, and where that is paid for:
//
//   - the norm, which the ghost engine computes from float32 Gram matrices, and the scaled row, each entry to float32
//     (2^-24): both inside the margin of 2^-17 (8·10^-6) that [Flat] leaves below its clip norm, for norms that are right to
//     a relative 2^-18;
//   - this package's accumulation, in float64: at most 2^-53 of the sum per partial, which for sums up to 2^16·C is
//     less than 2^-6 of the lattice spacing to which the mechanism rounds, and inflates the bound for, anyway;
//   - the sum within a physical batch, in the float32 of the kernels: about 2^-24 of the partial sum. This one is not
//     covered: a changed example changes the roundings of its neighbours in the batch too. For a physical batch of 64
//     rows it is of the order of 2^-18·C; the worst case that adversarial rows can reach is larger (Casacuberta et
//     al., arXiv:2207.10635).
//
// Factor 0 means that an example's row must not enter a product at all: 0·NaN is NaN. Who applies the factors zeroes
// the row, and [Sum.Add] refuses a partial sum that is not finite.
package clip
