// Package ranks lets the ranks of a group carry out one run together.
//
// Rank 0 has the run: plan, folder, ledger, noise, checkpoints, evaluation. It is a run like any
// other, but for its door, which adds up the contributions to a step with the others ([Leader]).
// The others have data and network alone ([Follow]). At the start, in this order:
//
//	rank 0 says      the configuration, and the hash of its program
//	every rank       finds its data; where each has its own, all add up how many examples they have
//	rank 0 says      its orders: plan, engines, and what hashes of data begin with
//	every rank       compares its data with that of rank 0, or its own with that of all others
//	every rank       says that it is ready
//
// In each step, in this order:
//
//	rank 0 says      which step, with the clip norm where that is learnt
//	rank 0 says      the parameters, as float32
//	rank 0 says      the sample, as indices
//	every rank       computes the clipped sum of its part of the sample, in integers
//	all add up       the integers, to rank 0
//
// The noise comes after that, once, on rank 0 alone; so a step of many ranks is the release that it
// is on one, and has its event. There is no common seed from which a rank could compute the noise, no
// rank that adds a part of it and may die, and no rank that skips a step because it has no record.
//
// Messages between ranks are NOT PRIVATE: samples and sums have no noise yet.
package ranks
