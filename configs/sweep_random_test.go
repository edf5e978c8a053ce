package configs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/internal/random"

	"gonum.org/v1/gonum/stat/distuv"
)

const drawingSweep = `
name: search
base: digits
random:
  privacy.clip_norm: {log_uniform: [0.01, 10]}
  optimizer.learning_rate: {uniform: [0.1, 0.9]}
  optimizer.name: {choices: [sgd, adam]}
  training.evaluate_every: {uniform: [3, 5]}
  run.checkpoint_every: {log_uniform: [1, 8]}
trials: 4000
`

// falseFailure is how often a statistical test below fails though everything is right.
const falseFailure = 1e-6

// Values are inside their ends and follow their law: by a Kolmogorov-Smirnov test (its tail bound
// is 2 exp(-2 n d²), Massart 1990) and, for choices, by Hoeffding's inequality, each of which fails
// less than once in a million seeds.
func TestDrawnValuesFollowTheirLaw(t *testing.T) {
	s := mustSweep(t, drawingSweep)
	d := s.Draw(random.ForTest(1))
	n := len(d.Points)
	if n != 4000 {
		t.Fatalf("found %d points, expected 4000", n)
	}
	numbers := func(i int) []float64 {
		var xs []float64
		for _, p := range d.Points {
			x := must(strconv.ParseFloat(p[i], 64))(t)
			xs = append(xs, x)
		}
		return xs
	}
	limit := math.Sqrt(math.Log(2/falseFailure)/2/float64(n)) + 1e-3 // the last digits are rounded away
	uniform := func(x float64) float64 { return (x - 0.1) / 0.8 }
	logUniform := func(x float64) float64 { return math.Log(x/0.01) / math.Log(1000) }
	if found := distance(numbers(0), logUniform); found > limit {
		t.Errorf("log_uniform: found a distance of %v, expected at most %v", found, limit)
	}
	if found := distance(numbers(1), uniform); found > limit {
		t.Errorf("uniform: found a distance of %v, expected at most %v", found, limit)
	}
	if found := distance(numbers(0), uniform); found <= limit {
		t.Errorf("the test takes log_uniform for uniform: distance %v", found)
	}
	count := map[string]int{}
	for _, p := range d.Points {
		count[p[2]]++
		count["every "+p[3]]++
	}
	for value, chance := range map[string]float64{"sgd": 0.5, "adam": 0.5, "every 3": 1. / 3, "every 4": 1. / 3, "every 5": 1. / 3} {
		if found := float64(count[value]) / float64(n); math.Abs(found-chance) > limit {
			t.Errorf("%s: found a share of %v, expected about %v", value, found, chance)
		}
	}
	for _, x := range numbers(4) {
		if x != math.Round(x) || x < 1 || x > 8 {
			t.Errorf("found %v, expected a whole number from 1 to 8", x)
		}
	}
}

// distance is that of the empirical distribution function from another.
func distance(xs []float64, cdf func(float64) float64) float64 {
	slices.Sort(xs)
	worst := 0.0
	for i, x := range xs {
		n := float64(len(xs))
		worst = max(worst, math.Abs(cdf(x)-float64(i)/n), math.Abs(cdf(x)-float64(i+1)/n))
	}
	return worst
}

// pmf are the probabilities by the formulas of Papernot, Steinke 2022 (arXiv:2110.03620v2),
// Definition 1, by the gamma function, for the γ that is stated here.
func pmf(shape, gamma float64) func(k int) float64 {
	log := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	return func(k int) float64 {
		x := float64(k)
		if shape == 0 {
			return math.Pow(1-gamma, x) / x / math.Log(1/gamma)
		}
		rising := math.Exp(log(x+shape) - log(shape) - log(x+1))
		return math.Pow(1-gamma, x) * rising / (math.Pow(gamma, -shape) - 1)
	}
}

// trialNumbers with γ by hand: the mean of the geometric one is 1/γ; of the logarithmic one it is
// (1/γ-1)/log(1/γ), of shape 2 it is 2 (1/γ-1)/(1-γ²) = 2/(γ (1+γ)).
var trialNumbers = []struct {
	text     string
	least    int
	mean     float64
	pmf      func(k int) float64
	shape    float64
	expected string
}{
	{"{distribution: poisson, mean: 7}", 0, 7, distribution{distuv.Poisson{Lambda: 7}}.at, math.Inf(1), "poisson with mean 7"},
	{"{distribution: geometric, mean: 5}", 1, 5, pmf(1, 0.2), 1, "geometric with mean 5"},
	{"{distribution: logarithmic, mean: 3.9086503371292665}", 1, 9 / math.Log(10), pmf(0, 0.1), 0, "logarithmic with mean 3.9086503371292665"},
	{"{distribution: truncated_negative_binomial, mean: 6.4, shape: 2}", 1, 6.4, pmf(2, 0.25), 2, "truncated_negative_binomial with mean 6.4 and shape 2"},
}

