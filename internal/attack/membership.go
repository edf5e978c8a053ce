// Package attack attacks what is released about drawn people, the models of runs, and the steps of
// plans with canaries in place of records, to show what noise buys, and to check that it does.
//
// An attack that is weaker than it could be looks like privacy. So each is held against what is
// known of the best one: without noise it has to win, and with noise it may not win more often than
// the accountant allows, nor much less often where the best attack is known.
//
// The drawn people are nobody, so what is computed from them without noise may be shown. What
// [Tell] computes from a run's training examples may not.
package attack

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/chart"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/train"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Membership measures how well somebody tells the training examples of a model from others by how
// sure the model is of their class: NOT PRIVATE, because it is computed from training examples
// without noise.
type Membership struct {
	Attack   string `json:"attack"`
	Private  bool   `json:"private"` // false, always
	Run      string `json:"run"`
	Training int    `json:"training"` // number of training examples
	Test     int    `json:"test"`     // number of other examples

	// AUC is the chance that the model is surer of a random training example than of a random other
	// one, 1/2 without any leak, with its 95 % interval (DeLong, DeLong, Clarke-Pearson 1988,
	// equations 5 to 7, Biometrics 44).
	AUC  float64 `json:"auc"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`

	Operating []Operating `json:"operating"`

	// EpsilonAtLeast is the lower bound on ε that the attack shows, of [OnRun] with confidence 95 %,
	// EpsilonAtMost the upper bound by the ledger, both at Delta and for neighbours of which one
	// example is replaced. EpsilonAtMost is 0 if the ledger promises nothing about whole examples.
	EpsilonAtLeast float64 `json:"epsilon_at_least"`
	EpsilonAtMost  float64 `json:"epsilon_at_most,omitempty"`
	Delta          float64 `json:"delta"`
	Guesses        int     `json:"guesses"` // behind EpsilonAtLeast
	Right          int     `json:"right"`   // of these guesses

	curve, allowed []chart.Point
}

// Operating counts the training examples that lie above a threshold which at most a share Rate of
// the others passes, and the others below one that at most a share Rate of the former falls below.
type Operating struct {
	Rate          float64     `json:"rate"`
	FalsePositive score.Share `json:"false_positive"` // others that are taken for training examples
	TruePositive  score.Share `json:"true_positive"`  // training examples that are noticed
	FalseNegative score.Share `json:"false_negative"` // training examples that are taken for others
	TrueNegative  score.Share `json:"true_negative"`  // others that are noticed
	Allowed       float64     `json:"allowed"`        // the most that the ledger lets be noticed, of either, at that rate
}

// OnRun attacks the model of the run in folder dir, with its training and test examples. The result
// is NOT PRIVATE. It writes nothing into the folder.
func OnRun(dir string, o train.Options) (*Membership, error) {
	var training, others []float64
	err := train.EachLogits(dir, o, func(trained bool, logits []float32, label int) {
		if margin := score.Margin(logits, label); trained {
			training = append(training, margin)
		} else {
			others = append(others, margin)
		}
	})
	if err != nil {
		return nil, err
	}
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	m, err := Tell(training, others, c.Privacy.Delta, 1-auditConfidence)
	if err != nil {
		return nil, err
	}
	if m.Run = dir; c.Privacy.Ordinary() {
		return m, nil // whether an example was there is not what it protects, if anything
	}
	return m, m.allow(dir)
}

// allow fills in what the ledger of the run in folder dir promises: the trade-off curve, which bounds how many
// training examples any test notices, and ε for neighbours of which one example is replaced. If the
// accountant has no answer for such neighbours, it is the ε of two examples: one goes, one comes.
func (m *Membership) allow(dir string) error {
	r, err := books.ReadReleases(dir)
	if err != nil {
		return err
	}
	t, err := account.AskTradeoff(r.Question(account.Epsilon))
	if err != nil {
		return err
	}
	for _, e := range t.Curve {
		m.allowed = append(m.allowed, chart.Point{X: e.FalsePositive, Y: 1 - e.FalseNegative})
		for i := range m.Operating {
			if o := &m.Operating[i]; o.Rate == e.FalsePositive {
				o.Allowed = 1 - e.FalseNegative
			}
		}
	}
	q := r.Question(account.Epsilon)
	q.Relation = accountant.ReplaceOne
	c, err := new(account.Answerer).Answer(q)
	if errors.Is(err, accountant.ErrUnsupported) {
		q.Relation, q.GroupSize = accountant.ZeroOut, 2
		c, err = new(account.Answerer).Answer(q)
	}
	m.EpsilonAtMost = c.Epsilon
	return err
}

