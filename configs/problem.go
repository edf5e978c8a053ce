package configs

import "dpsgd/configs/internal/source"

// ErrInvalid is matched, with errors.Is, by every error about what a configuration says.
var ErrInvalid = source.ErrInvalid

// Problem is one thing that is wrong with a configuration, and where: File, Line and Column, or the
// Override; the Key; and the Message, what was found and what was expected.
type Problem = source.Problem

// Problems is everything that is wrong with a configuration, one line each: files in reading order
// first, then overrides. It matches ErrInvalid.
type Problems = source.Problems
