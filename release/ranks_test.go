package release

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"dpsgd/clip"
)

// scriptRanks are ranks beside rank 0 that a script plays: they add up their parts when rank 0
// reduces.
type scriptRanks struct {
	s      *script
	size   int
	bounds []int // of records of their own
	shared []int
	step   int
}

func (r *scriptRanks) Rank() int     { return 0 }
func (r *scriptRanks) Size() int     { return r.size }
func (r *scriptRanks) Bounds() []int { return r.bounds }

func (r *scriptRanks) Share(step int, sample []int) error {
	r.step, r.shared = step, slices.Clone(sample)
	return r.s.note(fmt.Sprintf("share %d", step))
}

func (r *scriptRanks) Reduce(values []int64) error {
	if err := r.s.note("reduce"); err != nil {
		return err
	}
	for rank := 1; rank < r.size; rank++ {
		sum, err := clip.NewSum(clip.Flat{ClipNorm: 1}, len(values), nil)
		if err != nil {
			return err
		}
		sum.Refine(records)
		other := rankOf{rank, r.size, r.bounds, func(part []int64) error {
			for i, v := range part {
				values[i] += v
			}
			return nil
		}}
		if err := AddPart(sum, r.shared, r.s, other); err != nil {
			return err
		}
	}
	return nil
}

// rankOf is a rank that is not the first.
type rankOf struct {
	rank, size int
	bounds     []int
	reduce     func([]int64) error
}

func (r rankOf) Rank() int              { return r.rank }
func (r rankOf) Size() int              { return r.size }
func (r rankOf) Bounds() []int          { return r.bounds }
func (r rankOf) Share(int, []int) error { return errors.New("only rank 0 has a sample") }
func (r rankOf) Reduce(v []int64) error { return r.reduce(v) }

// Where ranks have records of their own, each record of a sample contributes once, on the rank that
// has it: also where a rank has none of the sample, or none at all.
func TestRecordsContributeWhereTheyAre(t *testing.T) {
	for _, bounds := range [][]int{{0, records}, {0, 1, records}, {0, 7, 7, 20, records}, {0, 0, records, records}} {
		for _, q := range []float64{0, 0.1, 0.5, 1} {
			s := &script{}
			d := newDoor(s, q)
			d.Among(&scriptRanks{s: s, size: len(bounds) - 1, bounds: bounds})
			for step := range 10 {
				s.asked = nil
				must(0, d.Release(step, s, func(Noisy) {}))
				if !slices.Equal(s.asked, s.drawn) {
					t.Fatalf("bounds %v: contributions of %v, expected those of the sample %v, each once", bounds, s.asked, s.drawn)
				}
				for rank := range len(bounds) - 1 {
					for _, i := range part(s.drawn, rankOf{rank: rank, size: len(bounds) - 1, bounds: bounds}) {
						if i < bounds[rank] || i >= bounds[rank+1] {
							t.Fatalf("bounds %v: rank %d adds record %d, which another one has", bounds, rank, i)
						}
					}
				}
			}
		}
	}
}
