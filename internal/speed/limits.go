package speed

import "math"

// mostRanks is where the search for limits ends.
const mostRanks = 10_000

// Limits say where more ranks stop paying; 0 is at no number up to one example a rank and 10,000 ranks.
type Limits struct {
	Below90  int `json:"below_90_percent"` // the first number of ranks with a lower efficiency
	Below50  int `json:"below_50_percent"`
	Fastest  int `json:"fastest"`  // beyond it steps take longer
	Searched int `json:"searched"` // up to so many
}

// Limits looks through all numbers of ranks.
func (j Job) Limits(m Machine, w Network) Limits {
	l := Limits{Fastest: 1, Searched: max(1, min(mostRanks, int(j.Batch)))}
	one := j.At(m, w, 1)
	fastest := one.Seconds()
	for n := 2; n <= l.Searched; n++ {
		s := j.At(m, w, n)
		efficiency := s.Efficiency(one)
		if efficiency < 0.9 && l.Below90 == 0 {
			l.Below90 = n
		}
		if efficiency < 0.5 && l.Below50 == 0 {
			l.Below50 = n
		}
		if s.Seconds() < fastest {
			l.Fastest, fastest = n, s.Seconds()
		}
	}
	return l
}

// WithBatch is the same job with so many times the examples in a step, from this many records.
func (j Job) WithBatch(times float64, records int) Job {
	n := float64(records)
	if j.Deviation > 0 {
		chance := min(1, times*j.Batch/n)
		j.Deviation = math.Sqrt(n * chance * (1 - chance))
	}
	j.Batch = min(n, times*j.Batch)
	return j
}
