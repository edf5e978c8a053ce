package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/sweep"
	"dpsgd/internal/train"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Shadows says how membership is audited: with how many shadow models, on which data.
//
// Each shadow model is a trial of a sweep in Dir, which has ledgers of its own: no ledger of the
// audited run, or of the other runs on the data, counts what shadow models release. So they are for
// the auditor alone, who has the examples, and nothing of them may leave Dir.
type Shadows struct {
	setup.Request        // where the data is
	Number        int    // of shadow models: even, at least [FewestShadows]
	Dir           string // a new or empty folder, or that of the same audit; "" is one that is removed at the end
	Jobs          int    // trials at a time; 0 is one
	Watcher       sweep.Watcher
	Warned        func(message string)
}

// Limits of the number of shadow models.
const FewestShadows, MostShadows = 4, 1000

// ShadowAudit is the outcome of an audit of membership: NOT PRIVATE, because it is computed from
// training examples without noise.
type ShadowAudit struct {
	Outcome
	Shadows  int           `json:"shadow_models"`
	Examples int           `json:"examples"` // of the pool: what every shadow model was trained on half of
	Attacks  []*Membership `json:"attacks"`  // in the order of Tests
}

// AuditConfig trains a target by a configuration, on a random half of all its examples, and audits
// it. Training and test examples are one pool, of which everything is drawn: so a coin of its own
// has decided about each example, and the bounds hold whatever the examples are.
func (s Shadows) AuditConfig(ctx context.Context, name string, c *configs.Config) (*ShadowAudit, error) {
	return s.audit(ctx, name, c, "")
}

// AuditRun audits the model of the run in folder dir. Its training and test examples have to come
// from one source, or attacks find the difference of the sources.
func (s Shadows) AuditRun(ctx context.Context, dir string) (*ShadowAudit, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	return s.audit(ctx, dir, c, dir)
}

// audit trains the shadow models, and the target unless it is the run in folder dir, and attacks
// the target with what each of them says of every example.
func (s Shadows) audit(ctx context.Context, name string, c *configs.Config, dir string) (*ShadowAudit, error) {
	if c.Privacy.Ordinary() || c.Privacy.Unit != configs.UnitExample || c.Federated.Any() || c.Pate.Any() || c.Data.Task() != data.Class {
		return nil, fmt.Errorf("%w: membership is audited where classes are learnt and single training examples get noise, expected privacy.unit example, and neither data.bounds, data.labels, privacy.none, federated nor pate", setup.ErrPlan)
	}
	read, err := s.Read(c)
	if err != nil {
		return nil, err
	}
	p := pool{read}
	if s.Dir == "" {
		if s.Dir, err = os.MkdirTemp("", "not-private-audit-"); err != nil {
			return nil, fmt.Errorf("train: audit: %w", err)
		}
		defer os.RemoveAll(s.Dir)
	}
	trials := s.Number
	if dir == "" {
		trials++
	}
	trained, err := s.train(ctx, c, p, trials)
	if err != nil {
		return nil, err
	}
	var target model
	if dir == "" {
		target, trained = trained[0], trained[1:]
	} else if target, err = modelOf(dir, read, p.all()); err != nil {
		return nil, err
	}
	r := &ShadowAudit{Outcome: Outcome{Audit: "membership", Name: name, Confidence: auditConfidence, Delta: c.Privacy.Delta}, Shadows: s.Number, Examples: len(target.margins)}
	return r, r.attack(target, trained)
}

// attack fills in what each attack finds. Each is tested at a third of the level.
func (r *ShadowAudit) attack(target model, shadows []model) error {
	online, offline := likelihoods(target.margins, shadows)
	attacks := []struct {
		name   string
		scores []float64
	}{{"loss threshold", target.margins}, {"LiRA, offline", offline}, {"LiRA, online", online}}
	for _, a := range attacks {
		training, others := target.split(a.scores)
		m, err := Tell(training, others, r.Delta, (1-r.Confidence)/float64(len(attacks)))
		if err != nil {
			return err
		}
		m.Attack, m.Run = a.name, target.dir
		if len(r.Attacks) > 0 {
			m.share(r.Attacks[0])
		} else if err := m.allow(target.dir); err != nil {
			return err
		}
		r.Attacks = append(r.Attacks, m)
		r.ROC = append(r.ROC, Curve{a.name, m.curve})
		r.Tests = append(r.Tests, Tested{
			Claim: a.name, Quantity: "ε", Claimed: m.EpsilonAtMost, AtLeast: m.EpsilonAtLeast, Falsified: m.EpsilonAtLeast > m.EpsilonAtMost,
			By: fmt.Sprintf("%d right of %d guesses", m.Right, m.Guesses),
		})
	}
	r.Allowed = r.Attacks[0].allowed
	r.Falsified = r.Err() != nil
	return nil
}

