package attack

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/random"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/release"

	"gonum.org/v1/gonum/stat/distuv"
)

// seeded is a mechanism and a sampler whose draws follow from a seed, so that a result repeats.
type seeded struct {
	release.Mechanism
	src *random.Source
}

func (m seeded) Privatize(step int, sum *clip.Sum, _ *random.Source, consume func(release.Noisy)) error {
	return m.Mechanism.Privatize(step, sum, m.src, consume)
}

type seededSampler struct {
	data.Poisson
	src *random.Source
}

func (s seededSampler) Sample(dst []int, n int, _ *random.Source) []int {
	return s.Poisson.Sample(dst, n, s.src)
}

// plain is the door of runs with draws of a seed, after change has changed its plan.
func plain(seed uint64, change func(*release.Plan)) func(release.Plan, int) (Door, error) {
	return func(p release.Plan, dim int) (Door, error) {
		if change != nil {
			change(&p)
		}
		p.Mechanism = seeded{p.Mechanism, random.ForTest(2 * seed)}
		if poisson, ok := p.Sampler.(data.Poisson); ok {
			p.Sampler = seededSampler{poisson, random.ForTest(2*seed + 1)}
		}
		return OpenDoor(p, dim)
	}
}

// audited is a configuration with noise multiplier 1 and q = 40/300 in few coordinates.
func audited(t testing.TB) Audited {
	t.Helper()
	a := tiny.Must(OfConfig("tiny", tiny.Parse(t), tiny.Examples))(t)
	a.Coordinates = 16
	return a
}

// observedSteps is the part of an audit that is about one step.
func observedSteps(t testing.TB, a Audited, n int, open func(release.Plan, int) (Door, error)) *StepAudit {
	t.Helper()
	r := &StepAudit{Outcome: Outcome{Confidence: auditConfidence}, Observed: n, RunClaimed: a.Epsilon}
	tiny.Check(t, a.steps(t.Context(), r, open))
	return r
}

func gaussian(sigma float64) release.Mechanism {
	m, err := release.NewGaussian(sigma, nil)
	if err != nil {
		panic(err)
	}
	return m
}

// repeating adds the same noise to every release.
type repeating struct{ release.Mechanism }

func (m repeating) Privatize(step int, sum *clip.Sum, _ *random.Source, consume func(release.Noisy)) error {
	return gaussian(1).Privatize(step, sum, random.ForTest(5), consume)
}

// nonEmpty draws again while a sample is empty.
type nonEmpty struct{ release.Sampler }

func (s nonEmpty) Sample(dst []int, n int, src *random.Source) []int {
	for {
		if dst = s.Sampler.Sample(dst, n, src); len(dst) > 0 {
			return dst
		}
	}
}

// altered is a door whose releases are handed out by hand.
type altered struct {
	Door
	hand func(source release.Contributor, n release.Noisy, consume func(release.Noisy))
}

func (d altered) Release(step int, source release.Contributor, consume func(release.Noisy)) error {
	return d.Door.Release(step, source, func(n release.Noisy) { d.hand(source, n, consume) })
}

// skip hands nothing out when the sample was empty.
func skip(source release.Contributor, n release.Noisy, consume func(release.Noisy)) {
	if source.(*canary).drawn {
		consume(n)
	}
}

