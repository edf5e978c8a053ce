// Package ask holds the commands that ask accountants: epsilon, delta, calibrate, steps, compare and
// tradeoff. What they answer is computed by dpsgd/internal/account.
package ask