// share takes over what the ledger promises from another attack on the same run.
func (m *Membership) share(other *Membership) {
	m.allowed, m.EpsilonAtMost = other.allowed, other.EpsilonAtMost
	for i := range m.Operating {
		m.Operating[i].Allowed = other.Operating[i].Allowed
	}
}

var (
	// falsePositives lists the rates at which the power of an attack is measured. They are low: an
	// attack that is sure of few people does harm, one that is right now and then does not (Carlini
	// et al. 2022, arXiv:2112.03570).
	falsePositives = []float64{0.001, 0.01, 0.1}
	// guessed lists the shares of the pairs that the audit guesses about, the surest first. The
	// best bound of them counts, so the level of each is divided by their number.
	guessed = []float64{0.01, 0.1, 1}
)

const mostEpsilon = 50 // ends a search for ε

// Tell measures the attack on the margins, or other scores, of training examples and of others; delta
// is the δ of the run, and the lower bound on ε is wrong with a probability of at most level. It
// fails for fewer than two of a kind, and for margins that are no numbers: of a model that diverged.
func Tell(training, others []float64, delta, level float64) (*Membership, error) {
	if slices.ContainsFunc(slices.Concat(training, others), math.IsNaN) || len(training) < 2 || len(others) < 2 {
		return nil, fmt.Errorf("attack: found %d training examples and %d others, some maybe without a prediction; expected at least two of each, all predicted", len(training), len(others))
	}
	m := &Membership{Attack: "membership", Training: len(training), Test: len(others), Delta: delta}
	m.area(training, others)
	for _, rate := range falsePositives {
		// Among equal values there is no threshold, so the share that passes can be smaller than
		// the rate.
		o := Operating{Rate: rate, Allowed: 1}
		o.FalsePositive, o.TruePositive = notice(training, others, rate)
		o.FalseNegative, o.TrueNegative = notice(negated(others), negated(training), rate)
		m.Operating = append(m.Operating, o)
	}
	m.audit(training, others, delta, level)
	m.curve = rocOf(training, others)
	return m, nil
}

// area sets m.AUC and the ends of its interval, m.Low and m.High, from margins.
func (m *Membership) area(training, others []float64) {
	over, under := placements(training, others), placements(others, training)
	mean, spread := stat.MeanVariance(over, nil)
	otherSpread := stat.Variance(under, nil)
	deviation := math.Sqrt(spread/float64(len(over)) + otherSpread/float64(len(under)))
	m.AUC, m.Low, m.High = mean, max(0, mean-score.Normal975*deviation), min(1, mean+score.Normal975*deviation)
}

// placements returns for each of values the share of others below it. An equal one counts half.
func placements(values, others []float64) []float64 {
	sorted := slices.Sorted(slices.Values(others))
	shares := make([]float64, len(values))
	for i, v := range values {
		below, _ := slices.BinarySearch(sorted, v)
		upTo := sort.Search(len(sorted), func(i int) bool { return sorted[i] > v })
		shares[i] = float64(below+upTo) / 2 / float64(len(sorted))
	}
	return shares
}

// notice finds the least threshold that at most a share, rate, of the others passes, and returns
// the shares of others and of wanted values above it.
func notice(wanted, others []float64, rate float64) (falsely, rightly score.Share) {
	sorted := slices.Sorted(slices.Values(others))
	threshold := math.Inf(-1)
	if allowed := int(rate * float64(len(sorted))); allowed < len(sorted) {
		threshold = sorted[len(sorted)-1-allowed]
	}
	return above(others, threshold), above(wanted, threshold)
}

func negated(values []float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = -v
	}
	return all
}

func above(values []float64, threshold float64) score.Share {
	n := 0
	for _, v := range values {
		if v > threshold {
			n++
		}
	}
	return score.NewShare(n, len(values))
}

// audit fills in the lower bound on ε that the attack shows, from one run (Steinke, Nasr, Jagielski
// 2023). Its canaries are pairs of a training example and another one: if both come from one
// source, a coin of its own decided, given the pair, which of the two was trained on. The attack
// takes the one that the model is surer of for the training example, beginning with the pairs of
// largest difference.
//
// If the training examples are a random half of both, what is paired at random afterwards is as if a
// coin had decided about each pair.
func (m *Membership) audit(training, others []float64, delta, level float64) {
	pairs := min(len(training), len(others))
	// Which example meets which is drawn from a seed, before anything is known of the model's
	// answers.
	draw := rand.New(rand.NewPCG(1, uint64(pairs)))
	first, second := draw.Perm(len(training))[:pairs], draw.Perm(len(others))[:pairs]
	differences := make([]float64, pairs)
	for i := range differences {
		differences[i] = training[first[i]] - others[second[i]]
	}
	var surest audit
	m.EpsilonAtLeast, surest = leastOf(differences, delta, level)
	m.Guesses, m.Right = surest.guesses, surest.right
}

