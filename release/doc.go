// Package release is the one door through which results of private data leave.
//
//	Plan ─► sample ─► durable event ─► contributions ─► exact bounded sum ─► noise ─► Noisy values
//
// A [Door] does all of it, in this order, in one function: [Door.Release]. Training, private
// statistics, votes of teachers and audits are callers, each with another [Contributor] of
// contributions and, where needed, another [Mechanism]. Sampler, bound, mechanism and accounted
// event come from one [Plan], so that none can describe another run than the one that happened, and
// a privacy statement is rendered from it.
//
// # What is claimed
//
// Let two data sets differ in one record, which is there in one and whose place is empty in the
// other; the number of places and everything else in the plan are the same for both, and public.
// Then all that callers of the door get to see is as private as an accountant says of the events in
// the journal, because
//
//  1. a record enters a sample as the sampler's event says (see the sampler), and no more often
//     than once;
//  2. what it adds to the sum is an integer vector of norm at most C/g, whatever the source made of
//     it (package clip);
//  3. the noise on every coordinate has exactly the law that the mechanism's event names (package
//     noise), is drawn anew for every release from bits that nothing else uses, and reaches every
//     coordinate;
//  4. the event is on stable storage before noise is drawn, and a release whose event the budget
//     does not allow does not begin.
//
// What the source has to promise is isolation: the contribution of a record is a function of that
// record and of what was released before. Bound, noise and accounting do not depend on it.
package release
