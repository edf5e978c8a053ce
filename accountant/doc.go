// Package accountant says how much privacy a run has spent.
//
// # What ran: events and the ledger
//
// An [Event] describes one release by everything that an accountant needs and
// by nothing else: [Gaussian] for noise of standard deviation σ·C on a sum of
// contributions of norm at most C, [PoissonSampled] for a release on a random
// subset of the records, [NonPrivate] for anything without a guarantee. One
// step of DP-SGD is
//
//	PoissonSampled{SamplingProbability: q, Event: Gaussian{NoiseMultiplier: sigma}}
//
// The pieces that run write it: the sampler wraps the event of the mechanism,
// so the accounting cannot describe another sampler than the one that drew the
// batch. A [Ledger] is the list of the events of a run, in order, equal
// neighbours counted together. It is the only thing that a run has to keep:
// every guarantee can be computed from it, today or from an old file, by any
// accountant.
//
// # What it costs: accountants
//
// An [Accountant] is a pure function from a ledger and a δ to a [Guarantee]. It
// holds no state of a run and may be shared by goroutines. [New] knows them by
// name. [RDP] is the Rényi accountant: it computes the divergence of one event
// at a list of orders once, multiplies by the count, adds over the ledger, and
// turns the sum into (ε, δ).
//
// # Spending a budget
//
// [CalibrateNoiseMultiplier] finds the least noise for a number of steps,
// [MaxSteps] the most steps for an amount of noise; both stay on the private
// side of the root. A training loop asks before it spends:
//
//	next, err := ledger.With(event, 1)
//	...
//	g, err := account.Guarantee(next, target.Delta)
//	...
//	if !g.Within(target) {
//		break // budget exhausted: nothing of this step has been released
//	}
//
// Asking before each step and stopping for good at the first refusal is sound
// for steps whose parameters were fixed in advance, as they are in a plan.
//
// # When something is wrong
//
// The package fails closed. An event that an accountant cannot analyse is an
// error that matches [ErrUnsupported], never a guess. A Rényi order whose value
// is not a number is not used, and if none is left that is an error. Events
// without noise cost ε = +Inf. ε is 0 in three cases only: nothing was released,
// no record was ever sampled (q = 0), or the conversion shows that the releases
// are (0, δ)-private, which takes a δ of about the chance that a record was
// sampled at all, or larger: one step with q = 1e-4, σ = 10 at δ = 1e-3.
//
// # Adding to it
//
// A new accountant is a type with its own file and a line in the table of
// [New]; the contract test then covers it. A new event is a type in event.go, a
// line in its JSON table, and a case in each accountant that can analyse it;
// the others refuse it.
//
// # Sources
//
//   - Mironov, Talwar, Zhang 2019, "Rényi Differential Privacy of the Sampled
//     Gaussian Mechanism", arXiv:1908.10530
//   - Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential
//     Privacy", arXiv:2004.00010
//   - Trefethen, Weideman 2014, "The Exponentially Convergent Trapezoidal
//     Rule", SIAM Review 56
package accountant
