package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/attack"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/pate"
	"dpsgd/internal/report"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
	"dpsgd/internal/trained"
	"dpsgd/internal/web"
	"dpsgd/model"
	"dpsgd/perexample"
)

// What people read has each number in its own place, with its sign, unit and direction of rounding.
func TestNumbersStandInTheirPlaces(t *testing.T) {
	share := func(right, low, high float64) score.Share {
		return score.Share{Examples: 40, Accuracy: right, Low: low, High: high}
	}
	exact := func(epsilon, rdp float64) account.Answer {
		return account.Answer{Epsilon: epsilon, EpsilonRDP: &rdp, Delta: 1e-6, Accountant: "exact"}
	}
	d := &train.Description{
		Data: setup.Outline{Name: "people", Examples: 9000, Shape: data.Row(7), Classes: 3}, Parameters: 24, Frozen: 2000, Trained: "trained: 0", MultiplyAdds: 21,
		Layers: []model.LayerInfo{{Name: "0", Kind: "linear", Output: []int{3}, Parameters: 24, MultiplyAdds: 21}}, Engines: []gradients.Assignment{{Parameter: "0.weight", Engine: perexample.Materialise}, {Parameter: "0.bias"}}, Curve: []account.Point{{Steps: 10, Epsilon: 0.12301}}, CurveRDP: []account.Point{{Steps: 10, Epsilon: 0.45601}}, Memory: setup.Memory{Graph: 5 << 20, Parameters: 2 << 20, Examples: 1 << 20, Program: 40 << 20},
		Privacy: train.Privacy{Unit: "all records of one person", Records: 150, NoiseMultiplier: 1.5, ClipNorm: 0.25, Clipping: "flat", Sampling: "Poisson", SamplingProbability: 0.02, ExpectedBatchSize: 3, PlannedSteps: 400, Steps: 300, Answer: exact(2.34501, 3.21001), TargetEpsilon: 2.5, Relation: "zero-out", Fallbacks: []account.Fallback{{Asked: "the noise", Accountant: "exact", Refusal: "no", Answer: "2"}}, Correlation: &train.Correlation{Bands: 4, Error: 0.75, Bytes: 3 << 20}},
	}
	labels := &train.Description{Privacy: train.Privacy{Unit: "the label of one person", ExpectedBatchSize: 30, PlannedSteps: 40, Answer: account.Answer{Epsilon: 1.0001, Delta: 1e-7, Accountant: "rdp"}}}
	releases, steps, made := 30, 1000, 12
	bounded, shortened := account.Cost{Epsilon: 2.00001, Delta: 1e-5, Steps: &steps, TargetEpsilon: 3, Capped: true, Releases: &releases, Run: "runs/a"}, account.Cost{Epsilon: 1.5, Delta: 1.23451e-5, Bracketed: true, Lower: 1.2e-5, Upper: 1.3e-5, Run: "runs/a", Releases: &releases}
	stopped := account.Cost{Epsilon: 2, Delta: 1e-5, Run: "runs/a", Releases: &releases, TargetEpsilon: 3, Made: &account.Cost{Epsilon: 1.00001, Releases: &made}}
	low, estimate, left, half, most := 1.234567890123, 1.30001, 0.1239, 0.5, 0.75
	compared := &account.Comparison{Delta: 1e-5, Subject: account.Subject{Relation: "zero-out", GroupSize: 2, SamplingProbability: 0.01, NoiseMultiplier: 4, Releases: 1000},
		Accountants: []account.Compared{{Accountant: "exact", Epsilon: &estimate, Lower: &low, Seconds: 0.002}, {Accountant: "gdp", Epsilon: &estimate, Estimate: true}, {Accountant: "rdp", Error: "accountant: unsupported: no"}}}
	total := books.Totals{Ledger: "datasets.jsonl", Datasets: []books.Total{{Data: checkpoints.Data{Name: "people", Examples: 9000, Shape: "7 columns", Classes: 3}, Releases: 50, Answer: exact(4.00001, 5.00001), Fixed: exact(3.00001, 3.50001),
		Runs: []books.RunTotal{{Run: "a", Releases: 30, Epsilon: 2.00001, Delta: 1e-5}}, Note: "a note"}}, NotPrivate: []string{"b"}, Uncollected: []string{"c"}, Gone: []string{"d"}}
	scored := score.Score{Noun: "rows", Measures: []score.Measure{{Name: "top_2", Value: 0.5, Low: 0.4, High: 0.6}}, Confusion: [][]int{{20, 12, 8}, {0, 40, 0}, {0, 0, 0}},
		Classes: []score.Class{{Name: "cat", Share: share(0.5, 0.35, 0.65)}, {Name: "dog", Share: share(1, 0.91, 1)}, {Name: "none"}}}
	audited := &attack.StepAudit{Outcome: attack.Outcome{Name: "people", Confidence: 0.95, Delta: 1e-5, Falsified: true, Tests: []attack.Tested{{Claim: "a step", Quantity: "ε", Claimed: 0.12341, AtLeast: 0.05679}, {Claim: "sampling", Quantity: "q", Claimed: 0.02, AtLeast: 0.03, Falsified: true}}},
		Observed: 20_000, RunClaimed: 2.00001, RunAtLeast: 0.1239, Untested: "a test: why"}
	noticed := attack.Operating{Rate: 0.01, TruePositive: share(0.03, 0.01, 0.05), TrueNegative: share(0.02, 0, 0.04), Allowed: 0.25}
	member := &attack.Membership{Attack: "loss", Run: "runs/a", Training: 120, Test: 20, AUC: 0.5123, Low: 0.41, High: 0.61, EpsilonAtLeast: 0.1239, EpsilonAtMost: 5.00001, Delta: 1e-5, Guesses: 30, Right: 20,
		Operating: []attack.Operating{noticed, noticed, noticed}}
	shadows := &attack.ShadowAudit{Outcome: audited.Outcome, Shadows: 16, Examples: 140, Attacks: []*attack.Membership{member}}
	extended := train.Extended{Run: "runs/a", Extension: folder.Extension{Step: 10, From: folder.Terms{Steps: 20, Epsilon: 2}, To: folder.Terms{Steps: 30, Epsilon: 3}}, Answer: exact(2.90001, 9), SpentEpsilon: 1.00001}
	runs := []report.Line{{Run: "runs/a", Data: "people", Epsilon: &low, Left: &left, Test: score.Test{TestAccuracy: 0.9}, Status: "done", Problem: "a problem"}, {Run: "runs/s/t", Sweep: "runs/s"}, {Run: "runs/s", Trials: 3, Status: "NOT PRIVATE"}}
	teachers := pate.Result{Status: run.Done, StudentAccuracy: &half, TeacherAccuracy: &most, Released: &low, Epsilon: 4.00001, Delta: 1e-6, Queries: 40, Answered: 30, Run: "runs/a", Aggregated: 0.3}
	teachers.Claimed.Accountant, teachers.Claimed.Released = "rdp", &account.Answer{Epsilon: 3.00001}
	interrupted := pate.Result{Status: run.Interrupted, Epsilon: 4, Delta: 1e-6, Queries: 4, Answered: 3, Claimed: teachers.Claimed}
	answer := trained.Answer{File: "a.csv", Row: 1, Classes: []trained.Share{{Class: "cat", Probability: 0.75}, {Class: "dog", Probability: 0.25}}}
	w := new(bytes.Buffer)
	printDescription(w, d)
	printPrivacy(w, labels)
	printCost(account.Steps)(w, bounded)
	printCost(account.Delta)(w, shortened)
	printCost(account.Epsilon)(w, stopped)
	printComparison(w, compared)
	printTotals(w, total)
	printMeasures(w, scored.Measures)
	printClasses(w, scored)
	printConfusion(w, scored)
	printExtremes(w, scored.Classes)
	printAudit(w, audited)
	printMembership(w, member)
	printMembershipAudit(w, shadows, "")
	printExtended(w, extended, "")
	printRuns(w, t.TempDir(), runs)
	fmt.Fprintln(w, outcome(books.Row{Test: score.Test{TestAccuracy: 0.9}, Answer: exact(1.00001, 2.00001), Seconds: 65, Status: "done"}))
	printPate(w, teachers)
	printPate(w, interrupted)
	print := lines(w, true)
	tiny.Check(t, errors.Join(text(w)(answer), print(answer), print(answer)))
	(&ordinaryWatcher{Display: shell.Display{W: w}}).Started(sgd.Overview{Run: "runs/a", Private: true, Epsilon: 3, Unit: "labels", Truth: 0.875, ResumedAt: 7})
	server := tiny.Must(web.Listen("0.0.0.0:0", web.PredictionLimits()))(t)
	defer server.Close()
	tiny.Check(t, announceURL(&shell.App{Out: io.Discard, Err: w}, "runs/a", server))
	same(t, "the output", w.String(), tiny.Read(t, "testdata/printed.txt"))
}
