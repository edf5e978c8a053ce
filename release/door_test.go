package release

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/random"
)

// script records what happens at a door, in order, and fails where it is told to.
type script struct {
	events []string
	fail   string
	drawn  []int // sample
	asked  []int // records whose contributions were asked for
	ledger accountant.Ledger
	budget int // releases that are allowed
}

var errScript = errors.New("as the script says")

func (s *script) note(event string) error {
	s.events = append(s.events, event)
	if s.fail == event {
		return errScript
	}
	return nil
}

func (s *script) Begin(step int, e accountant.Event) func() error {
	return func() error {
		if err := s.note(fmt.Sprintf("record %d", step)); err != nil {
			return err
		}
		return s.ledger.Add(e, 1)
	}
}

func (s *script) Ledger() *accountant.Ledger { return s.ledger.Clone() }

func (s *script) allows(spent *accountant.Ledger, next accountant.Event) (bool, error) {
	if err := s.note("budget"); err != nil {
		return false, err
	}
	return spent.Count() < s.budget, nil
}

// scriptSampler is the Poisson sampler with a note.
type scriptSampler struct {
	data.Poisson
	s *script
}

func (p scriptSampler) Sample(dst []int, n int, src *random.Source) []int {
	p.s.note("sample")
	p.s.drawn = p.Poisson.Sample(dst, n, src)
	return p.s.drawn
}

// scriptMechanism is hardly any noise, with a note.
type scriptMechanism struct {
	*Gaussian
	s *script
}

func (m scriptMechanism) Privatize(step int, sum *clip.Sum, src *random.Source, consume func(Noisy)) error {
	m.s.note(fmt.Sprintf("noise %d", step))
	return m.Gaussian.Privatize(step, sum, src, consume)
}

// Capacity and Contributions make the script a source: record i adds 1/4 to coordinate i.
func (s *script) Capacity() int { return 3 }

func (s *script) Contributions(indices []int) (clip.Batch, error) {
	if s.fail == "contributions" {
		return clip.Batch{}, errScript
	}
	rows := make([]float32, s.Capacity()*records) // also padding, which is not to be read
	for i := range rows {
		rows[i] = 1000
	}
	for row, i := range indices {
		clear(rows[row*records : (row+1)*records])
		rows[row*records+i] = 0.25
	}
	s.asked = append(s.asked, indices...)
	return clip.Batch{SquaredNorms: make([]float64, s.Capacity()), Parts: []clip.Part{clip.Stored(rows, records)}}, nil
}

const records = 20

func newDoor(s *script, q float64) *Door {
	s.budget = 1000
	quiet := must(NewGaussian(1e-30, nil))
	plan := Plan{Records: records, Sampler: scriptSampler{data.Poisson{SamplingProbability: q}, s}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: scriptMechanism{quiet, s}}
	return must(NewDoor(plan, records, s, s.allows, nil))
}

// A release goes: budget, sample, then the event in the journal, then noise; by ranks, the sample
// goes to the others and their parts are added up before the event. Each record of the sample
// contributes once, whatever the capacity of the source, on whatever rank, also where there are
// more ranks than records; padding does not.
func TestReleaseInOrder(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 7, 64} { // of the group; 0 is a process alone
		for _, q := range []float64{0, 0.1, 0.5, 1} {
			s := &script{}
			d := newDoor(s, q)
			if size > 0 {
				d.Among(&scriptRanks{s: s, size: size})
			}
			for step := range 10 {
				s.events, s.asked = nil, nil
				values := make([]float64, records)
				must(0, d.Release(step, s, func(n Noisy) { copy(values[n.From():], n.Values()) }))
				want := []string{"budget", "sample", fmt.Sprintf("share %d", step), "reduce", fmt.Sprintf("record %d", step+1), fmt.Sprintf("noise %d", step)}
				if size == 0 {
					want = slices.Delete(want, 2, 4)
				}
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
			want := accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: 1e-30}}
			if entries := s.ledger.Entries(); len(entries) != 1 || entries[0] != (accountant.Entry{Event: want, Count: 10}) {
				t.Errorf("the ledger holds %v, expected 10 of %v", entries, want)
			}
		}
	}
}

// An empty sample is a release like any other.
func TestEmptySampleIsReleased(t *testing.T) {
	s := &script{}
	d := newDoor(s, 0)
	handedOut := 0
	must(0, d.Release(0, s, func(n Noisy) { handedOut += len(n.Values()) }))
	if handedOut != records || s.ledger.Count() != 1 || len(s.asked) != 0 {
		t.Errorf("%d values, %d events, contributions of %v", handedOut, s.ledger.Count(), s.asked)
	}
	d = newDoor(s, 1)
	must(0, d.Release(0, s, func(Noisy) {}))
	d.plan.Sampler = scriptSampler{data.Poisson{}, s}
	must(0, d.Release(1, s, func(n Noisy) {
		if slices.ContainsFunc(n.Values(), func(v float64) bool { return v != 0 }) {
			t.Errorf("found %v for nobody after a batch of everybody, expected zeros", n.Values())
		}
	}))
}

