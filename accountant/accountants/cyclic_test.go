package accountants

import (
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/internal/tiny"
)

// T steps whose b blocks take turns, with chance b·q in the block, cost ⌈T/b⌉ Poisson samples. The
// values come from dp_accounting 0.6.0, which composes that many
// PoissonSampledDpEvent(b*q, GaussianDpEvent(sigma)) by
// PLDAccountant(ADD_OR_REMOVE_ONE, value_discretization_interval=1e-5) and by RdpAccountant.
func TestTurnsCostWhatOneBlockDoes(t *testing.T) {
	for _, c := range []struct {
		q, sigma, delta  float64
		blocks, steps    int
		wantPLD, wantRDP float64
	}{
		{0.01, 0.8, 1e-5, 8, 1000, 9.821440019237574, 11.120672770146943},
		{512. / 60000, 1, 1e-5, 16, 4687, 17.408332536883623, 19.094825940869562},
		{0.02, 2, 1e-6, 4, 3001, 6.041632481243586, 6.485020975319971},
		{0.001, 0.7, 1e-7, 64, 20000, 20.744416972251944, 22.647969542935243},
		{0.1, 4, 1e-5, 10, 1000, 13.20671309953973, 14.132226163159334},
	} {
		inside := accountant.PoissonSampled{SamplingProbability: c.q * float64(c.blocks), Event: accountant.Gaussian{NoiseMultiplier: c.sigma}}
		l := accounttest.Ledger(t, accountant.Entry{Event: accountant.CyclicSampled{Blocks: c.blocks, Event: inside}, Count: c.steps})
		for name, want := range map[string]float64{"exact": c.wantPLD, "rdp": c.wantRDP} {
			for _, r := range []accountant.Relation{accountant.AddOrRemoveOne, accountant.ZeroOut} {
				got := accounttest.Epsilon(t, tiny.Must(New(name, r))(t), l, c.delta)
				slack := 1e-6
				if name == "rdp" {
					slack = 0.02 // other orders
				}
				if accounttest.Relative(got, want) > slack {
					t.Errorf("%s: %d blocks, %d steps: found %v, expected %v", name, c.blocks, c.steps, got, want)
				}
			}
		}
		if plain, err := accountant.PlainEpsilon(l, c.delta); err != nil || plain < c.wantPLD || plain > 1.2*c.wantRDP {
			t.Errorf("plain: %v, %v, expected a little more than %v", plain, err, c.wantRDP)
		}
	}
}

// Two runs cost what their worst blocks cost together, in whatever order their ledgers come
// and though the blocks may be the same: one step of each of 8 runs is 8 releases, not one.
func TestTurnsOfTwoRunsDoNotFollowEachOther(t *testing.T) {
	inside := accountant.PoissonSampled{SamplingProbability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: 1}}
	one := accounttest.Ledger(t, accountant.Entry{Event: accountant.CyclicSampled{Blocks: 8, Event: inside}, Count: 1})
	all := new(accountant.Ledger)
	for range 8 {
		tiny.Check(t, all.Join(one))
	}
	want := accounttest.Ledger(t, accountant.Entry{Event: inside, Count: 8})
	for _, name := range []string{"exact", "pld", "rdp"} {
		a := tiny.Must(New(name, accountant.ZeroOut))(t)
		if got, want := accounttest.Epsilon(t, a, all, 1e-5), accounttest.Epsilon(t, a, want, 1e-5); got != want {
			t.Errorf("%s: found %v, expected %v", name, got, want)
		}
	}
}
