package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/setup"
	"dpsgd/internal/spelling"
	"dpsgd/release"

	"github.com/spf13/cobra"
)

// question holds the flags of the commands that ask accountants: what is released, and what is
// known about the guarantee. The flag for what a command asks for is missing or refused.
type question struct {
	unknown account.Unknown

	samplingProbability, batchSize, epochs float64
	examples, steps                        int
	noiseMultiplier, delta, epsilon        float64
	accountant, relation, sampling         string
	groupSize, bands, bins                 int
	batch                                  bool
}

// releaseFlags are the flags that say what is released. They are refused beside a run.
var releaseFlags = []string{"sampling", "bands", "bins", "sampling-probability", "examples", "batch-size", "steps", "epochs", "noise-multiplier"}

func (q *question) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&q.sampling, "sampling", "poisson", "how a batch is drawn: poisson, of all examples; cyclic, of the block whose turn it is; or balls-in-bins, one of the steps of an epoch, into which all examples are shared out")
	f.IntVar(&q.bands, "bands", 0, "with --sampling cyclic: blocks that take turns, at least as many as the bands of correlated noise")
	f.IntVar(&q.bins, "bins", 0, "with --sampling balls-in-bins: steps of an epoch, or --examples and --batch-size")
	f.Float64Var(&q.samplingProbability, "sampling-probability", 0, "chance of one example to join a batch, or --examples and --batch-size")
	f.IntVar(&q.examples, "examples", 0, "number of training examples")
	f.Float64Var(&q.batchSize, "batch-size", 0, "expected number of examples in a batch")
	if q.unknown != account.Steps {
		f.IntVar(&q.steps, "steps", 0, "number of updates, or --epochs")
		f.Float64Var(&q.epochs, "epochs", 0, "expected passes over the data")
	}
	f.Float64Var(&q.noiseMultiplier, "noise-multiplier", 0, "standard deviation of the noise / clip norm")
	if q.unknown != account.Delta {
		f.Float64Var(&q.delta, "delta", 0, "δ of the guarantee, below 1/examples")
	}
	if q.unknown == account.Delta {
		f.Float64Var(&q.epsilon, "epsilon", 0, "ε of the guarantee, in nats")
	}
	if q.unknown > account.Delta {
		f.Float64Var(&q.epsilon, "epsilon", 0, "the budget, in nats")
	}
	f.StringVar(&q.relation, "relation", accountant.ZeroOut.String(), "how neighbouring datasets differ: "+account.Relations)
	f.IntVar(&q.groupSize, "group-size", 1, "records that differ together, such as all pictures of one person")
}

func (q *question) accountantFlag(c *cobra.Command) {
	c.Flags().StringVar(&q.accountant, "accountant", "", "how releases are accounted for: "+strings.Join(accountants.Names(), ", ")+
		" (default: "+account.DefaultAccountant+", or that of the run)")
}

// read returns the question of the flags or, if args names a run, a question about that run.
func (q *question) read(a *shell.App, c *cobra.Command, args []string) (account.Question, error) {
	if len(args) == 1 {
		return q.readRun(a, c, args[0])
	}
	given := c.Flags().Changed
	if q.accountant == "" && !given("accountant") {
		q.accountant = account.DefaultAccountant
	}
	asked := account.Question{Unknown: q.unknown, Epsilon: q.epsilon, Delta: q.delta}
	err := cmp.Or(q.probability(given), q.turns(given), q.updates(given), q.noise(given), q.goal(given), q.view(&asked.View))
	if err != nil {
		return asked, err
	}
	if asked.Ledger, err = new(accountant.Ledger).With(q.event(), q.steps); err != nil {
		return asked, shell.AsUsage(err)
	}
	if q.unknown == account.Steps {
		asked.Step, asked.Ledger = asked.Ledger.Entries()[0].Event, new(accountant.Ledger)
	}
	return asked, nil
}

// readRun returns a question about a run's ledger, with the accountant, δ and budget of its
// configuration unless flags say others.
func (q *question) readRun(a *shell.App, c *cobra.Command, run string) (account.Question, error) {
	if extra := shell.GivenFlag(c, func(name string) bool { return slices.Contains(releaseFlags, name) }); extra != "" {
		return account.Question{}, shell.Usagef("found %s beside the run %s, expected none that says what is released: the ledger does", extra, run)
	}
	given := c.Flags().Changed
	if err := q.known(given); err != nil {
		return account.Question{}, err
	}
	r, err := books.ReadReleases(run)
	if err != nil {
		return account.Question{}, err
	}
	a.Warn(cmp.Or(r.Warning, ofTrial(run)))
	asked := r.Question(q.unknown)
	switch {
	case r.Unit == setup.Label && given("relation"):
		return asked, shell.Usagef("found --relation %s beside the run %s, expected none: its ledger is about %s", q.relation, run, r.Unit)
	case !given("relation"):
		q.relation = asked.Relation.String()
	}
	if !given("accountant") {
		q.accountant = asked.Accountant
	}
	if given("delta") {
		asked.Delta = q.delta
	}
	switch {
	case given("epsilon"):
		asked.Epsilon = q.epsilon
	case q.unknown >= account.Delta && asked.Epsilon == 0:
		return asked, shell.Usagef("found no --epsilon, expected one for the run %s, which has no budget", run)
	}
	return asked, q.view(&asked.View)
}

