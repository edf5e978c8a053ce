package accountant

import "fmt"

// Geometric is a count plus two-sided geometric noise of ratio exp(-Epsilon), which is
// Epsilon-differentially private (Ghosh, Roughgarden, Sundararajan 2009).
type Geometric struct{ Epsilon float64 }

// String writes the event like its formula.
func (e Geometric) String() string { return fmt.Sprintf("Geometric(ε=%v)", e.Epsilon) }

// Accountants read it as an event that they know.
func (e Geometric) simplest() (Event, error) { return ApproxDP{Epsilon: e.Epsilon}, nil }

func (e Geometric) seenBy(n int) (Event, error) { return Geometric{float64(n) * e.Epsilon}, nil }

func (e *Geometric) parameters() []parameter {
	return []parameter{within("epsilon", &e.Epsilon, atLeastZero)}
}
