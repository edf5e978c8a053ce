package features

import (
	"fmt"
	"math"
	"sync"

	"dpsgd/data"
	"dpsgd/features/encoder"
	"dpsgd/features/scattering"
	"dpsgd/internal/kernel"
)

// Extraction computes the rows of a recipe from pictures of one shape.
type Extraction struct {
	shape      data.Shape
	prepared   *Prepared
	width      int
	encoded    bool           // rows end with averaged maps of package encoder
	deskewed   bool           // pictures are deskewed first
	forward    extractBatches // in place of the transform, or nil
	flattening *Flattening
	pool       *kernel.Pool
}

// Prepare draws pictures and learns from them what the recipe has to learn. The extraction keeps
// the pool and computes with it.
func (r Recipe) Prepare(shape data.Shape, pool *kernel.Pool) (*Extraction, error) {
	if !shape.IsPicture() {
		return nil, fmt.Errorf("features: %s are computed of pictures, found rows of %v", r.Transform.Name(), shape)
	}
	if err := r.Check(shape); err != nil {
		return nil, err
	}
	draw := func(n int) (*Drawings, error) { return r.Draw(shape, n, pool) }
	prepared, err := r.Transform.Prepare(shape, draw)
	if err != nil {
		return nil, err
	}
	e := &Extraction{shape: shape, prepared: prepared, width: r.Width(shape), pool: pool, encoded: r.Encoder > 0, deskewed: r.Deskew}
	if prepared.batches != nil {
		if e.forward, err = prepared.batches(pool); err != nil {
			return nil, err
		}
	}
	if e.encoded {
		if err := encoder.Check(shape); err != nil {
			return nil, err
		}
	}
	pictures, err := draw(r.Pictures)
	if err != nil {
		return nil, err
	}
	rows := make([]float32, r.Pictures*e.width)
	e.extract(rows, r.Pictures, func(dst []float32, i int) { copy(dst, pictures.At(i)) })
	e.flattening, err = fitFlattening(rows, r.Pictures, r.blocks(shape), r.Directions, pool)
	return e, err
}

// extract sets rows to the transforms of n pictures and their averaged maps, not flattened. picture
// writes number i to dst.
func (e *Extraction) extract(rows []float32, n int, picture func(dst []float32, i int)) {
	if as := picture; e.deskewed {
		picture = func(dst []float32, i int) {
			as(dst, i)
			deskew(dst, e.shape)
		}
	}
	if e.forward != nil {
		e.forward(rows, n, picture)
		return
	}
	workers := make([]*extractionWorker, e.pool.Threads())
	e.pool.Run(n, encoder.Batch, func(at, lo, hi int) {
		if workers[at] == nil {
			workers[at] = e.newWorker()
		}
		for ; lo < hi; lo += encoder.Batch {
			workers[at].batch(rows, lo, min(lo+encoder.Batch, hi), picture)
		}
	})
}

// An extractionWorker holds the working memory of one worker.
type extractionWorker struct {
	*Extraction
	extract func(dst, picture []float32)
	encoder *encoder.Encoder // nil without
	pixels  []float32        // of a batch of pictures
}

func (e *Extraction) newWorker() *extractionWorker {
	w := &extractionWorker{Extraction: e, extract: e.prepared.Extractor(), pixels: make([]float32, encoder.Batch*e.shape.Values())}
	if e.encoded {
		w.encoder = encoder.New(e.shape)
	}
	return w
}

// batch sets the rows of pictures [lo, hi), at most as many as the encoder takes at a time.
func (w *extractionWorker) batch(rows []float32, lo, hi int, picture func(dst []float32, i int)) {
	transformed, size := w.width, w.shape.Values()
	if w.encoded {
		transformed -= encoder.Width()
	}
	for i := lo; i < hi; i++ {
		pixels := w.pixels[(i-lo)*size:][:size]
		picture(pixels, i)
		w.extract(rows[i*w.width:][:transformed], pixels)
	}
	if w.encoded {
		w.encoder.Extract(rows[lo*w.width+transformed:hi*w.width], w.width, w.pixels[:(hi-lo)*size])
		for i := lo; i < hi; i++ {
			raise(rows[i*w.width+transformed:(i+1)*w.width], EncoderPower)
		}
	}
}

