// Package clients spreads the examples of a data set over the clients of a federated run: phones,
// hospitals, people, each with examples of its own.
//
// A real federation is born with its split. Here one is drawn from a public seed, so that a
// simulation can be repeated, and the skewed one is drawn by the labels of the training examples.
// Both are an artefact of simulating: which example belongs to which client counts as given, like
// the examples themselves, and no guarantee of a run covers what the split alone would tell.
package clients