type distribution struct{ distuv.Poisson }

func (d distribution) at(k int) float64 { return d.Prob(float64(k)) }

func numberOf(t *testing.T, text string) *TrialNumber {
	t.Helper()
	return mustSweep(t, "name: s\nbase: digits\nrandom: {privacy.clip_norm: {choices: [1]}}\ntrials: "+text+"\n").Number
}

// The law that is drawn from is the one of the theorem, at every number.
func TestLawOfTheNumberOfTrials(t *testing.T) {
	for _, tt := range trialNumbers {
		n := numberOf(t, tt.text)
		if n.Shape != tt.shape || n.String() != tt.expected || !n.Drawn() {
			t.Errorf("%s is %+v, %q", tt.text, n, n)
		}
		k, p, next := n.law()
		if k != tt.least {
			t.Errorf("%s begins at %d, expected %d", tt.text, k, tt.least)
		}
		sum, mean := 0.0, 0.0
		for ; k < 400; k++ {
			if want := tt.pmf(k); math.Abs(p-want) > 1e-12 {
				t.Fatalf("%s: P(%d) is %v, expected %v", tt.text, k, p, want)
			}
			sum, mean = sum+p, mean+p*float64(k)
			p *= next(k)
		}
		if math.Abs(sum-1) > 1e-9 || math.Abs(mean-tt.mean) > 1e-6 {
			t.Errorf("%s sums to %v with mean %v, expected 1 and %v", tt.text, sum, mean, tt.mean)
		}
	}
}

// Drawn numbers have that law: Pearson's χ², over the numbers that come at least 20 times on
// average and the rest, on draws of a seed. It finds out the broken twin, whose mean is a tenth larger.
func TestDrawnNumbersOfTrials(t *testing.T) {
	const draws = 20000
	src := random.ForTest(1)
	for _, tt := range trialNumbers {
		n := numberOf(t, tt.text)
		twin := *n
		twin.Mean *= 1.1
		if found, limit := chiSquare(n, src, draws, tt.pmf); found > limit {
			t.Errorf("%s: found χ² = %v, expected at most %v", tt.text, found, limit)
		}
		if found, limit := chiSquare(&twin, src, draws, tt.pmf); found <= limit {
			t.Errorf("%s: a mean that is a tenth larger is not found out, χ² = %v", tt.text, found)
		}
	}
}

func chiSquare(n *TrialNumber, src *random.Source, draws int, pmf func(k int) float64) (found, limit float64) {
	count := map[int]int{}
	for range draws {
		count[n.draw(src)]++
	}
	cells, rest, restCount := 0, float64(draws), draws
	for k := range 1000 {
		if want := float64(draws) * pmf(k); k > 0 || n.Shape > 100 {
			if want < 20 {
				continue
			}
			found += (float64(count[k]) - want) * (float64(count[k]) - want) / want
			cells, rest, restCount = cells+1, rest-want, restCount-count[k]
		}
	}
	if rest > 5 {
		found += (float64(restCount) - rest) * (float64(restCount) - rest) / rest
		cells++
	}
	return found, distuv.ChiSquared{K: float64(cells - 1)}.Quantile(1 - falseFailure)
}