// Doors that are wrong in the ways of real code.
var faultyDoors = map[string]func(seed uint64) func(release.Plan, int) (Door, error){
	"half the noise": func(seed uint64) func(release.Plan, int) (Door, error) {
		return plain(seed, func(p *release.Plan) { p.Mechanism = gaussian(0.5) })
	},
	"no clipping": func(seed uint64) func(release.Plan, int) (Door, error) {
		// The canary of ten times the bound enters the sum whole, the noise is for the bound.
		return plain(seed, func(p *release.Plan) {
			p.Policy, p.Mechanism = clip.Flat{ClipNorm: 10 * p.Policy.Bound()}, gaussian(0.1)
		})
	},
	"noise of a mean on a sum": func(seed uint64) func(release.Plan, int) (Door, error) {
		return plain(seed, func(p *release.Plan) { p.Mechanism = gaussian(1. / 40) })
	},
	"noise used again": func(seed uint64) func(release.Plan, int) (Door, error) {
		return plain(seed, func(p *release.Plan) { p.Mechanism = repeating{p.Mechanism} })
	},
	"empty batches drawn again": func(seed uint64) func(release.Plan, int) (Door, error) {
		return func(p release.Plan, dim int) (Door, error) {
			p.Sampler = nonEmpty{p.Sampler}
			return plain(seed, nil)(p, dim)
		}
	},
	"empty batches skipped": func(seed uint64) func(release.Plan, int) (Door, error) {
		return func(p release.Plan, dim int) (Door, error) {
			d, err := plain(seed, nil)(p, dim)
			return altered{d, skip}, err
		}
	},
}

// Every faulty door is falsified: in 20 of 20 seeds as slow evidence.
func TestFaultyDoorsAreFalsified(t *testing.T) {
	for name, open := range faultyDoors {
		t.Run(name, func(t *testing.T) {
			n := 2000
			if name == "empty batches skipped" {
				n = 16_000 // one step of sampled records shows little
			}
			if slow.Asked() {
				n = 20_000
			}
			for seed := range slow.Number(t, "DPSGD_AUDITS", 1, 20) {
				r := observedSteps(t, audited(t), n, open(uint64(seed)))
				if err := r.Err(); !errors.Is(err, ErrFalsified) {
					t.Errorf("seed %d: found %+v (%v), expected that a claim is falsified", seed, r.Tests, err)
				}
			}
		})
	}
}

// The door of runs is not falsified, and the bound on a step comes near the claim: at least 75 % of
// it by 20,000 observations. Draws are of seeds, so the test repeats. Other draws may falsify a true
// claim with a probability of at most 5 % an audit.
func TestTheDoorOfRunsIsNotFalsified(t *testing.T) {
	n, seeds, share := 5000, slow.Number(t, "DPSGD_AUDITS", 3, 100), 0.5
	if slow.Asked() {
		n, share = 20_000, 0.75
	}
	nearest, furthest := 0.0, 1.0
	for seed := range seeds {
		r := observedSteps(t, audited(t), n, plain(uint64(1000+seed), nil))
		step := r.Tests[0]
		if r.Err() != nil || r.RunAtLeast > r.RunClaimed || step.AtLeast < share*step.Claimed {
			t.Errorf("seed %d: found %+v, expected bounds below the claims, and %g of that on a step", seed, r, share)
		}
		nearest, furthest = max(nearest, step.AtLeast/step.Claimed), min(furthest, step.AtLeast/step.Claimed)
	}
	t.Logf("%d seeds: at least %.3f to %.3f of the claim of a step", seeds, furthest, nearest)
}

// A release that lacks one coordinate is none: what is there tells nothing of the canary.
func TestReleasesAreWhole(t *testing.T) {
	o := tiny.Must(observe(t.Context(), audited(t).Plan, 0, 16, 3, func(p release.Plan, dim int) (Door, error) {
		d, err := OpenDoor(p, dim)
		return altered{d, func(_ release.Contributor, n release.Noisy, consume func(release.Noisy)) { consume(n.Before(dim - 1)) }}, err
	}))(t)
	if none := []float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}; !slices.Equal(o.in[0], none) || !slices.Equal(o.out[3], none) {
		t.Errorf("found the scores %v and %v of 15 of 16 coordinates", o.in[0], o.out[3])
	}
}

