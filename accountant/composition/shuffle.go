package composition

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Shuffle returns an epsilon such that n reports are (epsilon, delta)-private
// after a uniformly random shuffle, where every record passes a local randomizer
// that is (local, 0)-private. It is the smallest that the clone pair of Feldman,
// McMillan, Talwar 2021 gives, by numbers, up to a relative error of about 1e-9 on
// the private side; far below ShuffleClosedForm, and never above local.
//
// Relation: replacing one record. The randomizers may be chosen adaptively, each
// after the reports before it.
func Shuffle(local float64, n int, delta float64) (epsilon float64, err error) {
	if err := validateShuffle(local, n, delta); err != nil {
		return 0, err
	}
	switch {
	case delta == 1 || local == 0:
		return 0, nil
	case delta < tiniest:
		return local, nil
	}
	return math.Min(local, numeric.Up(leastEpsilon(newClones(local, n, delta*1e-13), delta, local), 4)), nil
}

// ShuffleDelta returns a delta such that the n shuffled reports of Shuffle are
// (epsilon, delta)-private: the clone pair's, up to a relative error of about 1e-9 or
// an absolute 1e-280, on the private side.
func ShuffleDelta(local float64, n int, epsilon float64) (delta float64, err error) {
	if err := validateShuffle(local, n, 0); err != nil {
		return 0, err
	}
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	if epsilon >= local {
		return 0, nil
	}
	delta, _ = newClones(local, n, 1e-290).at(epsilon)
	return delta, nil
}

// ShuffleClosedForm returns the epsilon of Theorem III.1 in Feldman, McMillan,
// Talwar 2021 (arXiv:2012.12803),
//
//	log(1 + (e^l - 1)/(e^l + 1) · (8√(e^l ln(4/delta))/√n + 8e^l/n)),  l = local,
//
// or local if that is smaller. It is an error unless l ≤ log(n/(16 ln(2/delta))).
// (The program published with the paper evaluates a slightly larger formula.)
//
// Relation and randomizers are those of Shuffle, whose answer is better and has
// no condition.
func ShuffleClosedForm(local float64, n int, delta float64) (epsilon float64, err error) {
	if err := validateShuffle(local, n, delta); err != nil {
		return 0, err
	}
	if delta == 0 || delta == 1 {
		return 0, fmt.Errorf("%w: delta is %v, must be in (0, 1) for the closed form", ErrInvalid, delta)
	}
	reports := float64(n)
	if most := math.Log(reports / (16 * math.Log(2/delta))); !(local <= most) {
		return 0, fmt.Errorf("%w: local epsilon is %v, the closed form needs at most log(n/(16 ln(2/delta))) = %v", ErrInvalid, local, most)
	}
	e := math.Exp(local)
	spread := 8*math.Sqrt(e*math.Log(4/delta)/reports) + 8*e/reports
	return math.Min(local, numeric.Up(math.Log1p(math.Tanh(local/2)*spread), 16)), nil
}

func validateShuffle(local float64, n int, delta float64) error {
	if !(local >= 0) || math.IsInf(local, 1) {
		return fmt.Errorf("%w: local epsilon is %v, must be finite and at least 0", ErrInvalid, local)
	}
	if n < 1 || n > maxCount {
		return fmt.Errorf("%w: number of reports is %d, must be from 1 to %d", ErrInvalid, n, maxCount)
	}
	return validateDelta("delta", delta)
}
