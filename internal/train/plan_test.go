package train

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/setup"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// Sampler, mechanism and event of a plan are one thing.
func TestPlanDescribesItself(t *testing.T) {
	p := mustPlan(t, "privacy.noise_multiplier=1.25", "training.batch_size=60")
	want := accountant.PoissonSampled{SamplingProbability: 0.2, Event: accountant.Gaussian{NoiseMultiplier: 1.25}}
	if p.Event(0) != accountant.Event(want) {
		t.Errorf("found event %v, expected %v", p.Event(0), want)
	}
	if p.ExpectedBatchSize != 60 || p.SamplingProbability != 0.2 || p.Policy.Bound() != 0.5 || p.Budget != nil {
		t.Errorf("found %+v", p)
	}
}

// An epoch is examples/batch_size steps; the total is rounded once.
func TestPlannedSteps(t *testing.T) {
	tests := []struct {
		overrides []string
		want      int
	}{
		{[]string{"training.steps=7"}, 7},
		{[]string{"training.epochs=1", "training.batch_size=40"}, 8},        // 7.5
		{[]string{"training.epochs=3", "training.batch_size=40"}, 23},       // 22.5
		{[]string{"training.epochs=2", "training.batch_size=300"}, 2},       // 2
		{[]string{"training.epochs=40", "training.batch_size=7"}, 1714},     // 1714.3
		{[]string{"training.epochs=1000", "training.batch_size=299"}, 1003}, // 1003.3
	}
	for _, test := range tests {
		if p := mustPlan(t, test.overrides...); p.Steps != test.want {
			t.Errorf("%q: found %d steps, expected %d", test.overrides, p.Steps, test.want)
		}
	}
}

// 200 plans: the plan allows exactly the planned steps that keep the ledger within the budget
// (RELIABILITY R8).
func TestPlanAllowsUpToTheBudget(t *testing.T) {
	for i := range slow.Number(t, "DPSGD_TEST_BUDGETS", 20, 200) {
		sigma := 0.6 + float64(i%20)/5
		epsilon := 0.2 * math.Pow(1.4, float64(i%11))
		batch := 1 + (i*37)%tiny.Examples
		p := mustPlan(t, fmt.Sprintf("privacy.epsilon=%g", epsilon), fmt.Sprintf("privacy.noise_multiplier=%g", sigma), fmt.Sprintf("training.batch_size=%d", batch))
		limit := min(p.Steps, tiny.Must(accountant.MaxSteps(p.Accountant, p.Event(0), *p.Budget, 1<<20))(t))
		for steps := max(0, limit-1); steps <= limit; steps++ {
			l := tiny.Must(new(accountant.Ledger).With(p.Event(0), steps))(t)
			allowed, err := p.Allows(l, p.Event(0))
			if err != nil || allowed != (steps < limit) {
				t.Errorf("σ %v, ε %v, batch %d: after %d of %d steps another one is allowed: %v (%v)", sigma, epsilon, batch, steps, limit, allowed, err)
			}
		}
	}
}

