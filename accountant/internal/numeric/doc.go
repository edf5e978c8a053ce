// Package numeric is the arithmetic that the accountants share: sums of numbers that are given by
// their logarithms, sums and products that are rounded up, and the binomial distribution.
package numeric
