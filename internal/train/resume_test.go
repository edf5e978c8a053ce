package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/slow"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
	"dpsgd/optimizer"
)

// run.Interrupted anywhere and resumed, a run ends with the steps, the ledger and the ε of an
// uninterrupted one.
func TestInterruptedRunEndsLikeAnUninterruptedOne(t *testing.T) {
	const steps = 12
	budget := []string{"privacy.epsilon=4", "privacy.noise_multiplier=calibrated"}
	whole := train(t, options(t), budget...)
	for _, cut := range []int{1, 4, 5, 6, 10, 11} {
		o := options(t)
		stopped := interruptAfter(t, create(t, tiny.Parse(t, budget...), o), cut)
		if stopped.Status != run.Interrupted || stopped.Steps != cut || tiny.Releases(t, stopped.Run) != cut {
			t.Fatalf("cut at %d: found %s after %d steps with %d releases", cut, stopped.Status, stopped.Steps, tiny.Releases(t, stopped.Run))
		}
		resumed := fit(t, open(t, stopped.Run, o))
		if resumed.Status != run.Done || resumed.Steps != steps || resumed.Epsilon != whole.Epsilon || tiny.Releases(t, stopped.Run) != steps {
			t.Errorf("cut at %d: found %s after %d steps with ε %v and %d releases, expected done, %d, %v, %d",
				cut, resumed.Status, resumed.Steps, resumed.Epsilon, tiny.Releases(t, stopped.Run), steps, whole.Epsilon, steps)
		}
	}
}

// With equal batches and equal noise for each step, the parameters and the model are equal too,
// bit for bit, under every update rule, average, clipping policy and clip schedule: a checkpoint
// holds everything else.
func TestResumedParametersAreThoseOfAnUninterruptedRun(t *testing.T) {
	const steps = 12
	// seeded gives each step its own seed, which a resumed run does not have to know the past of.
	// Tests alone do this.
	seeded := func(t *testing.T, r *Run) *Run {
		r.watcher.Stepped = func(p Progress) { seedRun(t, r, uint64(p.Step), 1) }
		r.watcher.Stepped(Progress{Step: r.Step})
		return r
	}
	var choices []string
	for _, rule := range optimizer.UpdateRules().Names() {
		choices = append(choices, "optimizer.name="+rule)
	}
	for _, average := range optimizer.Averages().Names() {
		choices = append(choices, "training.average="+average)
	}
	for _, policy := range clip.Policies().Names() {
		choices = append(choices, "privacy.clipping="+policy)
	}
	for _, schedule := range clip.Schedules().Names()[1:] {
		choices = append(choices, "privacy.clip_schedule="+schedule)
	}
	choices = append(choices, "federated.clients=100")
	for i, choice := range choices {
		cuts := []int{1, 5, 7, 11}
		if !slow.Asked() {
			cuts = cuts[i%4:][:1]
		}
		t.Run(choice, func(t *testing.T) {
			// The engine is given: two runs on a busy machine may measure, and choose, different
			// ones.
			overrides := []string{choice, "performance.engine=ghost", "optimizer.schedule.name=cosine", "optimizer.schedule.warmup_steps=3", "privacy.noise_multiplier=1"}
			whole := seeded(t, create(t, tiny.Parse(t, overrides...), options(t)))
			fit(t, whole)
			model := tiny.Read(t, whole.Path(folder.Model))
			for _, cut := range cuts {
				o := options(t)
				stopped := interruptAfter(t, seeded(t, create(t, tiny.Parse(t, overrides...), o)), cut)
				resumed := seeded(t, open(t, stopped.Run, o))
				if r := fit(t, resumed); r.Steps != steps {
					t.Fatalf("resumed to step %d, expected %d", r.Steps, steps)
				}
				if !slices.Equal(resumed.Model.Values, whole.Model.Values) || tiny.Read(t, resumed.Path(folder.Model)) != model {
					t.Errorf("cut at %d: parameters differ from those of the uninterrupted run", cut)
				}
			}
		})
	}
}

// Killed again and again, a run never forgets a release, counts the steps that it repeats, and
// stays within its budget.
func TestKilledRunForgetsNothing(t *testing.T) {
	for name, more := range map[string][]string{
		"examples": nil, "clients": {"federated.clients=100"}, "noise of clients": {"federated.clients=100", "federated.noise=clients"},
		"exact": {"privacy.accountant=exact"}, "pld": {"privacy.accountant=pld"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "pld" && !slow.Asked() {
				t.Skip("exact stands for it")
			}
			killedRunForgetsNothing(t, more...)
		})
	}
}