// pool is the data of an audit: training and test examples, numbered one after the other.
type pool struct{ *data.Split }

// all returns the numbers of the examples of an audit: an even number, so that the last of an odd
// pool is left out.
func (p pool) all() []int {
	numbers := make([]int, (p.Train.Len()+p.Test.Len())/2*2)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// sees returns what a model sees that is trained with a seed, and the numbers of its examples: it is
// trained on a half that the seed decides, and tested on the other one. Of the seeds 2k and 2k+1 one
// has the examples that the other has not, so that with both each example was in once.
func (p pool) sees(seed uint64) (*data.Split, []int) {
	numbers := p.all()
	rand.New(random.Seeded(seed/2)).Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	half := len(numbers) / 2
	if seed%2 == 1 {
		numbers = slices.Concat(numbers[half:], numbers[:half])
	}
	return &data.Split{Name: p.Name, Train: data.Select(numbers[:half], p.Train, p.Test), Test: data.Select(numbers[half:], p.Train, p.Test)}, numbers
}

// What the folder of an audit holds beside its sweep.
const (
	shadowBase  = "base.yaml"
	shadowFile  = "shadows.yaml"
	shadowSweep = "not-private-shadows"
)

// train trains models on halves of the pool and returns what they say of its examples.
func (s Shadows) train(ctx context.Context, c *configs.Config, p pool, trials int) ([]model, error) {
	file, err := s.file(c, trials)
	if err != nil {
		return nil, err
	}
	o := sweep.Options{RunsDir: s.Dir, Jobs: s.Jobs, Watcher: s.Watcher, Warned: s.Warned}
	o.Sees = func(c *configs.Config) *data.Split {
		seen, _ := p.sees(uint64(c.Training.Seed))
		return seen
	}
	o.Given, _ = p.sees(0)
	result, err := sweep.Run(ctx, file, o)
	switch {
	case err != nil:
		return nil, err
	case result.Status == run.Interrupted:
		return nil, fmt.Errorf("train: audit: %w", ctx.Err())
	case len(result.Rows) != trials:
		return nil, fmt.Errorf("%w: %s holds %d models, expected the %d of this audit; choose another folder", sweep.ErrOtherSweep, s.Dir, len(result.Rows), trials)
	}
	var models []model
	for _, row := range result.Rows {
		seed, err := strconv.ParseUint(row.Value(configs.SeedKey), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("train: audit: %w", err)
		}
		seen, numbers := p.sees(seed)
		m, err := modelOf(filepath.Join(result.Sweep, row.Trial), seen, numbers)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	return models, nil
}

// file writes the sweep of an audit, with seeds from the system, or reads the one that is there: an
// audit that was stopped goes on. The folder is for its owner alone.
func (s Shadows) file(c *configs.Config, trials int) (*configs.Sweep, error) {
	base, path := filepath.Join(s.Dir, shadowBase), filepath.Join(s.Dir, shadowFile)
	free := *c
	free.Data.Limit = configs.Limit{} // which is for what leaves: nothing does
	kept, err := os.ReadFile(base)
	switch {
	case err == nil && !bytes.Equal(kept, free.YAML()):
		return nil, fmt.Errorf("%w: %s is of another configuration, expected that of this audit; choose another folder", sweep.ErrOtherSweep, base)
	case err == nil:
		return configs.LoadSweep(path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("train: audit: %w", err)
	}
	if err := s.claim(); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("# Shadow models of an audit: NOT PRIVATE, and in no other ledger.\nname: %s\nbase: ./%s\nseeds: [%s]\n", shadowSweep, shadowBase, s.seeds(trials))
	for name, content := range map[string][]byte{path: []byte(text), base: free.YAML()} {
		if err := checkpoints.WriteFileAtomic(name, content, 0o600); err != nil {
			return nil, fmt.Errorf("train: audit: %w", err)
		}
	}
	return configs.LoadSweep(path)
}

// seeds draws the seeds of all models: that of the target, if it is trained here, then those of the
// shadow models in pairs, each of which has all examples in one of two halves.
func (s Shadows) seeds(trials int) string {
	var secret *random.Source = random.New() // of no other type: nobody else may know the halves
	var seeds []string
	var seed uint64
	for i := range trials {
		if target := i < trials-s.Number; target || seed%2 == 1 || i == trials-s.Number {
			seed = secret.Uint64() >> 12 << 1 // even, below 2^53
		} else {
			seed++
		}
		seeds = append(seeds, strconv.FormatUint(seed, 10))
	}
	return strings.Join(seeds, ", ")
}

// claim makes the folder of an audit, or takes an empty one, and closes it to others.
func (s Shadows) claim() error {
	if err := checkpoints.MakeDir(s.Dir); err != nil {
		return fmt.Errorf("train: audit: %w", err)
	}
	found, err := os.ReadDir(s.Dir)
	if err == nil && len(found) > 0 {
		return fmt.Errorf("%w: found %s in %s, expected a new or empty folder, or that of the same audit", sweep.ErrOtherSweep, found[0].Name(), s.Dir)
	}
	if err == nil {
		err = os.Chmod(s.Dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("train: audit: %w", err)
	}
	return nil
}

// model holds the answers of a trained model to the examples of a pool.
type model struct {
	dir     string
	margins []float64 // by example, see [score.Margin]
	in      []bool    // whether it was trained on the example
}

// modelOf asks the model of a run about its training and then its test examples, which have these
// numbers in the pool.
func modelOf(dir string, seen *data.Split, numbers []int) (model, error) {
	m := model{dir: dir, margins: make([]float64, len(numbers)), in: make([]bool, len(numbers))}
	at := 0
	err := train.EachLogits(dir, train.Options{Options: run.Options{Request: setup.Request{Given: seen}}}, func(trained bool, logits []float32, label int) {
		if at < len(numbers) {
			m.margins[numbers[at]], m.in[numbers[at]] = score.Margin(logits, label), trained
		}
		at++
	})
	return m, err
}

// split returns the scores of the examples that a model was trained on, and those of the others.
func (m model) split(scores []float64) (training, others []float64) {
	for i, score := range scores {
		if m.in[i] {
			training = append(training, score)
		} else {
			others = append(others, score)
		}
	}
	return training, others
}

// ownSpread is how many models on either side of an example suffice for a deviation of its own: with
// fewer, all examples have one in common, as the paper of [likelihoods] does.
const ownSpread = 32

// likelihoods returns for each example how much likelier its margin under the target is if the
// target was trained on it: the likelihood ratio attack, LiRA (Carlini, Chien, Nasr, Song, Terzis,
// Tramèr 2022, arXiv:2112.03570, Algorithm 1). Margins are taken for normal, with the mean of the
// shadow models that were trained on the example, or of those that were not. Offline uses the
// latter alone, as somebody who learns of the example after training the shadows (equation 4). An
// example that all or none of the shadows were trained on has the score 0, which says nothing.
func likelihoods(target []float64, shadows []model) (online, offline []float64) {
	in, out := side(shadows, len(target), true), side(shadows, len(target), false)
	online, offline = make([]float64, len(target)), make([]float64, len(target))
	for i, margin := range target {
		if in[i].Sigma == 0 || out[i].Sigma == 0 {
			continue
		}
		online[i] = in[i].LogProb(margin) - out[i].LogProb(margin)
		offline[i] = (margin - out[i].Mu) / out[i].Sigma
	}
	return online, offline
}

// side fits a normal law to each example's margins under the shadow models that were trained on it,
// or were not. Its deviation is 0 where there are none.
func side(shadows []model, examples int, trained bool) []distuv.Normal {
	laws := make([]distuv.Normal, examples)
	margins := make([][]float64, examples)
	var squares, freedom float64
	for i := range laws {
		for _, m := range shadows {
			if m.in[i] == trained {
				margins[i] = append(margins[i], m.margins[i])
			}
		}
		if n := float64(len(margins[i])); n > 0 {
			mean, variance := stat.PopMeanVariance(margins[i], nil)
			laws[i] = distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance * n / max(1, n-1))}
			squares, freedom = squares+variance*n, freedom+n-1
		}
	}
	common := math.Sqrt(squares / max(1, freedom))
	for i, of := range margins {
		if len(of) == 0 {
			continue
		}
		if len(of) < ownSpread {
			laws[i].Sigma = common
		}
		laws[i].Sigma = max(laws[i].Sigma, 1e-6*math.Abs(slices.Max(of)), 1e-12) // where all agree
	}
	return laws
}
