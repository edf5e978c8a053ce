package gradients

import (
	"sync"
	"time"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// running is a compiled graph of a network, with its inputs.
type running struct {
	input    input
	executor *graph.Executor
	network  *model.Network
}

// Profile makes later runs record the time of each operation; see [graph.Executor.Profile].
func (r *running) Profile(record func(part, operation string, d time.Duration)) {
	r.executor.Profile(record)
}

// input holds the inputs of a graph, and fills them with a physical batch.
type input struct {
	images, mask []float32
	targets      []float32 // of each row, numbers of them
	numbers      int
	batch        int // examples that the graph holds, each in as many consecutive rows as it has views
	pixels       int // values of one row
	batcher      *data.Batcher
	views        *data.Views    // nil: every example is a row, as it is
	step         int            // of training, for the views
	whole        *graph.Scratch // for each worker, the example that views are made of
	pool         *kernel.Pool

	indices []int // of the examples being filled in
	rows    func(worker, lo, hi int)
	mutex   sync.Mutex // of failed
	failed  error      // why an example could not be read
}

// newRunning returns a graph whose inputs are filled from batcher, in views, or as the examples are
// if views is nil.
func newRunning(e *graph.Executor, n *model.Network, batcher *data.Batcher, views *data.Views, pool *kernel.Pool) running {
	images, mask := e.Values(n.Images).Float32, e.Values(n.Mask).Float32
	pixels := len(images) / len(mask)
	return running{input{
		images: images, targets: e.Values(n.Targets).Float32, numbers: n.Targets.Shape()[1], mask: mask, batch: len(mask) / views.PerExample(), pixels: pixels,
		batcher: batcher, views: views, whole: graph.NewScratch(pool, pixels), pool: pool,
	}, e, n}
}

// fill puts the examples with these indices into the graph, at most a physical batch, and pads the
// rest with zeros. The mask takes it out whatever it holds, but no example of an earlier batch stays.
// After an error the graph must not be run.
func (in *input) fill(indices []int) error {
	if in.rows == nil {
		in.rows = in.fillRows
		if in.views != nil {
			in.rows = in.fillViews
		}
	}
	in.indices, in.failed = indices, nil
	rows := len(indices) * in.views.PerExample()
	grain := graph.Grain(in.pixels * in.views.PerExample())
	if in.batcher.Decodes() {
		grain = 1
	}
	in.pool.Run(len(indices), grain, in.rows)
	if in.failed != nil {
		return in.failed
	}
	clear(in.images[rows*in.pixels:])
	clear(in.targets[rows*in.numbers:])
	clear(in.mask[rows:])
	for i := range rows {
		in.mask[i] = 1
	}
	return nil
}

// fillRange writes the examples indices[lo:hi] to x and targets, and keeps an error in failed.
func (in *input) fillRange(x, targets []float32, lo, hi int) {
	if err := in.batcher.Fill(x, targets, in.indices[lo:hi]); err != nil {
		in.mutex.Lock()
		in.failed = err
		in.mutex.Unlock()
	}
}

func (in *input) fillRows(_, lo, hi int) {
	in.fillRange(in.images[lo*in.pixels:hi*in.pixels], in.targets[lo*in.numbers:hi*in.numbers], lo, hi)
}

func (in *input) fillViews(worker, lo, hi int) {
	whole, views := in.whole.For(worker), in.views.PerExample()
	for i := lo; i < hi; i++ {
		first := in.targets[i*views*in.numbers:][:in.numbers]
		in.fillRange(whole, first, i, i+1)
		for v := range views {
			row := i*views + v
			copy(in.targets[row*in.numbers:], first)
			in.views.Write(in.images[row*in.pixels:(row+1)*in.pixels], whole, in.step, in.indices[i], v)
		}
	}
}

// Rows contributes rows of features, without labels, to a release of their noisy sum.
type Rows struct {
	batcher *data.Batcher
	values  []float32
	targets []float32
	squares []float64
}

// rowsBatch is the largest number of rows that Contributions takes at a time.
const rowsBatch = 128

// NewRows returns the Rows of a set of features.
func NewRows(set *data.Features) (*Rows, error) {
	batcher, err := data.NewBatcher(set, data.Normalisation{})
	if err != nil {
		return nil, err
	}
	return &Rows{
		batcher: batcher, values: make([]float32, rowsBatch*set.Shape().Values()), targets: make([]float32, rowsBatch*batcher.Targets()),
		squares: make([]float64, rowsBatch),
	}, nil
}

func (r *Rows) Capacity() int { return rowsBatch }

// Contributions returns the rows with these indices, at most Capacity. They last until the next
// call.
func (r *Rows) Contributions(indices []int) (clip.Batch, error) {
	width := r.batcher.Shape().Values()
	if err := r.batcher.Fill(r.values, r.targets, indices); err != nil {
		return clip.Batch{}, err
	}
	for i := range indices {
		r.squares[i] = kernel.SumSquares(r.values[i*width : (i+1)*width])
	}
	return clip.Batch{SquaredNorms: r.squares, Parts: []clip.Part{clip.Stored(r.values, width)}}, nil
}