// view checks the accountant, relation and group size of the flags, and stores them in v.
func (q *question) view(v *account.View) error {
	if q.accountant != "" && !slices.Contains(accountants.Names(), q.accountant) {
		return shell.Usagef("found --accountant %s, expected one of %s%s", q.accountant, strings.Join(accountants.Names(), ", "), spelling.Hint(q.accountant, accountants.Names()))
	}
	relation, ok := account.ParseRelation(q.relation)
	if !ok {
		return shell.Usagef("found --relation %s, expected %s", q.relation, account.Relations)
	}
	if q.groupSize < 1 {
		return shell.Usagef("found --group-size %d, expected at least 1", q.groupSize)
	}
	*v = account.View{Accountant: q.accountant, Relation: relation, GroupSize: q.groupSize}
	return nil
}

// goal refuses flags without the ε or δ that the question needs, or with one out of its range.
func (q *question) goal(given func(string) bool) error {
	switch {
	case q.unknown >= account.Delta && !given("epsilon"):
		return shell.Usagef("found no --epsilon, expected %s", q.epsilonRange())
	case q.unknown != account.Delta && !given("delta"):
		return shell.Usagef("found no --delta, expected a number above 0 and below 1")
	}
	return q.known(given)
}

// known refuses an ε or δ that is given and out of its range.
func (q *question) known(given func(string) bool) error {
	enough := q.epsilon > 0 || q.epsilon == 0 && q.unknown == account.Delta
	switch {
	case given("epsilon") && (!enough || math.IsInf(q.epsilon, 1)):
		return shell.Usagef("found --epsilon %g, expected %s", q.epsilon, q.epsilonRange())
	case given("delta") && !(q.delta > 0 && q.delta < 1):
		return shell.Usagef("found --delta %g, expected a number above 0 and below 1", q.delta)
	case given("delta") && given("examples") && q.delta >= 1/float64(q.examples):
		// A mechanism that publishes one record in n with certainty is (0, 1/n)-private.
		return shell.Usagef("found --delta %g, expected less than 1/examples = %.3g", q.delta, 1/float64(q.examples))
	}
	return nil
}

func (q *question) epsilonRange() string {
	if q.unknown == account.Delta {
		return "a finite number of at least 0"
	}
	return "a finite number above 0"
}

// noise checks the noise multiplier, or sets it to 1 where it is what is asked for.
func (q *question) noise(given func(string) bool) error {
	switch {
	case q.unknown == account.NoiseMultiplier && given("noise-multiplier"):
		return shell.Usagef("found --noise-multiplier, which is what is solved for; expected none")
	case q.unknown == account.NoiseMultiplier:
		q.noiseMultiplier = 1
	case !(q.noiseMultiplier > 0) || math.IsInf(q.noiseMultiplier, 1):
		return shell.Usagef("found --noise-multiplier %g, expected a finite number above 0", q.noiseMultiplier)
	}
	return nil
}

// probability checks the sampling probability, or computes it from examples and batch size. Where
// it is what is asked for, it is set to 0.5.
func (q *question) probability(given func(string) bool) error {
	if q.sampling == ballsInBins {
		return q.shares(given)
	}
	direct, byBatch := given("sampling-probability"), given("batch-size")
	switch solved := q.unknown == account.SamplingProbability; {
	case solved && direct:
		return shell.Usagef("found --sampling-probability, which is what is solved for; expected none")
	case solved && byBatch:
		return shell.Usagef("found --batch-size, which is what is solved for; expected none")
	case solved:
		q.samplingProbability = 0.5
	case direct && byBatch:
		return shell.Usagef("found --sampling-probability and --batch-size, expected one of them")
	case direct && !(q.samplingProbability > 0 && q.samplingProbability <= 1):
		return shell.Usagef("found --sampling-probability %g, expected a number above 0 and at most 1", q.samplingProbability)
	case !direct && !(given("examples") && byBatch):
		return shell.Usagef("found neither --sampling-probability nor --examples with --batch-size, expected one of the two")
	}
	return q.batches(given)
}

