// Package numeric is the arithmetic that the accountants share: sums of numbers that are given by
// their logarithms, and sums and products that are rounded up.
package numeric
