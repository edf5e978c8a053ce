package optimizer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/random"
	"dpsgd/internal/setting"
	"dpsgd/release"
)

// rules are all update rules, set in several ways; every one passes the contract suite and the
// reference test.
func rules() map[string]UpdateRule {
	return map[string]UpdateRule{
		"sgd":                       &SGD{},
		"sgd with decay":            &SGD{WeightDecay: 0.1},
		"momentum":                  &Momentum{Momentum: 0.9},
		"momentum 0":                &Momentum{},
		"momentum with decay":       &Momentum{Momentum: 0.5, WeightDecay: 0.1},
		"nesterov":                  &Momentum{Momentum: 0.9, Nesterov: true},
		"nesterov with decay":       &Momentum{Momentum: 0.5, WeightDecay: 0.1, Nesterov: true},
		"adam":                      &Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
		"adam with decay":           &Adam{Beta1: 0.8, Beta2: 0.99, Epsilon: 1e-3, WeightDecay: 0.1},
		"adam without first moment": &Adam{Beta2: 0.999, Epsilon: 1e-8},
		"adambc":                    &AdamBC{Beta1: 0.9, Beta2: 0.999, SecondMomentFloor: 0.01},
		"adambc with decay":         &AdamBC{Beta1: 0.8, Beta2: 0.99, SecondMomentFloor: 0.01, WeightDecay: 0.1},
		"adamw":                     &Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.1, Decoupled: true},
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns what a call returned, and fails the test if that is an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func newUpdate(t testing.TB, r UpdateRule, dim int) *Update {
	t.Helper()
	return must(NewUpdate(r, dim, 1))(t)
}

// noise is a gradient of nothing but noise, as a mechanism makes it: the same values for the same
// dim, bound and seed.
func noise(t testing.TB, dim int, bound float64, seed uint64) Gradient {
	return noiseOf(t, 1, dim, bound, seed)
}

func noiseOf(t testing.TB, noiseMultiplier float64, dim int, bound float64, seed uint64) Gradient {
	return privatized(t, noiseMultiplier, bound, seed, dim, func(*clip.Sum) {})
}

// bare is a gradient of given values with no noise to speak of.
func bare(t testing.TB, given ...float32) Gradient {
	return privatized(t, 1e-30, 1024, 1, len(given), func(sum *clip.Sum) {
		row := clip.Stored(given, len(given))
		check(t, sum.Add(clip.Batch{SquaredNorms: []float64{1}, Parts: []clip.Part{row}}, 1))
	})
}

// privatized is what a mechanism makes of a sum that fill has added to.
func privatized(t testing.TB, noiseMultiplier, bound float64, seed uint64, dim int, fill func(*clip.Sum)) Gradient {
	return func(consume func(release.Noisy)) error {
		sum := must(clip.NewSum(clip.Flat{ClipNorm: bound}, dim, nil))(t)
		fill(sum)
		return must(release.NewGaussian(noiseMultiplier, nil))(t).Privatize(0, sum, random.ForTest(seed), consume)
	}
}

// values collects the values of a gradient.
func values(t testing.TB, g Gradient, dim int) []float64 {
	t.Helper()
	all := make([]float64, dim)
	check(t, g(func(n release.Noisy) { copy(all[n.From():], n.Values()) }))
	return all
}

func startingPoint(dim int, seed uint64) []float32 {
	src, p := rand.New(random.ForTest(seed)), make([]float32, dim)
	for i := range p {
		p[i] = float32(src.NormFloat64())
	}
	return p
}

func apply(t testing.TB, u *Update, p []float32, g Gradient, batch, rate float64) {
	t.Helper()
	check(t, u.Apply(p, g, batch, rate))
}

// state is a copy of what a rule remembers.
func state(u *Update) State {
	s := u.View()
	for name, values := range s.Slots {
		s.Slots[name] = slices.Clone(values)
	}
	return s
}

// The contract of Update, for every rule.
func TestUpdateContract(t *testing.T) {
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			if u := newUpdate(t, rule, 1); u.Name() != rule.Name() {
				t.Errorf("Name() = %q, want %q", u.Name(), rule.Name())
			}
			t.Run("restored state continues bit for bit", func(t *testing.T) { checkRestore(t, rule) })
			t.Run("a given state is copied", func(t *testing.T) { checkStateIsCopied(t, rule) })
			t.Run("wrong states are refused", func(t *testing.T) { checkWrongStates(t, rule) })
			t.Run("wrong arguments are refused", func(t *testing.T) { checkWrongArguments(t, rule) })
			t.Run("zero gradient", func(t *testing.T) { checkZeroGradient(t, rule) })
			t.Run("divides by the expected batch size", func(t *testing.T) { checkBatchSize(t, rule) })
			t.Run("rate zero moves nothing", func(t *testing.T) {
				p := startingPoint(9, 1)
				apply(t, newUpdate(t, rule, 9), p, noise(t, 9, 1, 1), 10, 0)
				if !slices.Equal(p, startingPoint(9, 1)) {
					t.Error("parameters changed")
				}
			})
		})
	}
}

