// Package model declares neural networks on a computation graph, layer by layer, in the form that
// private training needs.
//
// A [Layer] is written once and reads like its formula: it takes the node of its input and returns
// the node of its output. A layer with parameters announces each one with its per-example rule
// ([Pass.Use]); a trainable parameter without a rule stops the network before it runs, by name. No
// layer mixes examples: row i of every node depends on row i of the input only, which the contract
// tests hold every layer to. So there is no batch normalisation; use [GroupNorm] or [LayerNorm].
//
// [Kinds] lists the layers that a configuration can name, each with its arguments; a kind stands in
// the file of its layer.
//
// # Layout
//
// Activations of images are (B, H, W, C), channels last; of vectors and rows of numbers (B, n); of
// sequences (B, T, C), in which the positions behind an example's own are padding that nothing reads.
// Parameters lie in one contiguous vector, filters as (out, kernel height, kernel width, in), and
// are exchanged with PyTorch under its names and in its layouts: [Model.Export] and [Model.Import]
// give and take the tensors of the state_dict of an nn.Sequential of the same layers ("0.weight",
// "0.bias", "3.weight", …; in a residual block "4.body.0.weight", "4.shortcut.0.weight").
//
// # Initial weights
//
// As PyTorch initialises them: uniform in ±1/√fan_in for weights and biases, 1 and 0 for the gain
// and shift of normalisation. They come from a public seed; they depend on no data.
package model
