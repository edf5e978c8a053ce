// Package optimizer makes a clipped sum of gradients private and learns from the result.
//
//	clip.Sum ── Mechanism.Privatize ──► Noisy ── Update.Apply ──► parameters
//
// A [Mechanism] takes the sum of one logical batch, adds noise scaled by the bound that the sum carries, once, and
// names the [accountant.Event] that describes what it did. What comes out is a [Noisy] vector: only a mechanism makes
// one, and an [Update] accepts nothing else. So no momentum, no second moment and no learning rate ever sees a
// gradient without noise, and everything that happens behind the mechanism is post-processing: it costs no privacy
// (Dwork and Roth, The Algorithmic Foundations of Differential Privacy, Proposition 2.1).
//
// Noise, sum and update are one pass over memory: the noise of a few hundred coordinates is drawn, added to the sum and
// used by the rule while all of them are in the first-level cache. So a Noisy holds sum and streams of noise until an
// Update consumes it, once, and nothing else can.
//
// An Update divides by the expected batch size, after the noise. That number is a constant of the config; the number of
// examples that Poisson sampling really drew is private and has no way in here.
//
// A [Schedule] is a pure function of the step.
package optimizer
