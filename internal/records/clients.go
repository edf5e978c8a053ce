package records

import (
	"cmp"
	"fmt"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/model"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// Clients computes what clients contribute to a round of federated training: DP-FedAvg with a bound
// on each client (McMahan, Ramage, Talwar, Zhang, arXiv:1710.06963, Algorithm 1).
//
// A round is a release whose records are clients. Every sampled client begins with the model of
// now, takes steps of plain SGD on its own examples, and contributes by how far it has moved the
// parameters. The door clips that to C, whatever the client made of it, adds it to the sum and adds
// noise. The sum divided by the expected number of clients, a public number, is a gradient to the
// server's update rule: plain SGD with a learning rate of 1 there is federated averaging.
//
// Clients count alike, however many examples they have: weights by size would have to be bounded
// and would tell the sizes. What a client contributes is a function of its own examples, of the
// model, and of public numbers. All clients are simulated in this process; each worker computes one
// at a time, on one thread. Clients is not safe for concurrent use.
type Clients struct {
	recipe  data.ClientSplit
	own     [][]int   // examples of each client
	begin   []float32 // parameters that a round begins with; the run's own
	round   int
	pool    *kernel.Pool
	workers []*worker

	// Of the clients of one call.
	indices []int
	changes []float32 // (clients, parameters)
	batch   clip.Batch
	policy  clip.Counting // nil where the policy does not count
	counts  []float32
	errs    []error                  // by worker
	runEach func(worker, lo, hi int) // c.run, made once
}

// worker computes one client at a time, with a network of its own.
type worker struct {
	model   *model.Model
	trainer *sgd.Trainer
}

var _ release.Contributor = (*Clients)(nil)

// NewClients returns the clients of a configuration, who hold the examples of a set, for a network
// that sees examples of the given shape. Rounds begin with the parameters of m, as they are by
// then.
func NewClients(c *configs.Config, m *model.Model, set data.Set, shape data.Shape, pool *kernel.Pool) (*Clients, error) {
	own, err := c.Federated.Spread(set)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", setup.ErrPlan, err)
	}
	dim := len(m.Values)
	capacity := setup.ClientsAtOnce(c, dim, pool.Threads())
	f := &Clients{
		recipe: c.Federated, own: own, begin: m.Values, pool: pool, changes: make([]float32, capacity*dim),
		counts: make([]float32, capacity), errs: make([]error, pool.Threads()),
	}
	f.batch = clip.Batch{SquaredNorms: make([]float64, capacity), Parts: []clip.Part{clip.Stored(f.changes, dim)}}
	f.runEach = f.run
	for range pool.Threads() {
		w, err := newWorker(c, set, shape)
		if err != nil {
			return nil, err
		}
		f.workers = append(f.workers, w)
	}
	return f, nil
}

// newWorker declares the network once more, with parameters of its own and the frozen ones of the
// run.
func newWorker(c *configs.Config, set data.Set, shape data.Shape) (*worker, error) {
	m, err := setup.Model(c, shape, len(set.Classes()))
	if err != nil {
		return nil, err
	}
	if _, err := setup.Start(c, m); err != nil {
		return nil, err
	}
	trainer, err := sgd.NewTrainer(c, m, set, shape, &optimizer.SGD{}, c.Federated.LocalBatchSize, nil)
	return &worker{m, trainer}, err
}

// ClipBy prepares later contributions for a clipping policy: for a [clip.Counting] one, every
// contribution has one more coordinate, at its end.
func (c *Clients) ClipBy(policy clip.Policy) {
	c.batch.Parts = c.batch.Parts[:1]
	if c.policy, _ = policy.(clip.Counting); c.policy != nil {
		c.batch.Parts = append(c.batch.Parts, clip.Stored(c.counts, 1))
	}
}

// Coordinates returns the number of values that each client contributes.
func (c *Clients) Coordinates() int {
	if c.policy != nil {
		return len(c.begin) + 1
	}
	return len(c.begin)
}

// Capacity implements [release.Contributor].
func (c *Clients) Capacity() int { return len(c.counts) }

// AtRound sets the round, counted from 0, that later contributions are for.
func (c *Clients) AtRound(round int) *Clients { c.round = round; return c }

// Contributions lets each client with one of these indices train, and returns the parameters before
// less those after: the direction of a gradient.
func (c *Clients) Contributions(indices []int) (clip.Batch, error) {
	c.indices = indices
	clear(c.errs)
	c.pool.Run(len(indices), 1, c.runEach)
	if c.policy != nil {
		c.policy.Counts(c.counts[:len(indices)], c.batch.SquaredNorms[:len(indices)])
	}
	return c.batch, cmp.Or(c.errs...)
}

func (c *Clients) run(worker, lo, hi int) {
	dim := len(c.begin)
	for i := lo; i < hi; i++ {
		change := c.changes[i*dim : (i+1)*dim]
		if err := c.change(c.workers[worker], c.indices[i], change); err != nil {
			c.errs[worker] = err
		}
		c.batch.SquaredNorms[i] = kernel.SumSquares(change)
	}
}

// change computes what one client contributes: zeros if it has no examples.
func (c *Clients) change(w *worker, client int, change []float32) error {
	copy(w.model.Values, c.begin)
	if own := c.own[client]; len(own) > 0 {
		batches := sgd.NewBatches(own, c.recipe.LocalBatchSize, c.seed(client))
		for step := range c.recipe.LocalSteps {
			if err := w.trainer.Step(batches.At(step), c.round*c.recipe.LocalSteps+step, c.recipe.LocalLearningRate); err != nil {
				return err
			}
		}
	}
	for i, v := range w.model.Values {
		change[i] = c.begin[i] - v
	}
	return nil
}

// seed returns the public seed of the order of a client's examples in a round.
func (c *Clients) seed(client int) uint64 {
	return c.recipe.Seed + uint64(c.round)*uint64(len(c.own)) + uint64(client)
}

// Means contributes, for each client, the mean of its rows of features. The sum of these is
// released, so that clients count alike.
type Means struct {
	own     [][]int
	batcher *data.Batcher
	row     []float32
	targets []float32
	mean    []float32
	square  []float64
}

var _ release.Contributor = (*Means)(nil)

// NewMeans returns the means of clients who hold these rows.
func NewMeans(rows *data.Features, own [][]int) (*Means, error) {
	batcher, err := data.NewBatcher(rows, data.Normalisation{})
	width := rows.Shape().Values()
	return &Means{own, batcher, make([]float32, width), make([]float32, 1), make([]float32, width), make([]float64, 1)}, err
}

// Capacity implements [release.Contributor].
func (m *Means) Capacity() int { return 1 }

// Contributions returns the mean of the client with this index; of one without examples it is zero.
func (m *Means) Contributions(indices []int) (clip.Batch, error) {
	clear(m.mean)
	own := m.own[indices[0]]
	for i := range own {
		if err := m.batcher.Fill(m.row, m.targets, own[i:i+1]); err != nil {
			return clip.Batch{}, err
		}
		kernel.Axpy(m.mean, 1/float32(len(own)), m.row)
	}
	m.square[0] = kernel.SumSquares(m.mean)
	return clip.Batch{SquaredNorms: m.square, Parts: []clip.Part{clip.Stored(m.mean, len(m.mean))}}, nil
}
