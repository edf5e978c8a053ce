// Package clip makes bounded integers of whatever claims to be a gradient, and adds them up
// exactly.
//
// A [Policy] turns the norms of per-example gradients gᵢ into factors wᵢ. A [Sum] multiplies,
// rounds to multiples of the spacing g of a [Lattice], and adds:
//
//	cᵢ = round(wᵢ·gᵢ/g), integers that count if g·‖cᵢ‖ ≤ C, and add zero if not;    Σᵢ cᵢ
//
// [Policies] lists the policies that a configuration can name. A [Layered] one scales each layer
// of a gradient before it scales the whole. A [Moving] one has another clip norm in every release,
// and one bound C in all of them: it scales gradients to C, and noisy sums are scaled back. The
// clip norm follows a [Schedule], or what a [Counting] policy learns from what was released.
//
// # The guarantee
//
// For two sets of examples of which one is the other plus one example, the sums differ, in units of
// g, by an integer vector of L2 norm at most C/g: by exactly one cᵢ, whose norm was computed from
// the very integers that were added (proofs/sensitivity.v: one_example_moves_little). All
// arithmetic on them is exact, so that a sum does not depend on the order of the examples, the
// physical batches or the threads, and no other example's cⱼ changes. Nothing about the gradients is assumed. Norms that are wrong, rows of any size, NaN:
// they can make an example count for less, never for more than C.
//
// What has to be true besides is isolation: row i of a [Batch] is a function of example i and of
// public values alone. That is the promise of the graph and of package perexample, and their tests
// hold it bit for bit.
//
// # Why the sums are exact
//
// g is C·2^-20 to C·2^-21, the lattice of the noise, times 2^-k for as large a k, up to 26, as
// leaves sums of all examples below 2^62 ([Sum.Refine]).
//
//   - A row is rounded to float64 and added to float64: at most 2^53/2^(21+k) rows, whose entries
//     are at most C/g < 2^(21+k), before the sum moves on to int64 ([Rows]; a sum that a row too
//     long has been added to is thrown away with the row).
//   - The row of a dense layer is the outer product of two vectors, which are rounded instead, to
//     16 bits: their product is an integer matrix times 2^m, and its norm the product of theirs. m
//     is a function of the example's norm, so that short contributions have as many digits as long
//     ones.
//     Examples of one m are added by a matrix product in int32, as many at a time as keep every
//     partial sum below 2^31 ([Outer]).
//   - int64 holds the sum of a logical batch, by the choice of k.
//
// # What rounding costs
//
// A step's clipped sum is within 0.1 % of its norm of the sum in float64, for clip norms from 0.01
// to 10^6 of gradients of norms from 0.5 to 10, where at most 60,000 examples are summed; without
// outer products, within 10^-6. TestSumsAgainstFloat64 holds it to that.
package clip