// block is the number of pictures that Rows computes between two calls of done.
const block = 500

// Rows computes the rows of a set of pictures, which have the extraction's shape. After every block
// of pictures it calls done with their number.
func (e *Extraction) Rows(set data.Pictures, done func(pictures int)) (*data.Features, error) {
	n, width := set.Len(), e.width
	halves, labels := make([]uint16, n*width), make([]uint8, n)
	values := make([]float32, min(block, n)*width)
	var once sync.Once
	for lo := 0; lo < n; lo += block {
		size := min(block, n-lo)
		var failed error
		e.extract(values[:size*width], size, func(dst []float32, i int) {
			if err := set.View(lo+i, func(pixels []uint8) { planar(dst, pixels, e.shape) }); err != nil {
				once.Do(func() { failed = err })
			}
		})
		if failed != nil {
			return nil, failed
		}
		e.flattening.apply(values[:size*width], e.pool)
		e.pool.Run(size, 8, func(_, from, to int) {
			kernel.ToHalves(halves[(lo+from)*width:(lo+to)*width], values[from*width:to*width])
		})
		for i := lo; i < lo+size; i++ {
			labels[i] = uint8(set.Label(i))
		}
		done(size)
	}
	return data.NewFeatures(width, set.Classes(), labels, halves)
}

// planar sets dst, (channel, row, column), to the pixels of a picture, (row, column, channel),
// divided by 255.
func planar(dst []float32, pixels []uint8, shape data.Shape) {
	area := shape.Height * shape.Width
	for c := range shape.Channels {
		plane := dst[c*area : (c+1)*area]
		for i := range plane {
			plane[i] = float32(pixels[i*shape.Channels+c]) / 255
		}
	}
}

// Definition is everything that rows follow from, for programs that compute them otherwise: one of
// the transforms, the power to which its values are raised, the encoder whose averaged maps
// follow, and how all of them are evened out.
type Definition struct {
	Patches    []PatchDefinition // one after the other; nil for another transform
	Scattering *scattering.Definition
	Power      float64
	Backbone   *BackboneDefinition // nil for another transform
	Groups     int                 // number of groups in which the coefficients of each channel of a picture are normalised; 0 for not at all
	Encoder    *encoder.Definition // nil for none; its values are raised to EncoderPower
	Flattening *Flattening
	Deskewed   bool // pictures are deskewed first
}

// EncoderPower is the power to which averaged maps are raised.
const EncoderPower = 0.5

// Definition returns the definition of the rows of e, or false if the transform has none.
func (e *Extraction) Definition() (Definition, bool) {
	d := Definition{Flattening: e.flattening, Deskewed: e.deskewed}
	if e.prepared.define == nil {
		return d, false
	}
	e.prepared.define(&d)
	if e.encoded {
		of := encoder.New(e.shape).Definition()
		d.Encoder = &of
	}
	return d, true
}

// Centre subtracts a mean from the rows, in their place, and makes them unit norm again. The caller
// owns the set, and nobody reads it meanwhile. Row i depends on row i and the mean alone.
//
// In place, because rows are the largest thing that a run holds, and memory that is touched for the
// first time costs more than the arithmetic.
func Centre(rows *data.Features, mean []float32, pool *kernel.Pool) error {
	if norm := math.Sqrt(kernel.SumSquares(mean)); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return fmt.Errorf("features: the mean of the rows has the norm %v, expected finite numbers", norm)
	}
	scratch := make([][]float32, pool.Threads())
	pool.Run(rows.Len(), 1+1<<15/len(mean), func(worker, lo, hi int) {
		if scratch[worker] == nil {
			scratch[worker] = make([]float32, len(mean))
		}
		x := scratch[worker]
		for i := lo; i < hi; i++ {
			kernel.FromHalves(x, rows.Halves(i))
			kernel.Axpy(x, -1, mean)
			toUnit(x)
			kernel.ToHalves(rows.Halves(i), x)
		}
	})
	return nil
}
