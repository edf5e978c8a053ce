package features

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// Recipe says how rows are computed from pictures.
type Recipe struct {
	Transform  Transform
	Drawn      string // one of [DrawnKinds], which the program draws to learn from
	Pictures   int    // how many of them
	Seed       uint64 // of the drawing
	Directions int    // principal directions of the drawn pictures' features that are evened out
}

// Width returns the number of values in a row.
func (r Recipe) Width(shape data.Shape) int {
	width := 0
	for _, b := range r.Transform.Blocks(shape) {
		width += b.Channels * b.Positions
	}
	return width
}

// version is part of what rows are recognised by. It changes whenever a recipe gives other rows.
const version = 1

// silent are the values that change nothing of arguments that came later: what runs and models of
// before say of their features stays true.
var silent = map[string]string{"power": "1", "coarse_filters": "0"}

// Any reports whether the recipe computes anything.
func (r Recipe) Any() bool { return r.Transform != nil && r.Transform != (None{}) }

// String describes the recipe completely, in the words of its keys.
func (r Recipe) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Transform.Name())
	for _, a := range setting.Arguments(r.Transform) {
		if f, ok := a.Format.(setting.Scalar); ok && f.Encode(a.Value) != silent[a.Name] {
			fmt.Fprintf(&b, ", %s %s", a.Name, f.Encode(a.Value))
		}
	}
	fmt.Fprintf(&b, ", version %d; %d %s drawn from seed %d by version %d of the rules, %d of their directions evened out",
		version, r.Pictures, r.Drawn, r.Seed, DrawnVersion, r.Directions)
	return b.String()
}

// published identifies the rows of a data set with that [data.Dataset.Identity].
func (r Recipe) published(identity string) Fingerprint {
	return sha256.Sum256(fmt.Appendf(nil, "%v\npublished %s\n", r, identity))
}

// fingerprint identifies the rows of some pictures: it is made of the recipe and of every pixel and
// label, or of what stands for them. It stays beside the rows, because whoever guesses the pictures
// could check the guess.
func (r Recipe) fingerprint(pictures *data.Split) (f Fingerprint, err error) {
	if identity := pictures.Identity(); identity != "" {
		return r.published(identity), nil
	}
	h := sha256.New()
	fmt.Fprintln(h, r)
	for _, set := range []data.Set{pictures.Train, pictures.Test} {
		fmt.Fprintf(h, "%d %v %q\n", set.Len(), set.Shape(), set.Classes())
		images, _ := set.(data.Pictures)
		for i := range set.Len() {
			h.Write([]byte{byte(set.Label(i))})
			if images == nil {
				continue
			}
			if err := images.View(i, func(pixels []uint8) { h.Write(pixels) }); err != nil {
				return f, err
			}
		}
	}
	h.Sum(f[:0])
	return f, nil
}

// Extraction is a recipe at work on pictures of one shape.
type Extraction struct {
	shape      data.Shape
	prepared   Prepared
	width      int
	flattening *Flattening
	pool       *kernel.Pool
}

// Draw draws the first n pictures that the recipe learns from.
func (r Recipe) Draw(shape data.Shape, n int, pool *kernel.Pool) (*Drawings, error) {
	return drawPictures(r.Drawn, n, shape, r.Seed, pool)
}

// Prepare draws pictures and learns from them what the recipe has to learn. The pool computes, then
// and later.
func (r Recipe) Prepare(shape data.Shape, pool *kernel.Pool) (*Extraction, error) {
	if shape.IsRow() {
		return nil, fmt.Errorf("features: %s are computed of pictures, found rows of %v", r.Transform.Name(), shape)
	}
	draw := func(n int) (*Drawings, error) { return r.Draw(shape, n, pool) }
	prepared, err := r.Transform.Prepare(shape, draw)
	if err != nil {
		return nil, err
	}
	e := &Extraction{shape: shape, prepared: prepared, width: r.Width(shape), pool: pool}
	pictures, err := draw(r.Pictures)
	if err != nil {
		return nil, err
	}
	rows := make([]float32, r.Pictures*e.width)
	e.extract(rows, r.Pictures, func(dst []float32, i int) { copy(dst, pictures.At(i)) })
	e.flattening, err = fitFlattening(rows, r.Pictures, r.Transform.Blocks(shape), r.Directions, pool)
	return e, err
}

// extract sets rows to the transform of n pictures, which picture puts into dst.
func (e *Extraction) extract(rows []float32, n int, picture func(dst []float32, i int)) {
	width := e.width
	type worker struct {
		extract func(dst, picture []float32)
		pixels  []float32
	}
	workers := make([]*worker, e.pool.Threads())
	e.pool.Run(n, 1, func(at, lo, hi int) {
		w := workers[at]
		if w == nil {
			w = &worker{e.prepared.Extractor(), make([]float32, e.shape.Values())}
			workers[at] = w
		}
		for i := lo; i < hi; i++ {
			picture(w.pixels, i)
			w.extract(rows[i*width:(i+1)*width], w.pixels)
		}
	})
}

// block is the number of pictures between two reports of progress.
const block = 500

// Rows computes the rows of a set of pictures, which are of the extraction's shape. done is told of
// every few.
func (e *Extraction) Rows(set data.Pictures, done func(pictures int)) (*data.Features, error) {
	n, width := set.Len(), e.width
	halves, labels := make([]uint16, n*width), make([]uint8, n)
	values := make([]float32, min(block, n)*width)
	var once sync.Once
	for lo := 0; lo < n; lo += block {
		size := min(block, n-lo)
		var failed error
		e.extract(values, size, func(dst []float32, i int) {
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

// planar sets dst, (channel, row, column), to the pixels of a picture, (row, column, channel), from
// 0 to 1.
func planar(dst []float32, pixels []uint8, shape data.Shape) {
	area := shape.Height * shape.Width
	for c := range shape.Channels {
		plane := dst[c*area : (c+1)*area]
		for i := range plane {
			plane[i] = float32(pixels[i*shape.Channels+c]) / 255
		}
	}
}