// From every step of a run, a fresh rule with the state of the old one ends in the same place.
func checkRestore(t *testing.T, rule UpdateRule) {
	const steps, dim = 8, 4096 + 5 // more than a stream of noise serves
	g := make([]Gradient, steps)
	for i := range g {
		g[i] = noise(t, dim, 1, uint64(i))
	}
	end := startingPoint(dim, 2)
	whole := newUpdate(t, rule, dim)
	points, states := [][]float32{slices.Clone(end)}, []State{state(whole)}
	for _, v := range g {
		apply(t, whole, end, v, 100, 0.1)
		points, states = append(points, slices.Clone(end)), append(states, state(whole))
	}
	for cut := range points {
		p, u := slices.Clone(points[cut]), newUpdate(t, rule, dim)
		check(t, u.Restore(states[cut]))
		for _, v := range g[cut:] {
			apply(t, u, p, v, 100, 0.1)
		}
		if !slices.Equal(p, end) || !reflect.DeepEqual(state(u), state(whole)) {
			t.Errorf("restored after step %d, the run ends elsewhere", cut)
		}
	}
}

func checkStateIsCopied(t *testing.T, rule UpdateRule) {
	u := newUpdate(t, rule, 4)
	apply(t, u, startingPoint(4, 1), noise(t, 4, 1, 1), 10, 0.1)
	want, given := state(u), state(u)
	if want.Step != 1 {
		t.Errorf("the state is at step %d after one step, want 1", want.Step)
	}
	check(t, u.Restore(given))
	for _, values := range given.Slots {
		values[0] = 77
	}
	if !reflect.DeepEqual(state(u), want) {
		t.Error("changing a state that was given changes the rule")
	}
}

func checkWrongStates(t *testing.T, rule UpdateRule) {
	const dim = 4
	u := newUpdate(t, rule, dim)
	apply(t, u, startingPoint(dim, 1), noise(t, dim, 1, 1), 10, 0.1)
	want := state(u)
	refused := func(what string, s State) {
		t.Helper()
		if err := u.Restore(s); !errors.Is(err, ErrState) {
			t.Errorf("%s: error is %v, want %v", what, err, ErrState)
		}
		if !reflect.DeepEqual(state(u), want) {
			t.Fatalf("%s: the refused state changed the rule", what)
		}
	}
	with := func(name string, values []float32) State {
		s := State{Step: 5, Slots: maps.Clone(want.Slots)}
		s.Slots[name] = values
		return s
	}
	refused("negative step", State{Step: -1, Slots: want.Slots})
	refused("unknown slot", with("velocity", make([]float32, dim)))
	for name := range want.Slots {
		missing := State{Step: 5, Slots: maps.Clone(want.Slots)}
		delete(missing.Slots, name)
		refused("missing slot", missing)
		missing.Slots["velocity"] = make([]float32, dim)
		refused("renamed slot", missing)
		refused("short slot", with(name, make([]float32, dim-1)))
		refused("long slot", with(name, make([]float32, dim+1)))
		refused("absent slot", with(name, nil))
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			refused("value not finite", with(name, []float32{0, 0, 0, float32(bad)}))
		}
		if name == "exp_avg_sq" {
			refused("negative second moment", with(name, []float32{0, 0, 0, -1}))
		}
	}
}

