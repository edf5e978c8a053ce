package kernel

import "time"

// A measurement of what the processor can do at most, against which benchmarks hold the products.

// multiplyAdder is a loop that does nothing but multiply and add in registers.
type multiplyAdder struct {
	run      func(rounds int)
	perRound int // multiply-adds of float32 numbers
}

// What FMALimit runs between two looks at the clock, and how many slices it measures at least.
const (
	limitRounds = 20_000 // about 60 µs with vectors
	limitPieces = 64     // for each thread
	limitSlices = 3
)

// FMALimit measures the limit of the machine: the rate, in GFLOP/s, of float32 multiply-adds (two
// operations each) that stay in registers, on all threads of the pool at once and with the widest
// vectors that processor and operating system support, whichever kernels are in use. It takes about
// d, and the answer is the best of several slices of that time: others at work on the machine make
// a slice slow, nothing makes it fast.
//
// Where the package has no assembly, the loop is portable Go, one number at a time, and the limit
// holds for such code.
func FMALimit(p *Pool, d time.Duration) float64 {
	loop := supportedKernels()[0].multiplyAdds
	loop.run(limitRounds) // wakes vector units that sleep
	best := 0.0
	for start, slices := time.Now(), 0; slices < limitSlices || time.Since(start) < d; slices++ {
		best = max(best, loop.rate(p, d/(2*limitSlices)))
	}
	return best
}

// rate returns the GFLOP/s of all threads of p in one slice of time, which lasts at least d.
func (m multiplyAdder) rate(p *Pool, d time.Duration) float64 {
	pieces := limitPieces * p.Threads()
	var done int
	start := time.Now()
	elapsed := time.Duration(0)
	for done == 0 || elapsed < d {
		p.Run(pieces, 1, func(_, lo, hi int) {
			for range hi - lo {
				m.run(limitRounds)
			}
		})
		done += pieces
		elapsed = time.Since(start)
	}
	return 2 * float64(m.perRound) * limitRounds * float64(done) / float64(elapsed.Nanoseconds())
}

// portableChains is the number of independent sums in portableMultiplyAdds.
const portableChains = 8

// portableMultiplyAdds runs rounds of portableChains independent multiply-adds, enough to hide the
// latency of an addition. It returns a total, and is not inlined, lest the compiler skip it all.
//
//go:noinline
func portableMultiplyAdds(rounds int) float32 {
	var a, b, c, d, e, f, g, h float32
	x := limitFactor
	for range rounds {
		a, b, c, d = a*x+x, b*x+x, c*x+x, d*x+x
		e, f, g, h = e*x+x, f*x+x, g*x+x, h*x+x
	}
	return a + b + c + d + e + f + g + h
}

// limitFactor is 0, but a variable: a compiler need not compute products with a constant 0.
var limitFactor float32