// What is claimed of one step of Gaussian noise of multiplier 1 is ε = 4.3772 at δ = 1e-5 (Balle,
// Wang 2018, Theorem 8); the bounds of Clopper and Pearson are those of SciPy 1.14,
// beta.ppf(1 - level, k + 1, n - k).
func TestEstimators(t *testing.T) {
	a := audited(t)
	a.Delta = 1e-5
	r := observedSteps(t, a, 1000, plain(1, nil))
	if found := r.Tests[0].Claimed; !(math.Abs(found-4.3772) <= 1e-4) {
		t.Errorf("found a claim of %v, expected 4.3772", found)
	}
	for _, c := range []struct {
		k, n        int
		level, want float64
	}{{0, 100, 0.05, 1 - math.Pow(0.05, 0.01)}, {99, 100, 0.05, math.Pow(0.95, 0.01)}, {100, 100, 0.05, 1}} {
		if found := upperEnd(c.k, c.n, c.level); !(math.Abs(found-c.want) <= 1e-9) {
			t.Errorf("%d of %d: found %v, expected %v", c.k, c.n, found, c.want)
		}
	}
	if e := with(accountant.ApproxDP{Epsilon: 1}, 2, 1); e != nil {
		t.Errorf("found %v, an event without noise with more of it", e)
	}
}

// A run is audited by its ledger, without its data.
func TestAuditOfARun(t *testing.T) {
	for name, overrides := range map[string][]string{"sampled": nil, "all, scheduled noise": {"training.sampling=full", "privacy.noise_schedule=linear"}} {
		t.Run(name, func(t *testing.T) {
			trained := tinyrun.Train(t, tinyrun.Options(t), overrides...)
			a := tiny.Must(OfRun(trained.Run))(t)
			if a.Epsilon != trained.Epsilon || a.Ledger.Count() != 12 {
				t.Errorf("found %+v, expected the 12 steps and ε = %v of the run", a, trained.Epsilon)
			}
			a.Coordinates = 16
			if r := observedSteps(t, a, 1000, OpenDoor); len(r.Tests) != 3-len(overrides) {
				t.Errorf("found %+v", r)
			}
		})
	}
	if _, err := OfRun(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("found an audit of no run")
	}
}

// The whole run of a door that adds the noise of a mean to a sum is falsified by its canaries; that of
// the door of runs is not: in none of 100 as slow evidence. Both bounds hold with a confidence of
// 98.7 %, and fail far less often.
func TestOneRun(t *testing.T) {
	a := tiny.Must(OfConfig("tiny", tiny.Parse(t, "training.steps=300", "training.batch_size=10"), tiny.Examples))(t)
	for seed := range slow.Number(t, "DPSGD_AUDITS", 1, 100) {
		for _, test := range tiny.Must(a.oneRun(t.Context(), ofEpsilon, plain(uint64(seed), nil)))(t) {
			if test.Falsified || test.AtLeast > test.Claimed {
				t.Errorf("run %d: found %+v", seed, test)
			} else if seed == 0 {
				t.Logf("%+v", test)
			}
		}
	}
	differences := tiny.Must(a.guessesOf(t.Context(), faultyDoors["noise of a mean on a sum"](1)))(t)
	if _, refuted, err := a.refuted(counts(differences), 1, ofEpsilon); err != nil || !refuted {
		t.Errorf("found %+v of a faulty door (%v), expected that they refute the claim", counts(differences), err)
	}
}

// Canaries are guessed by the likelihood ratio of all that was released in their coordinates, as
// gonum's normal densities have it.
func TestGuessesAreByLikelihoodRatio(t *testing.T) {
	a := audited(t)
	a.Steps, a.Plan.Mechanism = 3, gaussian(3)
	e := a.Plan.Event(0).(accountant.PoissonSampled)
	var want [flockSize]float64
	found := tiny.Must(a.guessesOf(t.Context(), func(p release.Plan, dim int) (Door, error) {
		d, err := OpenDoor(p, dim)
		return altered{d, func(_ release.Contributor, n release.Noisy, consume func(release.Noisy)) {
			law := distuv.Normal{Sigma: 3}
			for i, v := range n.Values() {
				x, q := v/p.Policy.Bound(), e.SamplingProbability
				want[n.From()+i] += math.Log(1 - q + q*law.Prob(x-1)/law.Prob(x))
			}
			consume(n)
		}}, err
	}))(t)
	largest := slices.Max(want[:])
	for i, f := range found {
		if !(math.Abs(math.Log(math.Abs(f))-(want[i]-largest)) <= 1e-9) {
			t.Fatalf("canary %d: found the ratio %v, expected %v", i, math.Abs(f), math.Exp(want[i]-largest))
		}
	}
}

