// Package sweep trains the trials of a sweep, each as an ordinary run in the sweep's folder, and
// says which point is best and what all of them cost together.
//
// What a sweep draws, points and their number, is in the folder before the first trial starts, so
// that a sweep that was killed goes on with the same.
package sweep