// Where anything fails, here or on another rank, nothing is handed out; past the budget nothing
// even begins.
func TestNothingLeavesAfterAnError(t *testing.T) {
	for _, test := range []struct {
		ranks int
		fail  string
		want  []string
		event int // in the journal
	}{
		{0, "budget", []string{"budget"}, 0},
		{0, "record 1", []string{"budget", "sample", "record 1"}, 0},
		{0, "contributions", []string{"budget", "sample", "record 1"}, 1},
		{3, "share 0", []string{"budget", "sample", "share 0", "record 1"}, 1},
		{3, "reduce", []string{"budget", "sample", "share 0", "reduce", "record 1"}, 1},
		{3, "contributions", []string{"budget", "sample", "share 0", "record 1"}, 1},
		{3, "record 1", []string{"budget", "sample", "share 0", "reduce", "record 1"}, 0},
	} {
		s := &script{fail: test.fail}
		d := newDoor(s, 1)
		if test.ranks > 0 {
			d.Among(&scriptRanks{s: s, size: test.ranks})
		}
		err := d.Release(0, s, func(Noisy) { t.Errorf("%s fails: a value was handed out", test.fail) })
		if !errors.Is(err, errScript) || !slices.Equal(s.events, test.want) || s.ledger.Count() != test.event {
			t.Errorf("%d ranks, %s fails: error %v after %q with %d events, expected %q and %d", test.ranks, test.fail, err, s.events, s.ledger.Count(), test.want, test.event)
		}
	}
	s := &script{}
	d := newDoor(s, 1)
	s.budget = 2
	for step := range 2 {
		must(0, d.Release(step, s, func(Noisy) {}))
	}
	s.events = nil
	err := d.Release(2, s, func(Noisy) { t.Error("a value was handed out past the budget") })
	if !errors.Is(err, ErrBudget) || !slices.Equal(s.events, []string{"budget"}) || s.ledger.Count() != 2 {
		t.Errorf("past the budget: error %v after %q with %d events", err, s.events, s.ledger.Count())
	}
}

// A door draws from the operating system's randomness: two of them draw other samples. Equal
// samples of 1000 records have probability 2^-1000.
func TestDoorsDrawOtherSamples(t *testing.T) {
	var samples []string
	for range 2 {
		s := &script{}
		d := newDoor(s, 0.5)
		d.plan.Records = 1000
		d.sample = d.plan.Sampler.Sample(nil, 1000, d.sampling)
		samples = append(samples, fmt.Sprint(d.sample))
	}
	if samples[0] == samples[1] {
		t.Error("two doors draw the same sample")
	}
}

func TestNewDoorRefuses(t *testing.T) {
	good := Plan{Records: 5, Sampler: data.Poisson{SamplingProbability: 0.5}, Policy: clip.Flat{ClipNorm: 1}, Mechanism: gaussian(1, 1, nil)}
	change := func(f func(*Plan)) Plan { p := good; f(&p); return p }
	for name, test := range map[string]struct {
		plan Plan
		dim  int
		want error
	}{
		"no sampler":      {change(func(p *Plan) { p.Sampler = nil }), 3, ErrPlan},
		"no policy":       {change(func(p *Plan) { p.Policy = nil }), 3, ErrPlan},
		"no mechanism":    {change(func(p *Plan) { p.Mechanism = nil }), 3, ErrPlan},
		"negative n":      {change(func(p *Plan) { p.Records = -1 }), 3, ErrPlan},
		"q above 1":       {change(func(p *Plan) { p.Sampler = data.Poisson{SamplingProbability: 1.5} }), 3, ErrPlan},
		"no coordinates":  {good, 0, clip.ErrLength},
		"bound not there": {change(func(p *Plan) { p.Policy = clip.Flat{} }), 3, clip.ErrClipNorm},
	} {
		if _, err := NewDoor(test.plan, test.dim, &script{}, nil, nil); !errors.Is(err, test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %v, want a line that wraps %v", name, err, test.want)
		}
	}
}

// The added δ covers the sampler's distance from its law, (1+e^ε)·T·n·2^-124 for Poisson samples,
// and the noise: above zero, and below any float above it. It is at most 1, and covers the noise
// alone where nothing is sampled.
func TestClaimAddsDelta(t *testing.T) {
	const dim, releases, records = 1000, 100_000, 60_000
	plan := Plan{Unit: "one example", Records: records, Policy: clip.Flat{ClipNorm: 1}, Mechanism: gaussian(1, 1, nil)}
	for _, epsilon := range []float64{0, 1, 8, 30} {
		plan.Sampler = data.Poisson{SamplingProbability: 0.01}
		want := (1 + math.Exp(epsilon)) * releases * records * 0x1p-124
		if got := plan.Claim(dim, releases, epsilon).AddedDelta; !(got >= want*(1-1e-12) && got <= want*(1+1e-12)) {
			t.Errorf("ε = %g: adds %g to δ, expected %g", epsilon, got, want)
		}
		plan.Sampler = data.Full{}
		if got := plan.Claim(dim, releases, epsilon).AddedDelta; got != math.SmallestNonzeroFloat64 {
			t.Errorf("ε = %g, without sampling: adds %g to δ, expected the least float above 0", epsilon, got)
		}
	}
	plan.Sampler = data.Poisson{SamplingProbability: 0.01}
	for _, epsilon := range []float64{500, 1000, math.Inf(1)} {
		if got := plan.Claim(dim, releases, epsilon).AddedDelta; got != 1 {
			t.Errorf("ε = %g: adds %g to δ, expected 1", epsilon, got)
		}
	}
	if got := plan.Claim(0, 0, 1).AddedDelta; got != 0 {
		t.Errorf("no releases add %g to δ", got)
	}
}