// A claim is falsified if it lies below the bound that holds whatever the mechanism is. The bounds of
// two runs without noise differ by the canaries that were in no sample, of thousands: hardly at all.
func TestOneRunFalsifiesWhatIsBelowItsBound(t *testing.T) {
	a, open := audited(t), faultyDoors["noise of a mean on a sum"](1)
	least, _ := leastOf(tiny.Must(a.guessesOf(t.Context(), open))(t), a.Delta, ofEpsilon)
	for share, want := range map[float64]bool{0.7: true, 1.4: false} {
		a.Epsilon = share * least
		if found := tiny.Must(a.oneRun(t.Context(), ofEpsilon, open))(t); len(found) != 1 || found[0].Falsified != want {
			t.Errorf("a claim of %v beside a bound of %v: found %+v", a.Epsilon, least, found)
		}
	}
	if r := tiny.Must(a.Audit(t.Context(), 2000, open))(t); !r.Falsified || r.Verdict() != "CLAIM FALSIFIED" {
		t.Errorf("found the verdict %q of %+v", r.Verdict(), r)
	}
}

// Guesses refute μ-Gaussian privacy up to the μ at which the algorithm of jax_privacy's auditing,
// _epsilon_one_run_fdp in version 03a095e, changes its answer, carried out with Python's
// statistics.NormalDist. Counts that are tested together share the level.
func TestGuessesRefuteACurve(t *testing.T) {
	exact := tiny.Must(accountants.New("exact", accountant.ZeroOut))(t)
	for _, c := range []struct {
		counted audit
		mu      float64
	}{{audit{1000, 100, 95}, 0.7868118146841248}, {audit{1000, 1000, 700}, 0.3572107865971305}, {audit{5000, 500, 450}, 0.6715219487289193}, {audit{100, 100, 100}, 1.7031603188142752}} {
		for factor, want := range map[float64]bool{0.99: true, 1.01: false} {
			curve := tiny.Must(curveOf(exact, accountant.Gaussian{NoiseMultiplier: 1 / (factor * c.mu)}))(t)
			if found := c.counted.refutes(curve, 0.05); found != want {
				t.Errorf("%+v at %g of μ = %g: refuted %t, expected %t", c.counted, factor, c.mu, found, want)
			}
		}
		a := Audited{Ledger: new(accountant.Ledger), Delta: 1e-5}
		tiny.Check(t, a.Ledger.Add(accountant.Gaussian{NoiseMultiplier: 1 / (0.99 * c.mu)}, 1))
		for level, want := range map[float64]bool{0.05: false, 0.1: true} {
			if _, refuted, err := a.refuted([]audit{c.counted, c.counted}, 1, level); err != nil || refuted != want {
				t.Errorf("%+v twice at level %g: refuted %t (%v), expected %t", c.counted, level, refuted, err, want)
			}
		}
	}
}

// The result of an audit can be drawn.
func TestAuditIsDrawn(t *testing.T) {
	c := observedSteps(t, audited(t), 1000, plain(1, nil)).Chart()
	if err := c.Write(filepath.Join(t.TempDir(), "roc.svg")); err != nil || len(c.Lines) != 2 || len(c.Lines[0].Points) < 40 || len(c.Lines[1].Points) < 40 {
		t.Errorf("found %+v (%v)", c, err)
	}
}
