package train

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// Equal ledgers give equal statements, byte for byte, whatever the path of the run is called
// (RELIABILITY R48).
func TestStatementIsAFunctionOfTheLedger(t *testing.T) {
	o := options(t)
	first := train(t, o)
	text, object := tiny.Read(t, filepath.Join(first.Run, folder.Statement)), tiny.Read(t, filepath.Join(first.Run, folder.StatementData))
	t.Chdir(o.RunsDir)
	for _, dir := range []string{first.Run, filepath.Base(first.Run), "./" + filepath.Base(first.Run) + "/"} {
		fit(t, open(t, dir, o))
		if tiny.Read(t, filepath.Join(first.Run, folder.Statement)) != text || tiny.Read(t, filepath.Join(first.Run, folder.StatementData)) != object {
			t.Errorf("the statement differs when the run is called %s:\n%s\n---\n%s", dir, tiny.Read(t, filepath.Join(first.Run, folder.StatementData)), object)
		}
	}
}

// The statement says everything that the claim rests on.
func TestStatementSaysWhatRan(t *testing.T) {
	r := train(t, options(t), "privacy.epsilon=3", "privacy.noise_multiplier=1.5", "training.batch_size=60", "privacy.clip_norm=0.25")
	s := tiny.Must(statement.Read(r.Run))(t)
	want := statement.Statement{
		Run: s.Run, Status: string(run.Done), Unit: "one training example", Relation: "zero-out", TargetEpsilon: 3,
		Answer: account.Answer{Epsilon: r.Epsilon, Delta: 1e-4, Accountant: "rdp"}, Method: s.Method, Sampler: "Poisson", SamplingProbability: 0.2, Mechanism: "Gaussian", NoiseMultiplier: 1.5,
		ClipNorm: 0.25, Clipping: "flat", ExpectedBatchSize: 60, MaxSteps: 12, PlannedSteps: 12, Steps: 12, LedgerEntries: 12, LedgerHead: s.LedgerHead, ModelSHA256: s.ModelSHA256, Sum: s.Sum, Data: "stripes", Examples: 300, Shape: "6x6x1", Classes: 3,
	}
	if _, info, err := checkpoints.ReadJournal(filepath.Join(r.Run, folder.Ledger)); err != nil || s.LedgerHead != info.Hash {
		t.Errorf("found the head %s in the statement, expected %s of the ledger (%v)", s.LedgerHead, info.Hash, err)
	}
	notPrivate := s.NotPrivate
	s.NotPrivate = nil
	// What the door says of itself, and what it adds: n·T·2^-124 by the sampler, times 1+e^ε, and
	// nothing to speak of by the noise.
	want.Neighbours = "two sets with the same places, one of which holds one training example in one set and is empty in the other"
	want.Public = "the number of places, 300, the sampling, and everything else in the configuration"
	want.Sampling = "Poisson: every example joins each batch independently with probability q = 0.2"
	want.Noise = "Gaussian noise of standard deviation σ·C on every coordinate of the sum, σ = 1.5"
	want.Bound = "flat: what one example adds to the sum, over all coordinates, has L2 norm at most C = 0.25"
	want.NoiseValues, want.AddedDelta = 12*111, s.AddedDelta
	if added := 12 * 300 * 0x1p-124 * (1 + math.Exp(s.Epsilon)); s.AddedDelta < added || s.AddedDelta > 1.001*added {
		t.Errorf("%v is added to δ, expected %v", s.AddedDelta, added)
	}
	want.EpsilonPlain = s.EpsilonPlain
	if s.EpsilonPlain == nil || *s.EpsilonPlain < s.Epsilon || *s.EpsilonPlain > 1.1*s.Epsilon {
		t.Errorf("the plain formula gives %v, expected a little more than %v", s.EpsilonPlain, s.Epsilon)
	}
	if a, b := tiny.JSON(t, s), tiny.JSON(t, want); a != b {
		t.Errorf("found    %s\nexpected %s", a, b)
	}
	if !strings.Contains(s.Method, "Mironov, Talwar, Zhang 2019") || !strings.Contains(s.Method, "Canonne, Kamath, Steinke 2020") {
		t.Errorf("the method names no source: %s", s.Method)
	}
	tiny.Says(t, r.Run, append(notPrivate, "q = 0.2", "σ = 1.5", "C = 0.25", "T = 12", "of a budget of 3", "the expected batch size 60", want.Neighbours, want.Public, "P[the results are in S, with one set] ≤ e^ε · P[the results are in S, with the other] + δ", "nothing to ε; to δ less than 1e-")...)
}

// Diagnostics are named as not private when they were on, and not mentioned when they were off.
func TestStatementNamesDiagnosticsOnlyIfOn(t *testing.T) {
	for _, on := range []bool{false, true} {
		override := fmt.Sprint("run.private_diagnostics=", on)
		r := train(t, options(t), override)
		for _, name := range []string{folder.Statement, folder.StatementData} {
			if strings.Contains(tiny.Read(t, filepath.Join(r.Run, name)), folder.Diagnostics) != on {
				t.Errorf("%s, %s: expected the diagnostics to be mentioned: %v", override, name, on)
			}
		}
	}
}

// Diagnostics of an earlier part of the run stay in its statement after they were switched off.
func TestStatementRemembersDiagnostics(t *testing.T) {
	o := options(t)
	r := train(t, o, "run.private_diagnostics=true")
	edit(t, filepath.Join(r.Run, folder.Config), "private_diagnostics: true", "private_diagnostics: false")
	fit(t, open(t, r.Run, o))
	tiny.Says(t, r.Run, folder.Diagnostics) // which lie beside it
}

// What is printed is never below what was computed.
func TestStatementRoundsUp(t *testing.T) {
	text, err := statement.Statement{Answer: account.Answer{Epsilon: 2.00001, Delta: 1e-5}}.Markdown()
	if err != nil || !strings.Contains(string(text), "(2.001, 1e-05)-differentially private") {
		t.Errorf("found %v\n%s", err, text)
	}
}

// What is public about the loss is in the statement.
func TestStatementSaysTheLoss(t *testing.T) {
	c, s := tiny.Parse(t, "training.label_smoothing=0.1"), statement.Statement{}
	c.Data.Bounds, c.Training.ClassWeights = []float64{-1, 9}, []float64{1, 2, 1}
	ofLoss(c, &s)
	if found := fmt.Sprint(s.Facts); found != "[{Loss cross_entropy, of numbers between the public bounds -1 and 9, which the network calls -1 and 1; one beyond counts as the bound, with the public weights [1 2 1], with labels smoothed by 0.1}]" {
		t.Errorf("found %s", found)
	}
}

// A run with hardly any noise ends with a statement, too: where e^ε overflows, what is added to δ
// is 1, above which no δ is.
func TestStatementOfHardlyAnyNoise(t *testing.T) {
	o := options(t)
	r := train(t, o, "privacy.noise_multiplier=0.01")
	s, err := statement.Read(r.Run)
	if err != nil || s.AddedDelta != 1 || s.Epsilon != r.Epsilon || s.Epsilon < 709 {
		t.Errorf("found ε = %v with %v added to δ (%v), expected a large ε and 1", s.Epsilon, s.AddedDelta, err)
	}
}
