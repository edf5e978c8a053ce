// Package discrete draws integers whose laws are exact: discrete Laplace, discrete Gaussian and
// rounded Laplace noise, and the coins that they are made of.
//
// Every draw is a finite sequence of uniform integers from random bits and of comparisons of
// integers; no logarithm, no exponential and no float is taken of a random number. So the
// probabilities are those of the formulas, also in the tails, and no pattern of floating-point
// rounding gives the noise away (Mironov 2012, "On Significance of the Least Significant Bits for
// Differential Privacy").
//
// # What is assumed
//
//   - The words of the source are uniform and independent: random.Source is AES-256 in counter
//     mode.
//   - The observer has no clock: how long a draw takes depends on what is drawn.
package discrete