// counts returns how many of the surest guesses are right, for each share in guessed. A guess is
// right if its difference is positive, and the surer the larger that is. It sorts differences.
func counts(differences []float64) (counted []audit) {
	slices.SortStableFunc(differences, func(a, b float64) int { return cmp.Compare(math.Abs(b), math.Abs(a)) })
	for _, share := range guessed {
		a := audit{canaries: len(differences), guesses: max(1, int(share*float64(len(differences))))}
		for _, d := range differences[:a.guesses] {
			if d > 0 {
				a.right++
			}
		}
		counted = append(counted, a)
	}
	return counted
}

// leastOf returns the largest lower bound on ε by the counts, and the count behind it. The bounds
// fail with a probability of at most level, all together.
func leastOf(differences []float64, delta, level float64) (least float64, surest audit) {
	for _, a := range counts(differences) {
		if at := a.leastEpsilon(delta, level/float64(len(guessed))); at > least || surest.guesses == 0 {
			least, surest = at, a
		}
	}
	return least, surest
}

// Chart draws the share of training examples noticed against the share of others taken for them, on
// logarithmic axes.
func (m *Membership) Chart() chart.Chart {
	c := chart.Chart{
		Title: "NOT PRIVATE: training examples that are told from others", X: "others taken for training examples, log scale", Y: "training examples noticed",
		Subtitle: fmt.Sprintf("of %s; AUC %.3f (%.3f to %.3f)", m.Run, m.AUC, m.Low, m.High), Logarithmic: true, LogarithmicX: true,
		Lines: []chart.Line{{Name: "attack", Points: m.curve}, {Name: "guessing", Style: chart.Dashed, Points: []chart.Point{{X: leastRate, Y: leastRate}, {X: 1, Y: 1}}}},
	}
	if m.allowed != nil {
		c.Lines = append(c.Lines, chart.Line{Name: "most allowed", Points: m.allowed})
	}
	return c
}

// audit counts guesses about canaries: records that a coin of their own put into the training data
// or not.
type audit struct {
	canaries, guesses, right int
}

// likeliness bounds the chance of at least as many right guesses against a mechanism that is
// (epsilon, delta)-private for each canary: Theorem 5.2 of Steinke, Nasr, Jagielski 2023,
// arXiv:2305.08846, as the code in their appendix computes it. For delta 0 it is the tail of a
// binomial law, and the ε at which it passes a level is the logit of the end of Clopper and
// Pearson's interval.
func (a audit) likeliness(epsilon, delta float64) float64 {
	// A guess about a canary is right as often as randomized response is true, at best.
	law := distuv.Binomial{N: float64(a.guesses), P: 1 / (1 + math.Exp(-epsilon))}
	tail := law.Survival(float64(a.right) - 1)
	if law.P == 1 {
		tail = 1 // every guess may be right
	}
	// With delta, some canaries may be told for certain: i guesses fewer need luck, with a chance
	// that is at most 2·m·δ/i.
	var fewer, slack float64
	for i := 1; i <= a.right && delta > 0; i++ {
		fewer += law.Prob(float64(a.right - i))
		slack = max(slack, fewer/float64(i))
	}
	return min(1, tail+2*float64(a.canaries)*delta*slack)
}

// leastEpsilon returns the largest ε, at most mostEpsilon, at which the chance of so many right
// guesses is at most level: the true ε is larger with confidence 1 - level. It is 0 if none is.
func (a audit) leastEpsilon(delta, level float64) float64 {
	if a.guesses == 0 || a.likeliness(0, delta) > level {
		return 0
	}
	low, _ := halved(0, mostEpsilon, 60, func(epsilon float64) bool { return a.likeliness(epsilon, delta) <= level })
	return low
}

// halved halves an interval so often, by whether its middle is below what is sought, and returns the
// ends of what is left.
func halved(low, high float64, times int, below func(float64) bool) (float64, float64) {
	for range times {
		if middle := (low + high) / 2; below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}
