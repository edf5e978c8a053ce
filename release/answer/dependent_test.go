package answer_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
	"dpsgd/internal/tiny"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// What is released lies about the bound, is above the divergence as often as Z says, and its event
// is that of its noise. 20,000 draws; 1 % may be below: within 7 deviations (false failures: 1 in
// 10^10).
func TestDataDependent(t *testing.T) {
	cast := make([]*answer.Votes, 40)
	for i := range cast {
		of := make([]int, 250)
		for teacher := range 2 * (i % 10) {
			of[teacher] = 1 + teacher%9
		}
		cast[i] = tiny.Must(answer.NewVotes(of, 10))(t)
	}
	a := votes.Aggregation{Max: votes.GaussianMax{Sigma: 40}}
	s := votes.Smooth{Order: 15, Beta: 0.015, Sigma: 5, Z: 2.3263478740408408}
	q := tiny.Must(answer.DataDependent(a, cast, nil, s))(t)
	if want := (accountant.SmoothGaussian{Beta: 0.015, NoiseMultiplier: 5}); q.Event() != want {
		t.Errorf("event %v, want %v", q.Event(), want)
	}
	divergence := 0.0
	for i := range cast {
		counts := []int{250 - 2*(i%10), 0, 0, 0, 0, 0, 0, 0, 0, 0}
		for teacher := range 2 * (i % 10) {
			counts[1+teacher%9]++
		}
		divergence += a.Max.Divergence(counts, 15)
	}
	desk := answer.NewDesk(new(release.MemoryJournal), nil)
	below, mean := 0, 0.0
	const draws = 20_000
	for range draws {
		got := tiny.Must(answer.Ask(desk, q))(t)
		mean += got / draws
		if got < divergence {
			below++
		}
	}
	if !(math.Abs(float64(below)-0.01*draws) <= 7*math.Sqrt(0.0099*draws)) {
		t.Errorf("%d of %d are below the divergence, expected about 1 %%", below, draws)
	}
	if !(mean > divergence && mean < divergence+1) {
		t.Errorf("mean %v, expected a little more than %v", mean, divergence)
	}
}

func TestDataDependentRefuses(t *testing.T) {
	cast := tiny.Must(answer.NewVotes([]int{0, 0, 1}, 2))(t)
	fewer := tiny.Must(answer.NewVotes([]int{0, 0}, 2))(t)
	good := votes.Smooth{Order: 2, Beta: 0.1, Sigma: 2, Z: 1}
	gaussian := votes.Aggregation{Max: votes.GaussianMax{Sigma: 2}}
	if _, err := answer.DataDependent(gaussian, []*answer.Votes{cast, fewer}, nil, good); err == nil || !strings.Contains(err.Error(), "other teachers") {
		t.Errorf("votes of other teachers: %v", err)
	}
	if _, err := answer.DataDependent(gaussian, nil, nil, good); err == nil {
		t.Error("accepted no votes")
	}
	if _, err := answer.DataDependent(gaussian, []*answer.Votes{cast}, nil, votes.Smooth{}); !errors.Is(err, accountant.ErrInvalid) {
		t.Errorf("no noise: %v", err)
	}
	least := votes.Smooth{Order: 1.5, Beta: 0.02, Sigma: 4, Z: 2.33} // unanimous votes alone would be in its range
	if _, err := answer.DataDependent(votes.Aggregation{Max: votes.GaussianMax{Sigma: 0.08}}, []*answer.Votes{tiny.Must(answer.NewVotes(make([]int, 250), 2))(t)}, nil, least); err == nil {
		t.Error("accepted noise with which other votes would be refused")
	}
	laplace := votes.Aggregation{Max: votes.LaplaceMax{Scale: 2}}
	if _, err := answer.DataDependent(laplace, []*answer.Votes{cast}, nil, good); !errors.Is(err, votes.ErrConditions) {
		t.Errorf("Laplace noise: %v", err)
	}
}
