// Package accountant says how much privacy a run has spent, or would spend.
//
// # What ran: events and the ledger
//
// An [Event] describes one release by everything that an accountant needs and by nothing else:
// [Gaussian] for noise of standard deviation σ·C on a sum of contributions of norm at most C,
// [PoissonSampled] for a release on a random subset of the records, [NonPrivate] for anything
// without a guarantee. One step of DP-SGD is
//
//	PoissonSampled{SamplingProbability: q, Event: Gaussian{NoiseMultiplier: sigma}}
//
// The pieces that run write it: the sampler wraps the event of the mechanism, so the accounting
// cannot describe another sampler than the one that drew the batch. A [Ledger] is the list of the
// events of a run, in order, equal neighbours counted together. It is the only thing that a run has
// to keep: every guarantee can be computed from it, today or from an old file, by any accountant.
//
// Other events: [Laplace], [DiscreteLaplace], [DiscreteGaussian], [BoundedRange],
// [RandomizedResponse], [TreeAggregation], [SmoothGaussian]; [ApproxDP], [AddOrRemoveDP] and [ZCDP]
// for releases of which only a guarantee is known; [CyclicSampled], [FixedSizeSampled],
// [TruncatedPoissonSampled] and [PoissonSampledGroup] for other samples; [BallsInBins] for steps
// that share out the records; [Composed], [SelfComposed] and [RepeatAndSelect] for several releases.
//
// A guarantee compares neighbouring datasets, and a [Relation] says which those
// are. Everything that this program releases is accounted for under [ZeroOut].
//
// # What it costs: accountants
//
// An [Accountant] is a pure function from a ledger and a δ, or from a ledger and an ε, to a
// [Guarantee]. It holds no state of a run and may be shared by goroutines. Package accountants
// makes accountants by name, for a relation:
//
//   - "exact", in package pld: the exact privacy profile of the dominating pairs, by
//     contour integration with a bound for every error. The least ε, in about a
//     millisecond. What to use unless there is a reason for another one.
//   - "pld", in package pld: privacy loss distributions, composed by FFT. A little looser, and
//     computed in another way, so that each checks the other.
//   - "rdp", in package rdp: Rényi divergences. Some 5 to 10 % above for DP-SGD, in
//     microseconds, for more kinds of events.
//   - "zcdp", in package accountants, and "basic", "advanced", "optimal", in package theorems:
//     what older theorems say of the same ledger.
//
// The first two are each an [IntervalAccountant]: their answers come with a lower bound too.
// Package accountants also has an estimate that is not a bound, and therefore no Accountant.
// [PlainEpsilon] is the shortest formula that bounds the ε of DP-SGD, to hold the others against.
//
// Package theorems also has the exact profiles of single mechanisms, and theorems about (ε, δ)
// alone: composition, amplification by subsampling and shuffling. [TradeoffOf] says what a
// guarantee means for somebody who wants to know whether one record was there.
//
// # Spending a budget
//
// [CalibrateNoiseMultiplier] finds the least noise for a number of steps, [MaxSteps]
// the most steps for an amount of noise, [MaxSamplingProbability] the largest batches; all
// stay on the private side of the root. A training loop asks before it spends:
//
//	next, err := ledger.With(event, 1)
//	...
//	g, err := account.Guarantee(next, target.Delta)
//	...
//	if !g.Within(target) {
//		break // budget exhausted: nothing of this step has been released
//	}
//
// That is sound for steps whose parameters were fixed in advance, as they are in a plan. Where
// later releases depend on earlier outputs, Chosen of package rdp says what has been spent.
//
// # When something is wrong
//
// The package fails closed. An event that an accountant cannot analyse, or that is not defined
// under its relation, is an error that matches [ErrUnsupported], never a guess; numerics that
// cannot be bounded are one that matches [ErrUncertified]. Events without noise cost ε = +Inf. ε is
// 0 in three cases only: nothing was released, no record was ever sampled, or the releases are (0,
// δ)-private, which takes a δ of about the chance that a record was sampled at all, or larger.
//
// # Sources
//
// The formulas, each with its theorem, are collected in docs/accounting.md of this
// repository, and cited at the lines that use them.
package accountant
