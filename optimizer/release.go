package optimizer

import (
	"dpsgd/clip"
	"dpsgd/internal/random"
)

// release is a sum on its way out of a [Gaussian]. It is handed from [Gaussian.Privatize] to one update and then used
// again for another sum; the turn tells these apart.
type release struct {
	mechanism *Gaussian
	turn      uint64
	// What is not noisy yet is behind a pointer of its own: package fmt follows one, for verbs that do not fit.
	*unnoised
}

// unnoised is the bare values, a secret that only withNoise reads, and the noise that they leave with.
type unnoised struct {
	sum       *clip.Sum // gets the memory of values back
	values    []float64
	grid      lattice
	deviation float64
	streams   []*random.Source // one per chunk
}

// take uses n up and returns what it stands for. Until [release.done] the mechanism is locked, so that two threads
// never read one stream of noise.
func (n Noisy) take() (*release, error) {
	r := n.release
	r.mechanism.access.Lock()
	if n.turn != r.turn {
		r.mechanism.access.Unlock()
		return nil, ErrUsed
	}
	r.turn++
	return r, nil
}

// withNoise returns the noisy values of the coordinates [from, to), at most a block of one chunk. Each
// coordinate is asked for once, in order within its chunk. The result lies in w and lasts until the next call.
func (r *unnoised) withNoise(from, to int, w *workspace) []float64 {
	return r.grid.withNoise(r.values[from:to], r.deviation, r.streams[from/chunkLen], w)
}

// done gives the memory of the values back to the sum that they came from and makes r available for the next one.
func (r *release) done() {
	r.sum.Recycle(r.values)
	r.sum, r.values = nil, nil
	r.mechanism.idle = append(r.mechanism.idle, r)
	r.mechanism.access.Unlock()
}
