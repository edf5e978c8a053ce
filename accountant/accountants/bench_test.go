package accountants

import (
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/rdp"
	"dpsgd/internal/tiny"
)

// The questions of docs/accounting.md. Run them on one core, several times:
//
//	go test ./accountant/accountants -run '^$' -bench Question -cpu 1 -count 6
func BenchmarkQuestion(b *testing.B) {
	step := func(q, sigma float64) accountant.Event {
		return accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}
	}
	dpsgd := accounttest.Ledger(b, accountant.Entry{Event: step(0.01, 1), Count: 10_000})
	var phases accountant.Ledger // a thousand different ones, of ten steps each
	for i := range 1000 {
		x := float64(i) / 1000
		tiny.Check(b, phases.Add(step(0.001+0.01*x, 1+x), 10))
	}
	exact := tiny.Must(New("exact", accountant.AddOrRemoveOne))(b)
	cached := tiny.Must(New("rdp", accountant.AddOrRemoveOne))(b)
	for name, ask := range map[string]func() error{
		"exact":        func() error { _, err := exact.Guarantee(dpsgd, 1e-5); return err },
		"exact/phases": func() error { _, err := exact.Guarantee(&phases, 1e-5); return err },
		"exact/calibration": func() error {
			noise := func(sigma float64) accountant.Event { return step(0.01, sigma) }
			_, err := accountant.CalibrateNoiseMultiplier(exact, noise, 10_000, accountant.Guarantee{Epsilon: 3, Delta: 1e-5})
			return err
		},
		"rdp/cached": func() error { _, err := cached.Guarantee(dpsgd, 1e-5); return err },
		"rdp/cold": func() error {
			cold, err := rdp.New(accountant.AddOrRemoveOne, rdp.DefaultOrders())
			if err == nil {
				_, err = cold.Guarantee(dpsgd, 1e-5)
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				tiny.Check(b, ask())
			}
		})
	}
}
