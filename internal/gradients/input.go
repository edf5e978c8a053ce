package gradients

import (
	"sync"

	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// Input is where a graph finds its physical batch.
type Input struct {
	images, mask []float32
	labels       []int32
	Batch        int // examples that the graph holds, each in as many consecutive rows as it has views
	pixels       int // values of one row
	batcher      *data.Batcher
	views        *data.Views    // nil: every example is a row, as it is
	step         int            // of training, for the views
	whole        *graph.Scratch // an example that views are made of
	pool         *kernel.Pool

	indices []int // of the examples being filled in
	rows    func(worker, lo, hi int)
	mutex   sync.Mutex // of failed
	failed  error      // why an example could not be read
}

// NewInput finds the inputs of a network in the graph that runs it; batcher and views, which may be
// nil, fill them in.
func NewInput(e *graph.Executor, n *model.Network, batcher *data.Batcher, views *data.Views, pool *kernel.Pool) Input {
	images := e.Values(n.Images).Float32
	mask := e.Values(n.Mask).Float32
	pixels := len(images) / len(mask)
	return Input{
		images: images, labels: e.Values(n.Labels).Int32, mask: mask, Batch: len(mask) / views.PerExample(), pixels: pixels,
		batcher: batcher, views: views, whole: graph.NewScratch(pool, pixels), pool: pool,
	}
}

// Fill puts the examples with these indices into the graph, at most a physical batch, and pads it
// with examples that the mask takes out. After an error nothing may be computed of it.
func (in *Input) Fill(indices []int) error {
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
	clear(in.labels[rows:])
	clear(in.mask[rows:])
	for i := range rows {
		in.mask[i] = 1
	}
	return nil
}

// fill puts rows into x and labels for the examples from lo to hi, and notes where that fails.
func (in *Input) fill(x []float32, labels []int32, lo, hi int) {
	if err := in.batcher.Fill(x, labels, in.indices[lo:hi]); err != nil {
		in.mutex.Lock()
		in.failed = err
		in.mutex.Unlock()
	}
}

func (in *Input) fillRows(_, lo, hi int) {
	in.fill(in.images[lo*in.pixels:hi*in.pixels], in.labels[lo:hi], lo, hi)
}

func (in *Input) fillViews(worker, lo, hi int) {
	whole, views := in.whole.For(worker), in.views.PerExample()
	for i := lo; i < hi; i++ {
		labels := in.labels[i*views : (i+1)*views]
		in.fill(whole, labels, i, i+1)
		for v := range views {
			row := i*views + v
			labels[v] = labels[0]
			in.views.Write(in.images[row*in.pixels:(row+1)*in.pixels], whole, in.step, in.indices[i], v)
		}
	}
}
