// Package optimizer learns from noisy sums of clipped gradients.
//
//	release.Door ── release.Noisy ──► Update ──► parameters
//
// An [Update] accepts nothing but values that a mechanism has added noise to. So no momentum, no
// second moment and no learning rate ever sees a gradient without noise, and everything that
// happens here is post-processing: it costs no privacy (Dwork and Roth, The Algorithmic Foundations
// of Differential Privacy, Proposition 2.1).
//
// Noise, sum and update are one pass over memory: the door hands out the noisy values of a few
// hundred coordinates while they are in the first-level cache, and the rule uses them there.
//
// An Update divides by the expected batch size, after the noise. That number is a constant of the
// config; the number of examples that Poisson sampling really drew is private and has no way in
// here.
//
// An Update is a [UpdateRule], the arithmetic for one coordinate, within what all rules have in
// common: checks, memory, checkpoints. A [Schedule] is a pure function of the step: warm-up, then a
// [Curve]. An [Average] combines the parameters of all steps. [UpdateRules], [Curves] and
// [Averages] list what a configuration can name.
package optimizer