// Where the number of points is drawn, the name of a trial's folder does not tell it: names are
// drawn from all numbers of 48 bits. Of 200 points the chance that two share one is below 1e-10.
// Draws of earlier versions keep numbers.
func TestNamesOfDrawnPointsTellNoNumber(t *testing.T) {
	s := mustSweep(t, "name: s\nbase: federated-digits\nrandom: {federated.local_learning_rate: {log_uniform: [0.1, 1]}}\ntrials: {distribution: poisson, mean: 200}\n")
	d := s.Draw(random.ForTest(3))
	trials, err := s.Trials(d)
	if err != nil || len(trials) < 100 {
		t.Fatalf("found %d trials (%v)", len(trials), err)
	}
	low := 0
	for _, trial := range trials {
		name := strings.TrimPrefix(strings.Split(trial.Name, ",")[0], "draw=")
		n, err := strconv.ParseUint(name, 16, 64)
		if err != nil || len(name) != 12 {
			t.Fatalf("found %s, expected a name of 12 hexadecimal digits", trial.Name)
		}
		if n < 1<<47 {
			low++
		}
	}
	if other := s.Draw(random.ForTest(4)); other.Names[0] == d.Names[0] || low < len(trials)/4 || low > 3*len(trials)/4 {
		t.Errorf("%d of %d names are in the lower half, and the first one is %s again: %v", low, len(trials), d.Names[0], other.Names[0] == d.Names[0])
	}
	d.Names = nil
	if old, err := s.Trials(d); err != nil || !strings.HasPrefix(old[3].Name, "draw=4,") {
		t.Errorf("found %v, expected numbers in a draw without names", err)
	}
}

// The same draw is the same trials, and no draw is none.
func TestTrialsOfADraw(t *testing.T) {
	s := mustSweep(t, "name: s\nbase: digits\nrandom: {privacy.clip_norm: {choices: [0.1, 1]}, optimizer.learning_rate: {log_uniform: [0.1, 1]}}\ntrials: 3\nseeds: 2\n")
	trials := must(s.Trials(Draw{Points: [][]string{{"1", "0.5"}, {"0.1", "0.25"}, {"1", "0.5"}}}))(t)
	for _, trial := range trials {
		c, err := Load(trial.Base, trial.Overrides)
		if err != nil || !reflect.DeepEqual(c, trial.Config) {
			t.Errorf("%s: its overrides make another configuration (%v)", trial.Name, err)
		}
	}
	want := "draw=1,clip_norm=1,learning_rate=0.5,seed=1; draw=1,clip_norm=1,learning_rate=0.5,seed=2; draw=2,clip_norm=0.1,learning_rate=0.25,seed=1; " +
		"draw=2,clip_norm=0.1,learning_rate=0.25,seed=2; draw=3,clip_norm=1,learning_rate=0.5,seed=1; draw=3,clip_norm=1,learning_rate=0.5,seed=2"
	if names(trials) != want || trials[1].Point != "draw=1,clip_norm=1,learning_rate=0.5" {
		t.Errorf("found %s, the second at the point %s", names(trials), trials[1].Point)
	}
	if none, err := s.Trials(Draw{}); err != nil || len(none) != 0 {
		t.Errorf("found %d trials of nothing (%v)", len(none), err)
	}
	for _, bad := range [][]string{{"1"}, {"1", "0.5", "2"}, {"-1", "0.5"}, {"[", "0.5"}} {
		if _, err := s.Trials(Draw{Points: [][]string{bad}}); err == nil {
			t.Errorf("the point %q is taken", bad)
		}
	}
}

// What is drawn from is told apart in everything.
func TestDrawnFrom(t *testing.T) {
	base := "name: s\nbase: digits\nrandom: {privacy.clip_norm: {log_uniform: [0.1, 1]}}\ntrials: {distribution: poisson, mean: 5}\n"
	first := mustSweep(t, base).DrawnFrom()
	if want := "trials poisson with mean 5; privacy.clip_norm log_uniform [0.1, 1]"; first != want {
		t.Errorf("found %s, expected %s", first, want)
	}
	for _, change := range [][2]string{{"log_uniform", "uniform"}, {"0.1", "0.2"}, {"mean: 5", "mean: 4"}, {"poisson", "geometric"}, {"clip_norm", "noise_multiplier"}, {"{distribution: poisson, mean: 5}", "5"}} {
		src := strings.Replace(base, change[0], change[1], 1)
		if change[1] == "noise_multiplier" {
			src = strings.Replace(src, "{distribution: poisson, mean: 5}", "5", 1)
		}
		if mustSweep(t, src).DrawnFrom() == first {
			t.Errorf("%s for %s makes no difference", change[1], change[0])
		}
	}
}

// Candidates differ in what changes the cost of a trial, and in nothing else.
func TestCandidates(t *testing.T) {
	s := mustSweep(t, `
name: s
base: digits
set: {privacy.epsilon: none}
random:
  privacy.noise_multiplier: {choices: [1, 2]}
  training.batch_size: {choices: [100, 200, 400]}
  privacy.clip_norm: {log_uniform: [0.1, 1]}
  optimizer.name: {choices: [sgd, adam]}
trials: {distribution: poisson, mean: 5}
`)
	candidates, err := s.Candidates()
	if err != nil || len(candidates) != 6 {
		t.Fatalf("found %d candidates (%v), expected 6", len(candidates), err)
	}
	if c := candidates[5]; c.Privacy.NoiseMultiplier != 2 || c.Training.BatchSize != 400 {
		t.Errorf("the last is\n%s", c.YAML())
	}
}

