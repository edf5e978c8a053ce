package release

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"dpsgd/clip"
)

// scriptRanks are ranks beside rank 0 that a script plays: they add up their parts when rank 0 reduces.
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

// A release by ranks goes: budget, sample, sample to the others, their parts, event, noise. Each record
// of the sample contributes once, on whatever rank, also where there are more ranks than records.
func TestReleaseByRanksInOrder(t *testing.T) {
	for _, size := range []int{1, 2, 3, 7, 64} {
		for _, q := range []float64{0, 0.1, 0.5, 1} {
			s := &script{}
			d := newDoor(t, s, q)
			d.Among(&scriptRanks{s: s, size: size})
			for step := range 10 {
				s.events, s.asked = nil, nil
				values := make([]float64, records)
				if err := d.Release(step, s, func(n Noisy) { copy(values[n.From():], n.Values()) }); err != nil {
					t.Fatal(err)
				}
				want := []string{"budget", "sample", fmt.Sprintf("share %d", step), "reduce", fmt.Sprintf("record %d", step+1), fmt.Sprintf("noise %d", step)}
				if !slices.Equal(s.events, want) {
					t.Fatalf("%d ranks: release %d went %q, expected %q", size, step, s.events, want)
				}
				if !slices.Equal(s.asked, s.drawn) {
					t.Fatalf("%d ranks: contributions of %v, expected those of the sample %v, each once", size, s.asked, s.drawn)
				}
				for i, v := range values {
					if drawn := slices.Contains(s.drawn, i); drawn && v != 0.25 || !drawn && v != 0 {
						t.Fatalf("%d ranks: record %d, drawn %v, adds %v", size, i, drawn, v)
					}
				}
			}
		}
	}
}

// Where ranks have records of their own, each record of a sample contributes once, on the rank that has it:
// also where a rank has none of the sample, or none at all.
func TestRecordsContributeWhereTheyAre(t *testing.T) {
	for _, bounds := range [][]int{{0, records}, {0, 1, records}, {0, 7, 7, 20, records}, {0, 0, records, records}} {
		for _, q := range []float64{0, 0.1, 0.5, 1} {
			s := &script{}
			d := newDoor(t, s, q)
			d.Among(&scriptRanks{s: s, size: len(bounds) - 1, bounds: bounds})
			for step := range 10 {
				s.asked = nil
				if err := d.Release(step, s, func(Noisy) {}); err != nil {
					t.Fatal(err)
				}
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

// Where a rank fails nothing is handed out, and the event stays in the journal.
func TestNothingLeavesAfterARankFails(t *testing.T) {
	for _, fail := range []string{"share 0", "reduce", "contributions", "record 1"} {
		s := &script{fail: fail}
		d := newDoor(t, s, 1)
		d.Among(&scriptRanks{s: s, size: 3})
		err := d.Release(0, s, func(Noisy) { t.Errorf("%s fails: a value was handed out", fail) })
		if !errors.Is(err, errScript) || slices.Contains(s.events, "noise 0") || !slices.Contains(s.events, "record 1") {
			t.Errorf("%s fails: error %v after %q, expected the event and no noise", fail, err, s.events)
		}
	}
}
