package release

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/random"
)

// Every sampling of the table draws distinct records that are there, each as often as the event
// says that it tells the accountant, and is valid for every batch size up to the records.
//
// A count of draws falls outside ±7.5 standard deviations with a chance below 1e-12; 50 records are
// looked at.
func TestSamplings(t *testing.T) {
	chances := map[string]float64{"poisson": 5. / 50, "full": 1, "cyclic": 5. / 50, "balls_in_bins": 5. / 50}
	for _, kind := range Samplings() {
		chance, ok := chances[kind.Name]
		if !ok || kind.New().Name() != kind.Name {
			t.Fatalf("%s has no row in this test, or calls itself %s", kind.Name, kind.New().Name())
		}
		const n, draws = 50, 4000
		s := kind.New().Sampler(5, n)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", kind.Name, err)
		}
		noise := accountant.Gaussian{NoiseMultiplier: 1}
		want := accountant.Event(accountant.PoissonSampled{SamplingProbability: chance, Event: noise})
		deviation := math.Sqrt(draws * chance * (1 - chance))
		if chance == 1 {
			want = noise // nothing amplifies
		}
		if _, ok := s.(cyclic); ok { // 500 turns for every record, each with 8 times the chance
			inside := accountant.PoissonSampled{SamplingProbability: 8 * chance, Event: noise}
			want, deviation = accountant.CyclicSampled{Blocks: 8, Event: inside}, math.Sqrt(draws/8*8*chance*(1-8*chance))
		}
		if _, ok := s.(ballsInBins); ok {
			want = accountant.BallsInBins{Bins: 10, Event: noise}
		}
		if e := s.Sampled(noise); e != want {
			t.Errorf("%s: found event %v, expected %v", kind.Name, e, want)
		}
		counts, src, sample := [n]int{}, random.New(), []int(nil)
		for turn := range draws {
			sample = At(s, turn).Sample(sample, n, src)
			seen := [n]bool{}
			for _, i := range sample {
				if i < 0 || i >= n || seen[i] {
					t.Fatalf("%s: found record %d twice or out of range", kind.Name, i)
				}
				seen[i] = true
				counts[i]++
			}
		}
		for i, c := range counts {
			if !(math.Abs(float64(c)-draws*chance) <= 7.5*deviation) {
				t.Errorf("%s: record %d came %d times in %d draws, expected %v ± %v", kind.Name, i, c, draws, draws*chance, 7.5*deviation)
			}
		}
		if s.Excess(n) > n*0x1p-124 {
			t.Errorf("%s: found an excess of %g", kind.Name, s.Excess(n))
		}
	}
}

// Of any number of records every one is in one block; turns that follow each other are of blocks
// that do, whatever came before; and nothing is drawn before a turn is known.
func TestBlocksTakeTurns(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 9, 23, 24} {
		for _, blocks := range []int{1, 2, 3, 8, 30} {
			all := cyclic{data.Poisson{SamplingProbability: 1}, blocks, -1}
			if err := all.Validate(); err != nil || all.Separation() != blocks {
				t.Fatalf("found a separation of %d (%v), expected %d", all.Separation(), err, blocks)
			}
			last := make([]int, n)
			for i := range last {
				last[i] = -1
			}
			for turn := 5; turn < 5+3*blocks; turn++ {
				for _, i := range At(all, turn).Sample(nil, n, random.ForTest(1)) {
					if last[i] >= 0 && turn-last[i] != blocks || i%blocks != turn%blocks {
						t.Fatalf("%d records in %d blocks: record %d came in turns %d and %d", n, blocks, i, last[i], turn)
					}
					last[i] = turn
				}
			}
			for i, turn := range last {
				if turn < 0 {
					t.Fatalf("%d records in %d blocks: record %d never came", n, blocks, i)
				}
			}
		}
	}
	if err := (&Cyclic{Blocks: 8}).Sampler(10, 79).Validate(); err == nil {
		t.Error("batches larger than a block are valid")
	}
	defer func() {
		if recover() == nil {
			t.Error("a sample was drawn without its turn")
		}
	}()
	(&Cyclic{Blocks: 8}).Sampler(5, 50).Sample(nil, 50, random.ForTest(1))
}

// Noise cannot change inside an epoch of balls in bins, whatever mechanism a door is given; between
// two epochs it can. Nothing was recorded or drawn for a release that is refused.
func TestNoiseIsConstantInAnEpoch(t *testing.T) {
	for changed := 1; changed <= 9; changed++ {
		s := &script{}
		d := newDoor(s, 1)
		d.plan.Sampler = ballsInBins{&data.BallsInBins{Bins: 3}}
		for step := range 9 {
			if step == changed {
				d.plan.Mechanism = scriptMechanism{must(NewGaussian(2e-30, nil)), s}
			}
			s.events = nil
			err := d.Release(step, s, func(Noisy) {})
			if step < changed || changed%3 == 0 {
				must(0, err)
			} else if !errors.Is(err, ErrPlan) || len(s.events) > 0 || s.ledger.Count() != changed {
				t.Errorf("noise that changes at step %d: found %v and the events %v at step %d", changed, err, s.events, step)
			}
		}
	}
}

func turns(l *accountant.Ledger) int { n, _ := l.Turns(); return n }

// The door takes the turn from the ledger: also of a run that went on, or of which a release failed
// behind its event.
func TestTurnIsThatOfTheLedger(t *testing.T) {
	s := &script{}
	d := newDoor(s, 1)
	m := newCorrelated(1e-30, strategy(1, 0.5))
	d.plan.Sampler, d.plan.Mechanism = (&Cyclic{Blocks: 4}).Sampler(records/4, records), m
	for turn, step := range []int{0, 1, 2, 2, 0, 1, 2, 3} { // steps 2 and 0 to 2 are repeated
		s.asked = nil
		must(0, d.Release(step, s, func(Noisy) {}))
		must(0, s.ledger.Add(accountant.ApproxDP{}, step)) // such as a choice of more steps: no turn
		for _, i := range s.asked {
			if i%4 != turn%4 {
				t.Errorf("turn %d, step %d: record %d contributed", turn, step, i)
			}
		}
		if len(s.asked) != records/4 || m.next != turn+1 {
			t.Errorf("turn %d: %d records contributed, and noise goes on in turn %d; expected %d and the next", turn, len(s.asked), m.next, records/4)
		}
	}
	if want := (accountant.CyclicSampled{Blocks: 4, Event: accountant.PoissonSampled{SamplingProbability: 1, Event: accountant.Gaussian{NoiseMultiplier: 1e-30}}}); turns(&s.ledger) != 8 || s.ledger.Entries()[0].Event != want {
		t.Errorf("the ledger holds %v, expected 8 of %v", s.ledger.Entries(), want)
	}
}