func TestBadDraws(t *testing.T) {
	head := "name: s\nbase: digits\n"
	norm := "random: {privacy.clip_norm: {choices: [1, 2]}}\n"
	drawn := "trials: {distribution: poisson, mean: 5}\n"
	tests := []struct{ src, want string }{
		{head + norm, "s.yaml:1:1: trials: found nothing, expected how many points to draw, " + numberExpected},
		{head + "grid: {privacy.clip_norm: [1]}\ntrials: 3", "s.yaml:1:1: trials: found without random, expected it only where points are drawn"},
		{head + norm + "grid: {training.steps: [1]}\ntrials: 3", "s.yaml:1:1: random: found together with grid, expected one of the two (a list is drawn from by {choices: [...]})"},
		{head + norm + "trials: 0", "s.yaml:4:9: trials: found 0, expected " + numberExpected},
		{head + norm + "trials: {distribution: binomial, mean: 5}", "s.yaml:4:24: trials.distribution: found binomial, expected one of poisson, truncated_negative_binomial, geometric, logarithmic"},
		{head + norm + "trials: {mean: 5}", "s.yaml:4:10: trials.distribution: found nothing, expected one of poisson, truncated_negative_binomial, geometric, logarithmic"},
		{head + norm + "trials: {distribution: poisson}", "s.yaml:4:10: trials.mean: found nothing, expected a number greater than 1 and at most 500"},
		{head + norm + "trials: {distribution: poisson, mean: 1}", "s.yaml:4:39: trials.mean: found 1, expected a number greater than 1 and at most 500"},
		{head + norm + "trials: {distribution: poisson, mean: 5, shape: 1}", "s.yaml:4:10: trials.shape: found without effect, expected it only with truncated_negative_binomial"},
		{head + norm + "trials: {distribution: truncated_negative_binomial, mean: 5}", "s.yaml:4:10: trials.shape: found nothing, expected a number from 0 to 100"},
		{head + "random: {privacy.clip_norm: [1, 2]}\ntrials: 3", "s.yaml:3:29: random.privacy.clip_norm: found a list of 2, expected {choices: [...]}, {uniform: [low, high]} or {log_uniform: [low, high]}"},
		{head + "random: {privacy.clip_norm: {normal: [1, 2]}}\ntrials: 3", "s.yaml:3:30: random.privacy.clip_norm.normal: found an unknown key, expected one of choices, uniform, log_uniform"},
		{head + "random: {privacy.clip_norm: {uniform: [2, 1]}}\ntrials: 3", "s.yaml:3:43: random.privacy.clip_norm.uniform[1]: found 1, expected more than the 2 before it"},
		{head + "random: {privacy.clip_norm: {uniform: [2, 2]}}\ntrials: 3", "s.yaml:3:43: random.privacy.clip_norm.uniform[1]: found 2, expected more than the 2 before it"},
		{head + "random: {privacy.clip_norm: {uniform: [1, 2, 3]}}\ntrials: 3", "s.yaml:3:39: random.privacy.clip_norm.uniform: found a list of 3, expected a list of two numbers, the least and the greatest"},
		{head + "random: {privacy.epsilon: {uniform: [none, 3]}}\ntrials: 3", "s.yaml:3:38: random.privacy.epsilon.uniform[0]: found none, expected a number"},
		{head + "random: {training.evaluate_every: {log_uniform: [0, 1]}}\ntrials: 3", "s.yaml:3:50: random.training.evaluate_every.log_uniform[0]: found 0, expected a number above 0, because its logarithm is uniform"},
		{head + "random: {optimizer.name: {uniform: [sgd, adam]}}\ntrials: 3", "s.yaml:3:36: random.optimizer.name.uniform: found an interval of what is no number, expected {choices: [...]}"},
		{head + "random: {privacy.noise_multiplier: {uniform: [1, 2]}}\n" + drawn, "s.yaml:3:47: random.privacy.noise_multiplier: found an interval of what changes a trial's ε, expected {choices: [...]} where the number of trials is drawn: ε is that of the costliest"},
		{head + "random: {data.seed: {choices: [1, 2]}}\n" + drawn, "s.yaml:3:32: random.data.seed: found a key of the data, expected none where the number of trials is drawn: all of them choose on the same data"},
		{head + "random: {privacy.delta: {choices: [1e-5, 1e-6]}}\n" + drawn, "s.yaml:3:36: random.privacy.delta: found a key that cannot be drawn, expected one δ for all trials"},
		{head + norm + "trials: 6000\nseeds: 2", "s.yaml:1:1: trials: found more than 10000 trials, expected at most 10000"},
		{head + "random: {training.steps: {choices: [" + hundred + "]}, training.batch_size: {choices: [" + hundred + "]}, privacy.noise_multiplier: {choices: [1, 2]}}\n" + drawn, "s.yaml:1:1: random: found more than 10000 combinations of choices, expected at most 10000 where the number of trials is drawn"},
		{head + "seeds: 2\ntan: {}", "s.yaml:4:6: tan.scale: found nothing, expected a whole number from 2 to 1024"},
		{head + "seeds: 2\ntan: {scale: 1}", "s.yaml:4:14: tan.scale: found 1, expected a whole number from 2 to 1024"},
		{head + "seeds: 2\nparallel: 0", "s.yaml:4:11: parallel: found 0, expected a whole number from 1 to 64"},
		{head + "seeds: 2\nrandom: {training.seed: {choices: [1]}}\ntrials: 2", "s.yaml:4:36: random.training.seed: found together with seeds, expected one of the two"},
	}
	for _, tt := range tests {
		_, err := ParseSweep("s.yaml", []byte(tt.src))
		wrong(t, tt.src, err, tt.want)
	}
}

