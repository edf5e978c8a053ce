// Package votes says what the aggregation of teachers' votes costs: PATE of Papernot et al. 2017
// (arXiv:1610.05755) and 2018 (arXiv:1802.08908).
//
// One training example is in the part of one teacher, so it changes one vote of each question. The
// mechanisms are [GaussianMax] (GNMax), [LaplaceMax] (LNMax) and [Threshold], the check of the
// Confident-GNMax aggregator. Each has two Rényi divergences: Independent covers the worst votes; a
// ledger accounts for it and a statement may publish it. Divergence covers these votes, and is much
// smaller where the teachers agree.
//
// The second one is a function of the private votes. It holds for the training set that was there
// and its neighbours, in the direction from that set to them; and it is NOT PRIVATE: it must not be
// shown, and nothing may depend on it, before [Smooth] has released it with noise that is scaled to
// its smooth sensitivity. As in the papers, what was asked and answered counts as if it had been
// fixed in advance.
package votes
