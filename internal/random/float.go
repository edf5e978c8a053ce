package random

// Float64 returns a uniform number strictly between 0 and 1, (x + 1/2)·2^-64 for a word x, rounded
// to float64. So small numbers come with all 53 bits of precision, the smallest is 2^-65, and 0 and
// 1 never appear.
func (s *Source) Float64() float64 { return unit(s.Uint64()) }

// unit maps a word to (0, 1). The largest 2^10 words or so would round up to 1; they are given the
// float below.
func unit(x uint64) float64 {
	return min((float64(x)+0.5)*0x1p-64, 1-0x1p-53)
}
