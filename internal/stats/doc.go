// Package stats computes private statistics: counts, sums, means, variances, histograms, quantiles
// and covariances, and the first count above a threshold, of the training examples of a data set.
//
//	file ─► plan: every statistic's mechanisms at its share of the budget, calibrated together
//	     ─► ask: each in turn, through package answer or, where nobody is trusted, package local
//	     ─► result: a value and the interval of its noise, kept in the folder of the run
//
// The plan asks every statistic of no records: the cost of a mechanism depends on public parameters
// alone, so the events equal those of the real questions. With share w of the budget (ε, δ) a
// statistic gets mechanisms that are (wε, wδ)-private by themselves, and fit the budget together by
// basic composition; then all noise is scaled by one factor, the least with which the accountant
// says that they fit.
//
// A record contributes an integer function of itself: numbers outside their bounds become the
// nearest end, moved to the middle and counted in steps of 2^-20 of half the bounds' width. The
// number of records is public (see package release), so a mean is a sum over a known number.
package stats
