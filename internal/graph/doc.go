// Package graph is the one place that talks to Gorgonia about custom operations and node identity.
//
// A [Builder] declares an expression graph: inputs, parameters, and [Operation]s that run on raw
// slices. After the first failure every call returns nil, and one [Builder.Err] at the end tells what went
// wrong first.
//
// Differentiation is Gorgonia's ([Builder.Backpropagate]). Execution is ours: an [Executor] runs
// the nodes that the requested outputs need, in topological order, in buffers that are planned once
// and reused while the graph runs. Gorgonia's own tape machine pays about 10 µs a node, allocates as it
// goes, and runs operations in goroutines that a caller cannot recover from.
//
// # Traps of Gorgonia v0.9.18 that this package keeps away from the others
//
//   - Nodes are merged when type, shape, name or operation hash, and children agree. Every
//     Operation gets a serial number that goes into its hash, and every input name may be used
//     once.
//   - Grad refuses intermediate nodes, Backpropagate accepts them: gradients are taken with respect
//     to the outputs of layers, never with respect to parameters (their gradient would already be
//     summed over the examples).
package graph
