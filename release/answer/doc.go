// Package answer is the door beside that of package release: it answers questions about private data
// that are not steps of training. Statistics, votes of teachers, choices and searches leave through
// it.
//
//	bounded sums, scores or votes ─► Question ─► budget ─► durable event ─► noise ─► answer
//
// [Ask] does it, in this order, at a [Desk]:
//
//	desk := answer.NewDesk(journal, budget)
//	counts, err := answer.NewCounts(bucketOfEachRecord, 10)
//	question, err := answer.DiscreteLaplace(counts, 1/epsilon)
//	noisy, err := answer.Ask(desk, question) // []int64
//
// # What there is to ask about
//
//	NewSums, NewTotal, NewCounts   sums of integers, each record's within a bound
//	NewRanks, Sums.Scores          scores of candidates
//	NewVotes                       one vote of each teacher
//
// They are given each record's part, bound it, and are secret: no method returns a number. What one
// record can do to them is enforced, not claimed, and cannot be changed afterwards.
//
// # What can be asked
//
//	question         answer    event
//	DiscreteLaplace  []int64   DiscreteLaplace
//	Laplace          []int64   Laplace            rounded to integers
//	DiscreteGaussian []int64   DiscreteGaussian
//	Gaussian         []int64   Gaussian           rounded to integers
//	Exponential      int       BoundedRange
//	PermuteAndFlip   int       AddOrRemoveDP
//	NoisyMax         int       AddOrRemoveDP
//	GaussianMax      int       Gaussian           GNMax of PATE
//	LaplaceMax       int       Laplace            LNMax of PATE
//	Agreement        bool      Gaussian           the check of Confident-GNMax
//	AboveThreshold   *Search   AddOrRemoveDP      answers many, ends by itself
//	Median           Tested    AddOrRemoveDP      propose-test-release
//
// Parameters of noise are ratios to the bound on one record, as in the events; on votes they are in
// votes. Choices, searches and the median are given their ε. The set is closed: nothing outside of
// this package makes a [Question] that can be asked.
//
// # What is claimed
//
// Let two data sets differ in one record, which is there in one and whose place is empty in the
// other. Then all that Ask returns, and all that a search says, is as private as an accountant says
// of the events in the journal, because
//
//  1. a record's part of a sum, a score or a vote is within the bound that the event is made with,
//     whatever the caller computed of the record;
//  2. noise and choices have exactly the laws of their events (package noise), are
//     drawn anew for every answer from bits that nothing else uses, and never pass through a float
//     that has seen private data;
//  3. the event is on stable storage before noise is drawn, and a question whose event the budget
//     does not allow is not answered.
//
// What the caller has to promise is isolation: the part of a record is a function of that record
// and of what was answered before. Candidates, buckets, bounds and thresholds are public. The
// observer has no clock: how long an answer takes depends on what is drawn.
package answer