func checkWrongArguments(t *testing.T, rule UpdateRule) {
	const dim = 4
	u := newUpdate(t, rule, dim)
	g := noise(t, dim, 1, 1)
	before := state(u)
	for _, c := range []struct {
		name        string
		parameters  int
		gradient    Gradient
		batch, rate float64
	}{
		{"short parameters", dim - 1, g, 10, 0.1},
		{"long parameters", dim + 1, g, 10, 0.1},
		{"no gradient", dim, func(func(release.Noisy)) error { return nil }, 10, 0.1},
		{"batch 0", dim, g, 0, 0.1},
		{"batch negative", dim, g, -10, 0.1},
		{"batch NaN", dim, g, math.NaN(), 0.1},
		{"batch infinite", dim, g, math.Inf(1), 0.1},
		{"rate negative", dim, g, 10, -0.1},
		{"rate NaN", dim, g, 10, math.NaN()},
		{"rate infinite", dim, g, 10, math.Inf(1)},
	} {
		p := startingPoint(c.parameters, 1)
		if err := u.Apply(p, c.gradient, c.batch, c.rate); !errors.Is(err, ErrUpdate) {
			t.Errorf("%s: error is %v, want %v", c.name, err, ErrUpdate)
		}
		if !slices.Equal(p, startingPoint(c.parameters, 1)) || !reflect.DeepEqual(state(u), before) {
			t.Errorf("%s: the refused step changed something", c.name)
		}
	}
	// A gradient that does not hand out every coordinate once cannot be taken back, but does not
	// pass for a step.
	twice := func(consume func(release.Noisy)) error { return errors.Join(g(consume), g(consume)) }
	for name, wrong := range map[string]Gradient{"short": noise(t, dim-1, 1, 1), "long": noise(t, dim+1, 1, 1), "handed out twice": twice} {
		if err := u.Apply(startingPoint(dim, 1), wrong, 10, 0.1); !errors.Is(err, ErrUpdate) || state(u).Step != before.Step {
			t.Errorf("gradient %s: error is %v at step %d, want %v", name, err, state(u).Step, ErrUpdate)
		}
	}
	// The error of the gradient itself comes back as it is.
	broken := errors.New("no sum today")
	if err := u.Apply(startingPoint(dim, 1), func(func(release.Noisy)) error { return broken }, 10, 0.1); err != broken {
		t.Errorf("error is %v, want that of the gradient", err)
	}
}

// A zero gradient on a fresh rule leaves the parameters alone but for weight decay, which pulls
// them toward zero.
func checkZeroGradient(t *testing.T, rule UpdateRule) {
	p, before := startingPoint(100, 1), startingPoint(100, 1)
	apply(t, newUpdate(t, rule, 100), p, noiseOf(t, 1e-30, 100, 1, 1), 10, 0.1)
	decay := *setting.Find(setting.Arguments(rule), "weight_decay").Value.(*float64)
	for i := range p {
		switch {
		case decay == 0 && p[i] != before[i]:
			t.Fatalf("parameter %d moved from %g to %g", i, before[i], p[i])
		case decay > 0 && before[i] > 0.2 && !(p[i] < before[i]),
			decay > 0 && before[i] < -0.2 && !(p[i] > before[i]):
			t.Fatalf("parameter %d decays from %g to %g", i, before[i], p[i])
		}
	}
}

// A rule sees gradient/batch alone: a batch of 8 and one of 1 with an eighth of the gradient do the
// same, exactly, because division by 8 is exact.
func checkBatchSize(t *testing.T, rule UpdateRule) {
	const dim = 50
	p, q := startingPoint(dim, 2), startingPoint(dim, 2)
	apply(t, newUpdate(t, rule, dim), p, noise(t, dim, 8, 1), 8, 0.1)
	apply(t, newUpdate(t, rule, dim), q, noise(t, dim, 1, 1), 1, 0.1)
	if !slices.Equal(p, q) {
		t.Error("gradient/8 over a batch of 1 is not gradient over a batch of 8")
	}
	if slices.Equal(p, startingPoint(dim, 2)) {
		t.Error("the step moves nothing")
	}
}

// Plain moves parameters as an update does, bit for bit, and refuses a rule that counts on noise.
func TestPlainIsTheUpdateOfBareSums(t *testing.T) {
	const dim = 3000
	for name, rule := range rules() {
		plain, err := NewPlain(rule, dim, nil)
		if strings.HasPrefix(name, "adambc") {
			if !errors.Is(err, ErrRule) {
				t.Errorf("%s: error is %v, want %v", name, err, ErrRule)
			}
			continue
		}
		u, want, found, sum := newUpdate(t, rule, dim), startingPoint(dim, 1), startingPoint(dim, 1), make([]float32, dim)
		for step := range 3 {
			gradient := noise(t, dim, 1, uint64(step))
			for i, v := range values(t, gradient, dim) {
				sum[i] = float32(v) // exact: few multiples of a power of two
			}
			apply(t, u, want, gradient, 10, 0.1)
			check(t, plain.Apply(found, sum, 10, 0.1))
		}
		if !slices.Equal(found, want) || !reflect.DeepEqual(plain.View(), u.View()) {
			t.Errorf("%s: plain sums lead elsewhere", name)
		}
		if err := plain.Apply(found, sum[1:], 10, 0.1); !errors.Is(err, ErrUpdate) || !slices.Equal(found, want) {
			t.Errorf("%s: a short sum: error is %v, want %v and nothing moved", name, err, ErrUpdate)
		}
		if plain.Forget(); !reflect.DeepEqual(plain.View(), newUpdate(t, rule, dim).View()) {
			t.Errorf("%s: a rule that forgot is not as before its first step", name)
		}
	}
}

