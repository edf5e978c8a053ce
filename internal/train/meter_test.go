package train

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsgd/accountant"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
)

// dawdling is an accountant whose answers take a while: as long as two steps of a run, however slow
// its disk.
type dawdling struct {
	*stub
	run **Run // nil for none yet
}

func (s dawdling) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	if *s.run != nil {
		time.Sleep(max(5*time.Millisecond, time.Duration(2*(*s.run).PerStep()*1e9)))
	}
	return s.stub.Guarantee(l, delta)
}

// What is shown of ε rises, is never below what was spent nor above the whole run's, and costs a
// slow accountant few questions.
func TestMeterShowsUpperBounds(t *testing.T) {
	o := options(t)
	var whole *Run
	s := dawdling{newStub(t, nil), &whole}
	o.account = s
	var shown []Progress
	o.Stepped = func(p Progress) { shown = append(shown, p) }
	whole = create(t, tiny.Parse(t, "privacy.accountant=exact", "privacy.epsilon=2", "privacy.noise_multiplier=calibrated", "training.steps=400"), o)
	before := s.asked
	r := fit(t, whole)
	// Two at the end, for metrics and statement; the first two steps, before the meter knows how
	// slow the accountant is; a few more where the machine stalls.
	if asked := s.asked - before; asked > meterQuestions+12 || asked < meterQuestions/2 {
		t.Errorf("the accountant was asked %d times, expected about %d", asked, meterQuestions)
	}
	last := 0.
	for i, p := range shown {
		if p.Spent.Epsilon < last || p.Spent.Epsilon > r.Epsilon || p.Spent.EpsilonRDP == nil || *p.Spent.EpsilonRDP < p.Spent.Epsilon {
			t.Fatalf("step %d shows %+v after %v", i+1, p.Spent, last)
		}
		if last = p.Spent.Epsilon; i%29 == 0 {
			if g := guarantee(t, s.Accountant, tiny.Ledger(t, whole.plan.Event(0), i+1), 1e-4); p.Spent.Epsilon < g.Epsilon {
				t.Errorf("step %d shows %v, expected at least %v", i+1, p.Spent.Epsilon, g.Epsilon)
			}
		}
	}
	if len(shown) != 400 || last != r.Epsilon {
		t.Errorf("found %d steps and ε = %v at the end, expected 400 and %v", len(shown), last, r.Epsilon)
	}
}

// RDP stands beside exact in every record of a run, and nowhere where the configuration names it
// itself.
func TestRecordsHoldRDPBesideExact(t *testing.T) {
	for _, name := range []string{"exact", "rdp"} {
		o := options(t)
		r := train(t, o, "privacy.accountant="+name, "privacy.epsilon=2", "training.steps=4", "training.evaluate_every=3")
		score := tiny.Must(Evaluate(r.Run, o))(t)
		p := mustPlan(t, "privacy.accountant="+name, "privacy.epsilon=2", "training.steps=4")
		exact, rdp := guarantee(t, p.Accountant, tiny.Ledger(t, p.Event(0), r.Steps), 1e-4), guarantee(t, p.accounts.RDP, tiny.Ledger(t, p.Event(0), r.Steps), 1e-4)
		metrics := linesOf[run.Metrics](t, r.Run, folder.Metrics)
		for what, record := range map[string]string{
			"result": tiny.JSON(t, r), "score": tiny.JSON(t, score), "statement": tiny.Read(t, filepath.Join(r.Run, folder.StatementData)), "metrics": tiny.JSON(t, metrics[len(metrics)-1]),
		} {
			var found struct {
				Epsilon    float64  `json:"epsilon"`
				EpsilonRDP *float64 `json:"epsilon_rdp"`
				Accountant string   `json:"accountant"`
			}
			tiny.Check(t, json.Unmarshal([]byte(record), &found))
			if found.Epsilon != exact.Epsilon || what != "metrics" && found.Accountant != name {
				t.Errorf("%s, %s: found %+v, expected ε = %v", name, what, found, exact.Epsilon)
			}
			if name == "rdp" && found.EpsilonRDP != nil || name != "rdp" && (found.EpsilonRDP == nil || *found.EpsilonRDP != rdp.Epsilon) {
				t.Errorf("%s, %s: found %s, expected RDP beside another accountant alone", name, what, record)
			}
		}
		text := tiny.Read(t, filepath.Join(r.Run, folder.Statement))
		want := fmt.Sprintf("| ε by RDP, to compare (rounded up) | %s |", accountant.RoundUp(rdp.Epsilon, 3))
		if strings.Contains(text, "by RDP, to compare") != (name != "rdp") || name != "rdp" && !strings.Contains(text, want) {
			t.Errorf("%s: the statement does not say %s:\n%s", name, want, text)
		}
		tiny.Says(t, r.Run,
			fmt.Sprintf("| Accountant | %s: %s |", name, exact.Method), "| Neighbouring data sets | zero-out: see above. Where one record is replaced by another, (", "| Sampler | Poisson: ",
			fmt.Sprintf("| Steps that the budget allows | %d of the 4 planned, fixed before the first |", p.MaxSteps),
			fmt.Sprintf("**(%s, 0.0001)-differentially private**", accountant.RoundUp(exact.Epsilon, 3)))
	}
}
