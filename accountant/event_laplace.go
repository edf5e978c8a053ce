package accountant

import "fmt"

// Laplace is the release of a sum of contributions of L1 norm at most C plus Laplace noise of scale
// b, density exp(-|x|/b)/(2b), in every coordinate. Scale is b/C, finite and at least 0; 0 means no
// noise.
type Laplace struct{ Scale float64 }

func (e Laplace) String() string                 { return fmt.Sprintf("Laplace(b=%v)", e.Scale) }
func (e Laplace) simplest() (Event, error)       { return nonPrivateIf(e.Scale == 0, e) }
func (e Laplace) seenBy(size int) (Event, error) { return Laplace{shareDown(e.Scale, size)}, nil }

func (e *Laplace) parameters() []parameter {
	return []parameter{within("scale", &e.Scale, atLeastZero)}
}

// DiscreteLaplace is the release of sums of integer contributions, each of L1 norm at most
// Sensitivity, plus an integer of the two-sided geometric distribution in every coordinate:
// Pr[N = n] ∝ exp(-|n|/b) (Ghosh, Roughgarden, Sundararajan 2009). Scale is b/Sensitivity, finite
// and at least 0; 0 means no noise. It is a little less private than Laplace noise of the same
// Scale: the smaller Sensitivity, the coarser is the lattice, and the less private the release.
type DiscreteLaplace struct {
	Scale       float64
	Sensitivity int // at least 1
}

func (e DiscreteLaplace) String() string {
	return fmt.Sprintf("DiscreteLaplace(b=%v, Δ=%d)", e.Scale, e.Sensitivity)
}

func (e DiscreteLaplace) simplest() (Event, error) { return nonPrivateIf(e.Scale == 0, e) }

// seenBy returns e with size times the Sensitivity: together the records move the sums so far.
func (e DiscreteLaplace) seenBy(size int) (Event, error) {
	sensitivity, err := product(e.Sensitivity, size)
	return DiscreteLaplace{shareDown(e.Scale, size), sensitivity}, err
}

func (e *DiscreteLaplace) parameters() []parameter {
	return []parameter{
		within("scale", &e.Scale, atLeastZero),
		within("sensitivity", &e.Sensitivity, atLeast(1)),
	}
}