// batches checks examples and batch size where they are given, and sets the sampling probability to
// that of both.
func (q *question) batches(given func(string) bool) error {
	switch {
	case given("examples") && q.examples < 1:
		return shell.Usagef("found --examples %d, expected at least 1", q.examples)
	case given("batch-size") && !(q.batchSize > 0 && q.batchSize <= float64(q.examples)):
		return shell.Usagef("found --batch-size %g, expected a number above 0 and at most the %d examples", q.batchSize, q.examples)
	case given("batch-size"):
		q.samplingProbability = q.batchSize / float64(q.examples)
	}
	return nil
}

// ballsInBins is the sampling by which all examples are shared out among the steps of an epoch.
const ballsInBins = "balls-in-bins"

func (q *question) event() accountant.Event {
	if q.sampling == ballsInBins {
		return accountant.BallsInBins{Bins: q.bins, Event: accountant.Gaussian{NoiseMultiplier: q.noiseMultiplier}}
	}
	return account.InTurns(q.bands, q.samplingProbability, q.noiseMultiplier)
}

// shares checks the number of bins, or computes it from examples and batch size.
func (q *question) shares(given func(string) bool) error {
	switch {
	case q.unknown == account.SamplingProbability:
		return shell.Usagef("found --sampling %s, expected poisson or cyclic: it is the sampling probability that is solved for", ballsInBins)
	case given("sampling-probability"):
		return shell.Usagef("found --sampling-probability with --sampling %s, expected --bins, or --examples with --batch-size", ballsInBins)
	case given("bins") && given("batch-size"):
		return shell.Usagef("found --bins and --batch-size, expected one of them")
	case given("bins") && !(q.bins >= 1 && q.bins <= account.MostSteps):
		return shell.Usagef("found --bins %d, expected 1 to %d", q.bins, account.MostSteps)
	case !given("bins") && !(given("examples") && given("batch-size")):
		return shell.Usagef("found neither --bins nor --examples with --batch-size, expected one of the two")
	case !given("bins"):
		if err := q.batches(given); err != nil {
			return err
		}
		q.bins = int(max(1, math.Round(1/q.samplingProbability)))
	}
	q.samplingProbability = 1 / float64(q.bins)
	return nil
}

func (q *question) turns(given func(string) bool) error {
	if q.unknown == account.SamplingProbability && q.bands > 0 {
		q.samplingProbability /= float64(q.bands)
	}
	switch {
	case q.sampling != "poisson" && q.sampling != "cyclic" && q.sampling != ballsInBins:
		return shell.Usagef("found --sampling %s, expected poisson, cyclic or %s", q.sampling, ballsInBins)
	case q.sampling != ballsInBins && given("bins"):
		return shell.Usagef("found --bins without --sampling %s, expected both or neither", ballsInBins)
	case q.sampling != "cyclic" && given("bands"):
		return shell.Usagef("found --bands without --sampling cyclic, expected both or neither")
	case q.sampling == "cyclic" && (q.bands < 1 || q.bands > release.MostBlocks):
		return shell.Usagef("found --bands %d, expected the number of blocks that take turns, 1 to %d", q.bands, release.MostBlocks)
	case q.samplingProbability*float64(q.bands) > 1:
		return shell.Usagef("found %d blocks with a sampling probability of %g, expected at most %d: a batch is drawn from one block", q.bands, q.samplingProbability, int(1/q.samplingProbability))
	}
	return nil
}

// updates checks the number of steps, computes it from epochs, or sets it to 1 if it is asked for.
func (q *question) updates(given func(string) bool) error {
	steps := q.epochs / q.samplingProbability
	switch {
	case q.unknown == account.Steps:
		q.steps = 1
	case q.unknown == account.SamplingProbability && given("epochs"):
		return shell.Usagef("found --epochs, whose steps depend on the sampling probability; expected --steps")
	case given("steps") && given("epochs"):
		return shell.Usagef("found --steps and --epochs, expected one of the two")
	case !given("steps") && !given("epochs"):
		return shell.Usagef("found neither --steps nor --epochs, expected one of the two")
	case given("steps") && (q.steps < 1 || q.steps > account.MostSteps):
		return shell.Usagef("found --steps %d, expected 1 to %d", q.steps, account.MostSteps)
	case given("epochs") && !(q.epochs > 0 && steps <= account.MostSteps):
		return shell.Usagef("found --epochs %g, expected a number above 0 that makes at most %d steps", q.epochs, account.MostSteps)
	case given("epochs"):
		q.steps = max(1, int(math.Round(steps)))
	}
	return nil
}