// No rule can be given anything but what a mechanism made noisy, and nobody else can write such
// values.
func TestUpdatesAcceptOnlyNoisy(t *testing.T) {
	noisy := reflect.TypeFor[release.Noisy]()
	applyMethod, _ := reflect.TypeFor[*Update]().MethodByName("Apply")
	consume := applyMethod.Type.In(2).In(0)
	if got := consume.In(0); got != noisy {
		t.Errorf("Apply takes values of type %v, want %v", got, noisy)
	}
	for i := range noisy.NumField() {
		if noisy.Field(i).IsExported() {
			t.Errorf("Noisy has the exported field %s", noisy.Field(i).Name)
		}
	}
}

func TestNewUpdateRefuses(t *testing.T) {
	for _, c := range []struct {
		rule UpdateRule
		dim  int
		says string
	}{
		{nil, 1, fmt.Sprintf("update rule is nil, expected one of %v", UpdateRules().Names())},
		{&SGD{}, 0, "update rule for 0 parameters"},
		{&SGD{WeightDecay: -1}, 1, "weight_decay of sgd is -1, expected a number from 0 to 100"},
		{&SGD{WeightDecay: math.NaN()}, 1, "weight_decay of sgd is NaN"},
		{&SGD{WeightDecay: math.Inf(1)}, 1, "weight_decay of sgd is +Inf"},
		{&Momentum{Momentum: 1}, 1, "momentum of momentum is 1, expected a number of at least 0 and less than 1"},
		{&Momentum{Momentum: -0.1, Nesterov: true}, 1, "momentum of nesterov is -0.1"},
		{&Momentum{Momentum: math.NaN(), Nesterov: true}, 1, "momentum of nesterov is NaN"},
		{&Adam{Beta1: 1, Beta2: 0.999, Epsilon: 1e-8}, 1, "beta1 of adam is 1"},
		{&Adam{Beta1: 0.9, Beta2: math.NaN(), Epsilon: 1e-8}, 1, "beta2 of adam is NaN"},
		{&Adam{Beta1: 0.9, Beta2: 0.999}, 1, "epsilon of adam is 0"},
		{&AdamBC{Beta1: 0.9, Beta2: 0.999}, 1, "second_moment_floor of adambc is 0"},
	} {
		u, err := NewUpdate(c.rule, c.dim, 1)
		if !errors.Is(err, ErrRule) || u != nil {
			t.Errorf("NewUpdate(%+v, %d) = %v, %v, want an error that wraps %v", c.rule, c.dim, u, err, ErrRule)
		} else if !strings.HasPrefix(err.Error(), "optimizer: "+c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("NewUpdate(%+v, %d): error %q, want one line that begins %q", c.rule, c.dim, err, "optimizer: "+c.says)
		}
	}
}

// Every kind of rule, schedule and average can be used as it is made, and what two of them call the
// same is the same: a configuration has one key for it.
func TestKindsAreConsistent(t *testing.T) {
	same := map[string]setting.Argument{}
	consistent := func(name string, thing any) {
		if err := setting.Check(name, thing); err != nil {
			t.Errorf("a default is refused: %v", err)
		}
		for _, a := range setting.Arguments(thing) {
			if a.Required || a.Otherwise != nil {
				t.Errorf("%s of %s has no default of its own, expected one", a.Name, name)
			}
			other, again := same[a.Name]
			if again && (a.Doc != other.Doc || !reflect.DeepEqual(a.Format, other.Format) || !reflect.DeepEqual(a.Value, other.Value)) {
				t.Errorf("%s of %s differs from that of another kind", a.Name, name)
			}
			same[a.Name] = a
		}
	}
	for _, k := range UpdateRules() {
		consistent(k.Name, k.New())
	}
	clear(same)
	for _, k := range Curves() {
		consistent(k.Name, k.New())
	}
	clear(same)
	for _, k := range Averages() {
		consistent(k.Name, k.New())
	}
}

