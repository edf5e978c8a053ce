package release

import (
	"fmt"
	"math"
)

// Strategy is the first column of a banded lower-triangular Toeplitz matrix: dyadic numbers c_0 = 1,
// c_1, …, c_{b-1} from 0 to 1, as multiples of 2^-Digits. It is public.
type Strategy struct {
	Coefficients []int64 // of 2^-Digits
	Digits       int
}

// StrategyDigits is the number of digits of [Dyadic] coefficients.
const StrategyDigits = 10

// MostBands is the most coefficients of a [Strategy].
const MostBands = 1 << 10

// Dyadic returns the strategy nearest to c, of which the first is taken as 1 and the others are held
// within 0 and 1.
func Dyadic(c []float64) Strategy {
	s := Strategy{make([]int64, len(c)), StrategyDigits}
	for i, x := range c {
		s.Coefficients[i] = int64(math.RoundToEven(math.Ldexp(min(max(x, 0), 1), StrategyDigits)))
	}
	s.Coefficients[0] = 1 << StrategyDigits
	return s
}

func (s Strategy) check() error {
	one := int64(1) << s.Digits
	bad := s.Digits < 0 || s.Digits > StrategyDigits || len(s.Coefficients) < 2 || len(s.Coefficients) > MostBands || s.Coefficients[0] != one
	for _, c := range s.Coefficients {
		bad = bad || c < 0 || c > one
	}
	if bad {
		return fmt.Errorf("release: found the coefficients %v/2^%d of correlated noise, expected 2 to %d from 0 to 1, the first one 1, of at most %d digits: %w", s.Coefficients, s.Digits, MostBands, StrategyDigits, ErrPlan)
	}
	return nil
}

// Values returns the coefficients as numbers, which are exact.
func (s Strategy) Values() []float64 {
	c := make([]float64, len(s.Coefficients))
	for i, x := range s.Coefficients {
		c[i] = math.Ldexp(float64(x), -s.Digits)
	}
	return c
}

// Norm returns ‖c‖₂, rounded up. The sum of squares is exact: below 2^10·2^20.
func (s Strategy) Norm() float64 {
	total := int64(0)
	for _, c := range s.Coefficients {
		total += c * c
	}
	return up(math.Ldexp(math.Sqrt(float64(total)), -s.Digits))
}

// Inverse returns the first n values of the first column of the inverse: the noise of a step in the
// estimates of the steps from there on.
func (s Strategy) Inverse(n int) []float64 {
	one := make([]float64, n)
	one[0] = 1
	return Solve(s.Values(), one)
}

// Solve returns x with C·x = y for the banded Toeplitz matrix whose first column is c, c_0 = 1.
func Solve(c, y []float64) []float64 {
	x := make([]float64, len(y))
	for t := range y {
		x[t] = y[t]
		for i := 1; i < min(t+1, len(c)); i++ {
			x[t] -= c[i] * x[t-i]
		}
	}
	return x
}

// mostSpread bounds the steps after which the deviation of estimates counts as that of all others.
const mostSpread = 1 << 12

// spread returns the deviation of the estimates of a band's steps, in deviations of the noise.
func (s Strategy) spread() []float64 {
	d, total := s.Inverse(mostSpread), 0.0
	for t, x := range d {
		total += x * x
		d[t] = math.Sqrt(total)
	}
	return d
}