// The hash of a plan changes with everything that changes what is computed or guaranteed, and with
// nothing else.
func TestPlanHash(t *testing.T) {
	hash := func(n int, overrides ...string) string {
		c := tiny.Parse(t, overrides...)
		p := tiny.Must(NewPlan(c, n))(t)
		return p.identity(c, setup.OutlineOfSource(tiny.Source(t, n)), "")
	}
	for _, change := range [][]string{
		{"privacy.clipping=adaptive", "privacy.clip_quantile=0.6"}, {"privacy.clipping=adaptive", "privacy.clip_rate=0.3"}, {"privacy.clipping=adaptive", "privacy.count_share=0.002"},
		{"privacy.clip_schedule=linear", "privacy.clip_final_factor=0.4"}, {"privacy.clip_schedule=linear", "privacy.clip_schedule=cosine"}, {"training.augmentation.views=2", "training.augmentation.views=3"},
		{"training.augmentation.views=2", "training.augmentation.flip=true"}, {"training.augmentation.views=2", "training.augmentation.shift=1"},
		{"features.name=patches", "features.power=0.5"}, {"features.name=patches", "features.coarse_filters=1"},
	} {
		if hash(300, change...) == hash(300, change[0]) {
			t.Errorf("%s: %s does not change the hash", change[0], change[1])
		}
	}
	base := hash(300)
	for _, override := range []string{
		"privacy.noise_multiplier=1.01", "privacy.epsilon=100", "privacy.delta=1e-5", "privacy.clip_norm=0.4", "privacy.clipping=per_layer", "privacy.clipping=adaptive", "privacy.clip_schedule=linear", "training.batch_size=41",
		"training.steps=13", "training.seed=9", "optimizer.learning_rate=0.4", "optimizer.name=adam", "model.name=mlp", "data.mean=[0.5]",
	} {
		if hash(300, override) == base {
			t.Errorf("%s does not change the hash", override)
		}
	}
	c, known := tiny.Parse(t), setup.OutlineOfSource(tiny.Source(t, 300))
	p := tiny.Must(NewPlan(c, 300))(t)
	for i, change := range []func(o *setup.Outline){
		func(o *setup.Outline) { o.Examples-- }, func(o *setup.Outline) { o.Shape.Channels++ }, func(o *setup.Outline) { o.Names = []string{"a", "b", "c"} },
		func(o *setup.Outline) { o.People = 9 }, func(o *setup.Outline) { o.Tokenizer = "00" },
	} {
		o := known
		if change(&o); p.identity(c, o, "") == base || p.identity(c, known, "00") == base {
			t.Errorf("change %d of the data, or initial weights, do not change the hash", i)
		}
	}
	if seen := tiny.Parse(t, tiny.Features...); !strings.HasPrefix(p.identity(seen, known, ""), seen.Features.Recipe.String()) {
		t.Error("the hash leaves out the recipe of features")
	}
	for _, override := range []string{"performance.threads=1", "performance.engine=auto", "training.physical_batch_size=5", "training.evaluate_every=3", "run.name=x", "run.checkpoint_every=1"} {
		if hash(300, override) != base {
			t.Errorf("%s changes the hash", override)
		}
	}
}

// A run clips by the policy that its configuration names, and says so.
func TestPlanHasTheClippingPolicy(t *testing.T) {
	for _, name := range clip.Policies().Names() {
		p := mustPlan(t, "privacy.clipping="+name, "privacy.clip_norm=0.75")
		if p.Policy.Name() != name || p.Policy.Bound() != 0.75 {
			t.Errorf("%s: the policy is %v", name, p.Policy)
		}
	}
}

// The reference of configurations says how much noise the presets need by each accountant.
func TestReferenceOfAccountants(t *testing.T) {
	reference := tiny.Read(t, "../../configs/reference.md")
	for name, n := range map[string]int{"digits": 20000, "mnist-cnn": 60000, "cifar-cnn": 50000} {
		plan := func(accountant string, overrides ...string) *RunPlan {
			return tiny.Must(NewPlan(loadPreset(t, name, append(overrides, "privacy.accountant="+accountant)...), n))(t)
		}
		rdp, exact := plan("rdp"), plan("exact")
		same := tiny.Must(plan("exact", fmt.Sprintf("privacy.noise_multiplier=%v", rdp.NoiseMultiplier())).After(rdp.Steps))(t)
		steps := fmt.Sprint(rdp.Steps)
		if len(steps) > 3 {
			steps = steps[:len(steps)-3] + "," + steps[len(steps)-3:]
		}
		want := fmt.Sprintf("| %s | %s | %s | %s | %s |", name, steps, accountant.RoundUp(rdp.NoiseMultiplier(), 4),
			accountant.RoundUp(exact.NoiseMultiplier(), 4), accountant.RoundUp(same.Epsilon, 3))
		if !strings.Contains(reference, want) {
			t.Errorf("the reference does not say %s", want)
		}
	}
}