// Every rule of the table has a row in the contract test.
func TestEveryRuleIsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, r := range rules() {
		tested[r.Name()] = true
	}
	for _, name := range UpdateRules().Names() {
		if !tested[name] {
			t.Errorf("rule %q has no row in rules", name)
		}
	}
}

func ExampleUpdate() {
	mechanism, _ := release.NewGaussian(1, nil)
	src := random.New()
	sum, _ := clip.NewSum(clip.Flat{ClipNorm: 0.1}, 2, nil)
	update, _ := NewUpdate(&Momentum{Momentum: 0.9}, 2, 1)
	parameters := []float32{1, 2}
	for step := range 3 {
		sum.Reset() // of a batch without examples, which is noise alone
		gradient := func(consume func(release.Noisy)) error { return mechanism.Privatize(step, sum, src, consume) }
		if err := update.Apply(parameters, gradient, 512, 0.5); err != nil {
			panic(err)
		}
	}
	fmt.Printf("%.2f after %d steps\n", parameters, update.View().Step)
	// Output: [1.00 2.00] after 3 steps
}

// reference is one coordinate under an update rule, all in float64, written out from the pages of
// torch.optim (SGD, Adam and AdamW, PyTorch 2), and from Algorithm 1 of arXiv:2312.14334 (AdamBC),
// in their own order of operations and independent of the code under test.
type reference struct {
	noise        float64 // standard deviation of what is added to the mean gradient
	rule         UpdateRule
	p, buf, m, v float64
	step         int
	started      bool // PyTorch starts the buffer with the first gradient instead of with zero
}

func (r *reference) apply(g, lr float64) {
	r.step++
	switch rule := r.rule.(type) {
	case *SGD:
		r.p = r.p - lr*(g+rule.WeightDecay*r.p)
	case *Momentum:
		if rule.WeightDecay != 0 {
			g = g + rule.WeightDecay*r.p
		}
		if r.started {
			r.buf = rule.Momentum*r.buf + g
		} else {
			r.buf, r.started = g, true
		}
		if rule.Nesterov {
			g = g + rule.Momentum*r.buf
		} else {
			g = r.buf
		}
		r.p = r.p - lr*g
	case *Adam:
		if rule.Decoupled {
			r.p = r.p - lr*rule.WeightDecay*r.p
		} else {
			g = g + rule.WeightDecay*r.p
		}
		r.m = rule.Beta1*r.m + (1-rule.Beta1)*g
		r.v = rule.Beta2*r.v + (1-rule.Beta2)*g*g
		correction1 := 1 - math.Pow(rule.Beta1, float64(r.step))
		correction2 := 1 - math.Pow(rule.Beta2, float64(r.step))
		denominator := math.Sqrt(r.v)/math.Sqrt(correction2) + rule.Epsilon
		r.p = r.p - lr/correction1*r.m/denominator
	case *AdamBC:
		r.p = r.p - lr*rule.WeightDecay*r.p
		r.m = rule.Beta1*r.m + (1-rule.Beta1)*g
		r.v = rule.Beta2*r.v + (1-rule.Beta2)*g*g
		mean := r.m / (1 - math.Pow(rule.Beta1, float64(r.step)))
		square := r.v/(1-math.Pow(rule.Beta2, float64(r.step))) - r.noise*r.noise
		r.p = r.p - lr*mean/math.Sqrt(math.Max(square, rule.SecondMomentFloor))
	}
}

// 500 steps of noisy gradients with a rate that changes stay within float32 rounding of the
// reference.
func TestUpdatesFollowTheirFormulas(t *testing.T) {
	const steps, dim, batch = 500, 40, 3.0
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			u, p := newUpdate(t, rule, dim), startingPoint(dim, 61)
			references := make([]reference, dim)
			for i := range references {
				references[i] = reference{noise: 1 / batch, rule: rule, p: float64(p[i])}
			}
			for step := range steps {
				rate := 0.05 * (1 + math.Sin(float64(step)/20))
				gradient := noise(t, dim, 1, uint64(step))
				g := values(t, gradient, dim)
				apply(t, u, p, gradient, batch, rate)
				for i := range references {
					references[i].apply(g[i]/batch, rate)
					// Each step rounds p to float32, a relative 2^-24, and adds to what came
					// before.
					if got, want := float64(p[i]), references[i].p; !(math.Abs(got-want) <= 3e-5*(1+math.Abs(want))) {
						t.Fatalf("step %d, parameter %d: %.9g, reference %.9g", step, i, got, want)
					}
				}
			}
		})
	}
}
