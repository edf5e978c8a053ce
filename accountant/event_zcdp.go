package accountant

import (
	"fmt"
	"math"
)

// ZCDP is a release of which only Rho-zero-concentrated differential privacy is known, under the
// relation that an accountant is asked for (Bun, Steinke 2016, arXiv:1605.02065, Definition 1.1):
// its Rényi divergence of every order α is at most Rho·α.
type ZCDP struct{ Rho float64 }

func (e ZCDP) String() string           { return fmt.Sprintf("ZCDP(ρ=%v)", e.Rho) }
func (e ZCDP) simplest() (Event, error) { return nilIf(e.Rho == 0, e) }

// seenBy returns ZCDP of size²·Rho, rounded up (Bun, Steinke 2016, Proposition 1.9).
func (e ZCDP) seenBy(size int) (Event, error) {
	if e.Rho == 0 {
		return e, nil
	}
	n := float64(size)
	rho := e.Rho * n * n
	return nonPrivateIf(math.IsInf(rho, 1), ZCDP{math.Nextafter(rho*(1+0x1p-50), math.Inf(1))})
}

func (e *ZCDP) parameters() []parameter { return []parameter{within("rho", &e.Rho, atLeastZero)} }
