package records

import (
	"math"
	"slices"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
)

// rows contributes a row of its own for every example, of norm 3.
type rows struct{ asked []int }

func (r *rows) Capacity() int { return 8 }
func (r *rows) Contributions(indices []int) (clip.Batch, error) {
	r.asked = append(r.asked, indices...)
	values, squares := make([]float32, 4*len(indices)), make([]float64, len(indices))
	for i, example := range indices {
		values[4*i+example%4], squares[i] = 3, 9
	}
	return clip.Batch{SquaredNorms: squares, Parts: []clip.Part{clip.Stored(values, 4)}}, nil
}

// sumOf is what a batch adds to a sum with clip norm 1.
func sumOf(t *testing.T, batch clip.Batch, err error) []float64 {
	t.Helper()
	tiny.Check(t, err)
	sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: 1}, 4, nil))(t)
	tiny.Check(t, sum.Add(batch, len(batch.SquaredNorms)))
	values := make([]float64, 4)
	sum.Release(func(integers clip.Integers, l clip.Lattice) {
		sums := make([]int64, 4)
		integers(sums, 0)
		for i, v := range sums {
			values[i] = float64(v) * l.Spacing
		}
	})
	return values
}

// A person with 100 examples moves a release no further than one with a single one: by C at most,
// whatever is drawn, and whoever else is in the sample.
func TestAPersonMovesASumByOneExample(t *testing.T) {
	own := [][]int{make([]int, 100), {100}, {101, 102, 103, 104, 105}}
	for i := range own[0] {
		own[0][i] = i
	}
	source := &rows{}
	one := (&people{own: own, src: random.ForTest(1)}).from(source)
	for _, sample := range [][]int{{0}, {1}, {0, 1}, {1, 0}, {0, 1, 2}, {2, 1, 0}} {
		for range 20 {
			source.asked = nil
			batch, err := one.Contributions(sample)
			with := sumOf(t, batch, err)
			asked := slices.Clone(source.asked)
			if len(asked) != len(sample) {
				t.Fatalf("persons %v: examples %v were asked for, expected one of each person", sample, asked)
			}
			for i, person := range sample {
				if !slices.Contains(own[person], asked[i]) {
					t.Fatalf("persons %v: example %d was asked for in place of one of person %d", sample, asked[i], person)
				}
				batch, err := source.Contributions(slices.Delete(slices.Clone(asked), i, i+1))
				square := 0.0
				for j, v := range sumOf(t, batch, err) {
					square += (with[j] - v) * (with[j] - v)
				}
				if !(square <= 1) || square < 0.99 {
					t.Errorf("persons %v: person %d moves the sum by %g, expected 1 and no more", sample, person, math.Sqrt(square))
				}
			}
		}
	}
}

// Every example of a person is as likely: chi-squared of 10,000 draws among 10 is above 43 with a
// probability of 2e-6 (9 degrees of freedom); the seed is fixed.
func TestExamplesAreDrawnAlike(t *testing.T) {
	own := []int{3, 5, 8, 13, 21, 34, 55, 89, 144, 233}
	source := &rows{}
	one := (&people{own: [][]int{{1}, own}, src: random.ForTest(2)}).from(source)
	for range 10_000 {
		tiny.Must(one.Contributions([]int{0, 1}))(t)
	}
	counts := map[int]float64{}
	for _, example := range source.asked {
		counts[example]++
	}
	chi2 := 0.0
	for _, example := range own {
		chi2 += (counts[example] - 1000) * (counts[example] - 1000) / 1000
	}
	if chi2 > 43 || counts[1] != 10_000 {
		t.Errorf("chi-squared is %.1f, expected at most 43; the other person's example came %v times of 10000", chi2, counts[1])
	}
}
