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
// the very integers that were added. All arithmetic on them is exact, so that a sum does not depend
// on the order of the examples, the physical batches or the threads, and no other example's cⱼ
// changes. Nothing about the gradients is assumed. Norms that are wrong, rows of any size, NaN:
// they can make an example count for less, never for more than C.
//
// What has to be true besides is isolation: row i of a [Batch] is a function of example i and of
// public values alone. That is the promise of the graph and of package perexample, and their tests
// hold it bit for bit.
//
// # Why the sums are exact
//
//   - A row is rounded to int32 and added to int32: at most 2^31/2^21 rows, whose entries are at
//     most C/g < 2^21, before the sum moves on to float64 ([Rows]; a sum that a row too long has
//     wrapped around is thrown away with the row).
//   - The row of a dense layer is the outer product of two vectors, which are rounded instead:
//     their product is an integer matrix, and its norm the product of theirs. Examples are added by
//     a matrix product in float32, as many at a time as keep every partial sum, in whatever order
//     it is taken, at 2^24 or below, where float32 holds every integer ([Outer]).
//   - The float64 values of a logical batch hold every integer to 2^53: more than 2^32 examples.
package clip
