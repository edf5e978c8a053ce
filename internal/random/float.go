package random

// Float64 returns a uniform number strictly between 0 and 1, (x + 1/2)·2^-64 for a word x, rounded
// to float64. Numbers from 2^-11 have all 53 bits of precision, smaller ones those that the word
// has; the smallest is 2^-65, and 0 and 1 never appear.
func (s *Source) Float64() float64 { return unit(s.Uint64()) }

// unit maps a word to (0, 1). The largest 2^10 words or so would round up to 1; they
// become the largest float64 below 1.
func unit(x uint64) float64 { return min((float64(x)+0.5)*0x1p-64, 1-0x1p-53) }
