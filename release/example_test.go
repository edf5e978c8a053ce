package release_test

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// everybody is a sampler of our own: all records in every release, so that there is no
// amplification to account for.
type everybody struct{}

func (everybody) Sample(dst []int, n int, _ *random.Source) []int {
	dst = dst[:0]
	for i := range n {
		dst = append(dst, i)
	}
	return dst
}
func (everybody) Sampled(e accountant.Event) accountant.Event { return e }
func (everybody) Validate() error                             { return nil }
func (everybody) Varies() bool                                { return false }
func (everybody) Excess(int) float64                          { return 0 }
func (everybody) Name() string                                { return "everybody" }
func (everybody) String() string                              { return "every record in every release" }

// smooth is a clipping policy of our own: the longer a contribution, the closer to C it is scaled,
// without an edge where clipping begins.
type smooth struct{ clipNorm float64 }

func (s smooth) Factors(dst []float32, squaredNorms []float64) {
	for i, square := range squaredNorms {
		dst[i] = 0
		if norm := math.Sqrt(square); norm < math.MaxFloat32 { // false for NaN
			dst[i] = float32(s.clipNorm * (1 - 0x1p-12) / math.Hypot(norm, s.clipNorm))
		}
	}
}
func (s smooth) Bound() float64 { return s.clipNorm }
func (smooth) Name() string     { return "smooth" }
func (s smooth) String() string { return fmt.Sprintf("bent to below norm C = %v", s.clipNorm) }

// falling is a mechanism of our own: noise that halves with every release.
type falling struct{ first float64 }

func (f falling) at(step int) *release.Gaussian {
	m, err := release.NewGaussian(f.first/math.Pow(2, float64(step)), nil)
	if err != nil {
		panic(err)
	}
	return m
}
func (f falling) Event(step int) accountant.Event           { return f.at(step).Event(step) }
func (f falling) Deviation(step int, bound float64) float64 { return f.at(step).Deviation(step, bound) }
func (falling) Coarse() bool                                { return false }
func (falling) Name() string                                { return "falling Gaussian" }
func (f falling) String() string                            { return "Gaussian noise that halves with every release" }
func (f falling) Privatize(step int, sum *clip.Sum, src *random.Source, consume func(release.Noisy)) error {
	return f.at(step).Privatize(step, sum, src, consume)
}

// ages are records that each contribute one number.
type ages []float32

func (a ages) Capacity() int { return 1000 }

func (a ages) Contributions(indices []int) (clip.Batch, error) {
	rows, squaredNorms := make([]float32, len(indices)), make([]float64, len(indices))
	for i, record := range indices {
		rows[i], squaredNorms[i] = a[record], float64(a[record])*float64(a[record])
	}
	return clip.Batch{SquaredNorms: squaredNorms, Parts: []clip.Part{clip.Stored(rows, 1)}}, nil
}

// A plan takes any sampler, clipping policy and mechanism. Here three of our own release a count
// twice: contributions of people's ages, each scaled to nearly 1.
func Example_ownPlan() {
	plan := release.Plan{
		Unit: "one person", Records: 10_000, Sampler: everybody{},
		Policy: smooth{clipNorm: 1}, Mechanism: falling{first: 20},
	}
	people := make(ages, plan.Records)
	for i := range people {
		people[i] = float32(20 + i%60)
	}
	journal := new(release.MemoryJournal)
	door, err := release.NewDoor(plan, 1, journal, nil, nil)
	if err != nil {
		panic(err)
	}
	for step := range 2 {
		err := door.Release(step, people, func(n release.Noisy) {
			fmt.Printf("about %.0f thousand, give or take %.0f\n", n.Values()[0]/1000, n.Deviation())
		})
		if err != nil {
			panic(err)
		}
	}
	epsilon, err := accountant.PlainEpsilon(journal.Ledger(), 1e-6)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d releases, ε < %.2f at δ = 1e-6\n", journal.Ledger().Count(), epsilon)
	// Output:
	// about 10 thousand, give or take 20
	// about 10 thousand, give or take 10
	// 2 releases, ε < 0.48 at δ = 1e-6
}