func killedRunForgetsNothing(t *testing.T, more ...string) {
	o := options(t)
	overrides := append([]string{"privacy.epsilon=4", "privacy.noise_multiplier=calibrated", "training.steps=30", "run.checkpoint_every=5"}, more...)
	killed := create(t, tiny.Parse(t, overrides...), o)
	dir := killed.Dir

	// Checkpoints lie at 0, 5, 10, …; a kill after step 8 loses 3 steps.
	spent := 0
	for i, kill := range []struct{ at, from int }{{3, 0}, {4, 0}, {8, 0}, {9, 5}, {12, 5}} {
		if killed.Step != kill.from {
			t.Errorf("kill %d: resumed at step %d, expected %d", i, killed.Step, kill.from)
		}
		killed = open(t, killAfter(t, killed, kill.at), o)
		spent += kill.at - kill.from
		if found := tiny.Releases(t, dir); found != spent {
			t.Errorf("kill %d: the ledger holds %d releases, expected %d", i, found, spent)
		}
	}
	r := fit(t, killed)
	// The noise is calibrated for 30 releases. 26 are spent at step 10, so four more steps fit.
	name := killed.Config.Privacy.Accountant
	if r.Status != run.BudgetExhausted || tiny.Releases(t, dir) != 30 || r.Steps != 14 || r.Epsilon > 4 || r.Epsilon < 3.98 || r.Accountant != name {
		t.Errorf("found %s after %d steps with %d releases and ε = %v by %s", r.Status, r.Steps, tiny.Releases(t, dir), r.Epsilon, r.Accountant)
	}
	if name != account.RDP && !(*r.EpsilonRDP > 4) {
		t.Errorf("found ε = %v by RDP, expected more than the budget", *r.EpsilonRDP)
	}
	if s := tiny.Must(statement.Read(dir))(t); s.LedgerEntries != 30 {
		t.Errorf("the statement counts %d releases, expected 30", s.LedgerEntries)
	}
}

// With a checkpoint after every step, a run that is killed again and again between its event and
// its checkpoint loses one step each time, and none at any other moment.
func TestKillCostsOneStep(t *testing.T) {
	o := options(t)
	r := create(t, tiny.Parse(t, "run.checkpoint_every=1"), o)
	stops := 0 // the step whose checkpoint the disk does not take
	saving(t, func(dir string, s *checkpoints.State, save saver) (string, error) {
		if s.Step == stops {
			return "", errors.New("killed")
		}
		return save(dir, s)
	})
	for kill := range 4 {
		begun := r.Step
		if want := 2 * kill; begun != want {
			t.Fatalf("kill %d: the run goes on at step %d, expected %d", kill, begun, want)
		}
		stops = begun + 3
		dir := killAfter(t, r, stops)
		stops = 0
		if entries := tiny.Releases(t, dir); entries != 2*kill+3+kill {
			t.Errorf("kill %d: found %d releases, expected %d steps and one more for each kill", kill, entries, 2*kill+2)
		}
		r = open(t, dir, o)
	}
	if r := fit(t, r); r.Status != run.BudgetExhausted || r.Steps != 8 || r.LedgerEntries != 12 || tiny.Must(statement.Read(r.Run))(t).NoiseValues != 12*111 {
		t.Errorf("found %s after %d steps with %d releases, expected the 12 that are planned, one lost by each of 4 kills, and noise values of all", r.Status, r.Steps, r.LedgerEntries)
	}
}

// A run that was killed between its ledger and its first checkpoint starts over: nothing was
// released.
func TestRunKilledAtBirth(t *testing.T) {
	o := options(t)
	r := create(t, tiny.Parse(t), o)
	r.Close()
	tiny.Check(t, os.RemoveAll(r.Path(folder.Checkpoints)))
	if result := fit(t, open(t, r.Dir, o)); result.Steps != 12 || tiny.Releases(t, r.Dir) != 12 {
		t.Errorf("found %d steps and %d releases, expected 12 and 12", result.Steps, tiny.Releases(t, r.Dir))
	}
}