// The bands that a run chooses follow from its optimizer, and so does what a trial costs.
func TestCandidatesDifferInTheOptimizerOfChosenBands(t *testing.T) {
	set := "name: s\nbase: digits\nset: {training.sampling: cyclic, privacy.correlation: auto}\ntrials: {distribution: poisson, mean: 5}\n"
	candidates, err := mustSweep(t, set+"random: {optimizer.momentum: {choices: [0.5, 0.9]}, model.name: {choices: [mnist-cnn, mlp128]}}").Candidates()
	if err != nil || len(candidates) != 2 {
		t.Errorf("found %d candidates (%v), expected 2", len(candidates), err)
	}
	_, err = mustSweep(t, set+"random: {optimizer.momentum: {uniform: [0.5, 0.9]}}").Candidates()
	wrong(t, "an interval", err, "test.yaml:5:41: random.optimizer.momentum: "+intervalOfCosts)
}

// A point that cannot be trained is told about also where it was not drawn, if the number is.
func TestCombinationsAreValidBeforeTheyAreDrawn(t *testing.T) {
	s := mustSweep(t, "name: s\nbase: digits\nrandom: {optimizer.name: {choices: [sgd, momentum]}, optimizer.momentum: {uniform: [0.5, 0.9]}}\ntrials: {distribution: poisson, mean: 2}\n")
	if _, err := s.Trials(Draw{Points: [][]string{{"momentum", "0.6"}}}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "found without effect") {
		t.Errorf("found error %v", err)
	}
}

// What does not go with a preset is told at the line of the sweep file: nobody has the preset's.
func TestProblemsOfAPresetAreAtTheSweepFile(t *testing.T) {
	_, err := mustSweep(t, "name: s\nbase: own-pictures\nset: {data.classes: [a, b], data.channels: 3, data.mean: [0, 0]}\nseeds: [1]\n").Trials(Draw{})
	if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "own-pictures.yaml") || !strings.Contains(err.Error(), "test.yaml:") {
		t.Errorf("found error %v, expected the place of the sweep file", err)
	}
	_, err = mustSweep(t, "name: s\nbase: cifar-cnn\nset: {data.name: digits, data.std: [1]}\nseeds: [1]\n").Trials(Draw{})
	wrong(t, "a preset of colours", err, "configs: trial seed=1 of test.yaml: test.yaml:2:7: data.mean: found 3 values, expected 1 (with the preset cifar-cnn)")
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "base.yaml"), []byte("data: {name: digits}\nprivacy: {delta: 1e-5}\n"), 0o600))
	s := must(ParseSweep(filepath.Join(dir, "s.yaml"), []byte("name: s\nbase: base.yaml\nseeds: [1]\n")))(t)
	if _, err := s.Trials(Draw{}); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "base.yaml")+":2:1") {
		t.Errorf("found error %v, expected the place in the base, which is a file", err)
	}
}
