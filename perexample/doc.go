// Package perexample holds, for each kind of parameter, the rule that turns one ordinary backward
// pass into what a private step needs: the norm of every example's gradient, and sums of these
// gradients with a weight for each example. No rule runs a second backward pass or a loop over
// examples in the graph: one node serves the whole physical batch.
//
// # Per-example gradients from one backward pass
//
// The graph is differentiated with respect to the output z of each layer with parameters. Because
// no layer mixes examples, row i of the gradient dz of the summed loss belongs to example i alone,
// and the gradient of example i with respect to the parameter is a function of row i of the layer's
// input x and of row i of dz. For a dense layer it is the outer product dzᵢ xᵢᵀ (Goodfellow,
// arXiv:1510.01799); for a convolution with T output positions it is dzᵢᵀ Uᵢ, where row t of Uᵢ
// (T×D) holds the D = k·k·c inputs under the filter at position t.
//
// # Two engines
//
// The squared norm of that gradient has two forms. A rule offers both, and [Choose] takes the one
// that has less to compute and to move for each parameter:
//
//   - [Materialise] computes the per-example gradient itself, T·D·p multiply-adds, and keeps it:
//     the weighted sum is then one pass over stored gradients. Cheap where T is large and D·p
//     small: early convolutions.
//   - [Ghost] never forms it: ‖dzᵢᵀUᵢ‖² = ⟨UᵢUᵢᵀ, dzᵢdzᵢᵀ⟩, T²(D+p) multiply-adds (T²(c+k·k+p) with
//     stride 1, where products of pixels serve several taps), and the weighted sum is one product
//     over all examples (book-keeping, Bu et al., arXiv:2210.00038; the choice by layer after Bu et
//     al., arXiv:2205.10683). Nearly free where T is small: dense layers and late convolutions.
//
// # Several rows of one example
//
// Where an example is seen in K views, each a row of the graph, its gradient is the sum over K
// consecutive rows ([OfViews]). The sum is clipped once, and one example adds no more than without
// views. Biases, gains and dense layers take the rows as further positions; the gradients of
// convolutions are summed over the rows while they are formed, with either engine.
//
// # What every rule promises
//
//   - Row i of its norms and gradients depends on row i of x and dz only.
//   - Norms accumulate in float64; a gradient that is not finite gives a norm that is not finite.
//   - An example of weight 0 adds exactly 0 to a weighted sum, whatever its rows hold: they are not
//     read (0·NaN would be NaN).
//   - Both engines and a batch of one agree to float32 rounding.
//
// The bound of an example's contribution rests on none of this but the first: package clip measures
// what it adds.
package perexample
