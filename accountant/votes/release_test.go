package votes_test

import (
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
)

// What is released of all votes of a few teachers is as near to what is released of each of their
// neighbours as the event says: the centres differ by no more than either sensitivity, and the
// deviations by a factor of e^β. The sensitivity itself is no lower than what any votes at any distance
// change by, times e^(-β·distance). All of it by counting out the histograms, with and without a check.
func TestReleasedOfNeighbours(t *testing.T) {
	const teachers, classes = 9, 3
	smooth := votes.Smooth{Order: 2, Beta: 0.12, Sigma: 4, Z: 1}
	if err := smooth.Validate(); err != nil {
		t.Fatal(err)
	}
	event := smooth.Event().(accountant.SmoothGaussian)
	const rounding = 1 + 1e-9
	for name, a := range map[string]votes.Aggregation{
		"answers":   {Max: votes.GaussianMax{Sigma: 2}},
		"confident": {Max: votes.GaussianMax{Sigma: 3}, Check: &votes.Threshold{At: 6, Sigma: 2}},
	} {
		all, released, value := [][]int(nil), map[[3]int]votes.Private{}, map[[3]int]float64{}
		histograms(teachers, classes, func(c []int) {
			questions := []votes.Question{{Votes: c, Answered: true}}
			local, err := a.LocalSensitivity(questions, teachers, smooth.Order)
			if err != nil {
				t.Fatal(err)
			}
			f := a.Divergence(questions, smooth.Order)
			all, released[[3]int(c)], value[[3]int(c)] = append(all, c), smooth.Of(f, local), f
		})
		for _, c := range all {
			change, here := 0.0, released[[3]int(c)]
			for _, n := range neighbours(c) {
				there := released[[3]int(n)]
				change = max(change, math.Abs(value[[3]int(n)]-value[[3]int(c)]))
				if moved, most := math.Abs(here.Centre-there.Centre), min(here.Deviation, there.Deviation)/event.NoiseMultiplier; moved > most*rounding {
					t.Fatalf("%s: %v and %v have centres %v apart, the event says %v", name, c, n, moved, most)
				}
				if ratio := here.Deviation / there.Deviation; ratio > math.Exp(event.Beta)*rounding {
					t.Fatalf("%s: %v has %v times the deviation of %v, the event says %v", name, c, ratio, n, math.Exp(event.Beta))
				}
			}
			for _, other := range all {
				least := change * math.Exp(-smooth.Beta*float64(distance(c, other))) * smooth.Sigma
				if found := released[[3]int(other)].Deviation; found*rounding < least {
					t.Fatalf("%s: %v has the deviation %v, expected at least the %v of %v", name, other, found, least, c)
				}
			}
		}
	}
}
