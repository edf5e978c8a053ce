// Package tradeoff says what a privacy guarantee means for somebody who looks at everything that
// was released and wants to know whether one record was there.
//
// He is wrong in two ways: he takes data without the record for data with it, with probability α
// (type I, a false alarm), or misses a record that was there, with probability β (type II). The
// trade-off function f says how small β can be at each α (Wasserman, Zhou 2010, arXiv:0811.2501;
// Dong, Roth, Su 2019, arXiv:1905.02383). A [Curve] bounds f from below by the privacy profile δ(ε)
// that an accountant knows: by all (ε, δ) together, which say as much as f does (the duality in
// section 2 of Dong, Roth, Su):
//
//	f(α) = sup over ε ≥ 0 of max(0, 1 - δ(ε) - e^ε·α, e^-ε·(1 - δ(ε) - α)).
//
// The accountants answer for both directions, with and without the record, at once. So the curve is
// that of the worse one at each point, made convex, and is symmetric: f(f(α)) = α where f is above
// 0.
//
// [Beliefs] says the same in the words of somebody who thought it likely before.
package tradeoff
