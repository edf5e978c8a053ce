package compute

import (
	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// Input is where a graph finds its physical batch.
type Input struct {
	images, mask []float32
	labels       []int32
	Batch        int // examples that the graph holds
	pixels       int // values of one example
	batcher      *data.Batcher
	pool         *kernel.Pool

	indices []int // of the examples being filled in
	rows    func(worker, lo, hi int)
}

// NewInput finds the inputs of a network in the graph that runs it; batcher fills them in.
func NewInput(e *graph.Executor, n *model.Network, batcher *data.Batcher, pool *kernel.Pool) Input {
	images := e.Values(n.Images).Float32
	mask := e.Values(n.Mask).Float32
	return Input{
		images: images, labels: e.Values(n.Labels).Int32, mask: mask,
		Batch: len(mask), pixels: len(images) / len(mask), batcher: batcher, pool: pool,
	}
}

// Fill puts the examples with these indices into the graph, at most a physical batch, and pads it
// with examples that the mask takes out.
func (in *Input) Fill(indices []int) {
	if in.rows == nil {
		in.rows = in.fillRows
	}
	in.indices = indices
	in.pool.Run(len(indices), graph.Grain(in.pixels), in.rows)
	clear(in.images[len(indices)*in.pixels:])
	clear(in.labels[len(indices):])
	clear(in.mask[len(indices):])
	for i := range indices {
		in.mask[i] = 1
	}
}

func (in *Input) fillRows(_, lo, hi int) {
	in.batcher.Fill(in.images[lo*in.pixels:hi*in.pixels], in.labels[lo:hi], in.indices[lo:hi])
}
