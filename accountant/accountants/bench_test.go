package accountants

import (
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/pld"
	"dpsgd/accountant/rdp"
)

// The questions of docs/accounting.md. Run them on one core, several times:
//
//	go test ./accountant -run '^$' -bench Question -cpu 1 -count 6

func questionLedger(b *testing.B, entries ...accountant.Entry) *accountant.Ledger {
	b.Helper()
	var l accountant.Ledger
	for _, e := range entries {
		if err := l.Add(e.Event, e.Count); err != nil {
			b.Fatal(err)
		}
	}
	return &l
}

func benchmarkEpsilon(b *testing.B, a accountant.Accountant, l *accountant.Ledger, delta float64) {
	b.Helper()
	for b.Loop() {
		if _, err := a.Guarantee(l, delta); err != nil {
			b.Fatal(err)
		}
	}
}

// dpsgd is the question that the accountants are timed on: q = 0.01, σ = 1, 10,000 steps.
var dpsgd = accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1}}, Count: 10_000}

func BenchmarkQuestionRDPCached(b *testing.B) {
	a, err := rdp.New(accountant.AddOrRemoveOne, rdp.DefaultOrders())
	if err != nil {
		b.Fatal(err)
	}
	benchmarkEpsilon(b, a, questionLedger(b, dpsgd), 1e-5)
}

func BenchmarkQuestionRDPCold(b *testing.B) {
	l := questionLedger(b, dpsgd)
	for b.Loop() {
		a, err := rdp.New(accountant.AddOrRemoveOne, rdp.DefaultOrders())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := a.Guarantee(l, 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuestionExact(b *testing.B) {
	a, err := pld.NewExact(accountant.AddOrRemoveOne)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkEpsilon(b, a, questionLedger(b, dpsgd), 1e-5)
}

func BenchmarkQuestionPLD(b *testing.B) {
	a, err := pld.New(accountant.AddOrRemoveOne, 1e-4)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkEpsilon(b, a, questionLedger(b, dpsgd), 1e-5)
}

func BenchmarkQuestionExactCalibration(b *testing.B) {
	a, err := pld.NewExact(accountant.AddOrRemoveOne)
	if err != nil {
		b.Fatal(err)
	}
	event := func(sigma float64) accountant.Event {
		return accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: sigma}}
	}
	for b.Loop() {
		if _, err := accountant.CalibrateNoiseMultiplier(a, event, 10_000, accountant.Guarantee{Epsilon: 3, Delta: 1e-5}); err != nil {
			b.Fatal(err)
		}
	}
}

// A thousand different phases of ten steps each.
func BenchmarkQuestionExactPhases(b *testing.B) {
	a, err := pld.NewExact(accountant.AddOrRemoveOne)
	if err != nil {
		b.Fatal(err)
	}
	var phases []accountant.Entry
	for i := range 1000 {
		x := float64(i) / 1000
		phases = append(phases, accountant.Entry{Event: accountant.PoissonSampled{SamplingProbability: 0.001 + 0.01*x, Event: accountant.Gaussian{NoiseMultiplier: 1 + x}}, Count: 10})
	}
	benchmarkEpsilon(b, a, questionLedger(b, phases...), 1e-5)
}