// A damaged newest checkpoint costs its steps, not the run, and is told about.
func TestDamagedCheckpointFallsBack(t *testing.T) {
	o := options(t)
	first := train(t, o)
	newest := filepath.Join(first.Run, folder.Checkpoints, "checkpoint-12.ckpt")
	content := []byte(tiny.Read(t, newest))
	content[len(content)/2] ^= 1
	tiny.Write(t, newest, string(content))
	var warnings []string
	o.Warned = func(message string) { warnings = append(warnings, message) }
	r := open(t, first.Run, o)
	if r.Step != 10 || len(warnings) != 1 || !strings.Contains(warnings[0], "checkpoint-12.ckpt") {
		t.Errorf("resumed at step %d with warnings %q, expected step 10 and one about checkpoint-12.ckpt", r.Step, warnings)
	}
	if result := fit(t, r); result.Steps != 10 || tiny.Releases(t, first.Run) != 12 {
		t.Errorf("found %d steps and %d releases, expected 10 and 12", result.Steps, tiny.Releases(t, first.Run))
	}
}

// Resuming a finished run changes nothing but measures again.
func TestResumeOfAFinishedRun(t *testing.T) {
	for _, budget := range []string{"none", "2"} {
		t.Run(fmt.Sprint("epsilon ", budget), func(t *testing.T) {
			o := options(t)
			first := train(t, o, "privacy.epsilon="+budget, "training.steps=50")
			again := fit(t, open(t, first.Run, o))
			if again.Status != first.Status || again.Steps != first.Steps || again.Epsilon != first.Epsilon || again.TestAccuracy != first.TestAccuracy {
				t.Errorf("found %+v, expected %+v", again, first)
			}
		})
	}
}

// A run that was killed twice releases what its plan says, in the planned order.
func TestKilledRunReleasesItsPlan(t *testing.T) {
	o := options(t)
	killed := create(t, tiny.Parse(t, "privacy.noise_schedule=linear", "privacy.noise_final_factor=0.5"), o)
	planned := tiny.Must(killed.Planned())(t)
	for _, at := range []int{9, 7} { // checkpoints are after steps 5 and 10
		killed = open(t, killAfter(t, killed, at), o)
	}
	r := fit(t, killed)
	if found := ledgerOf(t, r.Run); r.Steps != 6 || !slices.Equal(found.Entries(), planned.Entries()) {
		t.Errorf("found %d steps and releases %v, expected 6 and %v", r.Steps, found.Entries(), planned.Entries())
	}
}

// cost is ε of steps of the tiny configuration, by RDP as it says.
func cost(t testing.TB, releases int, overrides ...string) float64 {
	t.Helper()
	g := tiny.Must(mustPlan(t, overrides...).After(releases))(t)
	return g.Epsilon
}

// While a run without a budget goes on, after a kill, everything that shows ε shows that of the
// ledger's entries, not of the steps. It releases what it planned, and claims that: what the last
// steps would have released went to those that were lost.
func TestEpsilonIsThatOfTheLedger(t *testing.T) {
	o := options(t)
	dir := killAfter(t, create(t, tiny.Parse(t, "training.evaluate_every=2"), o), 9)
	o.Stepped = func(p Progress) {
		// Resumed at step 5 with 9 entries.
		if want := cost(t, p.Step+4); p.Spent.Epsilon != want {
			t.Errorf("step %d shows ε = %v, expected %v", p.Step, p.Spent.Epsilon, want)
		}
	}
	r := fit(t, open(t, dir, o))
	seen := map[int]float64{}
	for _, m := range linesOf[run.Metrics](t, dir, folder.Metrics) {
		seen[m.Step] = m.Epsilon // the later line of a step that ran twice
	}
	for _, step := range []int{6, 8} {
		if want := cost(t, step+4); seen[step] != want {
			t.Errorf("the metrics of step %d say ε = %v, expected %v of %d releases", step, seen[step], want, step+4)
		}
	}
	if r.Status != run.BudgetExhausted || r.Steps != 8 || tiny.Releases(t, dir) != 12 || r.Released != nil || r.Epsilon != cost(t, 12) {
		t.Errorf("found %s after %d steps with %d releases, %v of %v; expected 8 steps with 12, ε = %v", r.Status, r.Steps, tiny.Releases(t, dir), r.Released, r.Epsilon, cost(t, 12))
	}
}
