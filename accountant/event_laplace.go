package accountant

import "fmt"

// Laplace is the release of a sum of contributions of L1 norm at most C plus Laplace noise of scale
// b, density exp(-|x|/b)/(2b), in every coordinate. Scale is b/C, finite and at least 0; 0 means no
// noise.
type Laplace struct{ Scale float64 }

func (e Laplace) String() string { return fmt.Sprintf("Laplace(b=%v)", e.Scale) }

func (e Laplace) simplest() (Event, error) { return nonPrivateIf(e.Scale == 0, e) }

func (e Laplace) seenBy(size int) (Event, error) { return Laplace{shareDown(e.Scale, size)}, nil }

func (e *Laplace) parameters() []parameter {
	return []parameter{within("scale", &e.Scale, atLeastZero)}
}
