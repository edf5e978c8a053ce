package features

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// DrawnVersion names the drawing rules. It changes whenever any picture does.
const DrawnVersion = 1

// The kinds of pictures that the program draws.
//
//   - Leaves are dead leaves: discs, rectangles and triangles of all sizes that cover one another,
//     some with gratings, on a ground of coloured noise. They have edges, textures and correlations
//     at many scales, as photographs do (Lee, Mumford, Huang, "Occlusion Models for Natural
//     Images", IJCV 41, 2001; that features learnt from them carry over to photographs: Baradad et
//     al., "Learning to See by Looking at Noise", NeurIPS 2021).
//   - Silhouettes are grey leaves inside a smooth blob, on black, as things on an empty ground.
//   - Strokes are up to three thick curves, as handwriting.
const (
	leaves      = "leaves"
	silhouettes = "silhouettes"
	strokes     = "strokes"
)

// DrawnKinds lists what can be drawn.
func DrawnKinds() []string { return []string{leaves, silhouettes, strokes} }

// minSide and maxSide are the smallest and the largest side of a picture, in pixels.
const (
	minSide = 8
	maxSide = 256
)

// drawable refuses sizes of pictures that cannot be drawn.
func drawable(s data.Shape) error {
	for _, side := range []int{s.Height, s.Width} {
		if side < minSide || side > maxSide {
			return fmt.Errorf("drawn: pictures of %d×%d pixels, expected sides from %d to %d",
				s.Height, s.Width, minSide, maxSide)
		}
	}
	if s.Channels != 1 && s.Channels != 3 {
		return fmt.Errorf("drawn: pictures of %d channels, expected 1 (grey) or 3", s.Channels)
	}
	return nil
}

// Drawings are pictures of one shape. Values holds one after the other, each as (channel, row,
// column), from 0 (black) to 1.
type Drawings struct {
	data.Shape
	Count  int
	Values []float32
}

// At returns the values of picture i, which are shared with p.
func (p *Drawings) At(i int) []float32 {
	n := p.Shape.Values()
	return p.Values[i*n : (i+1)*n : (i+1)*n]
}

// drawPictures draws n pictures on the threads of pool: material that dictionaries of patches and
// principal directions can be learnt from without anybody's data, so that they are public.
// Silhouettes and strokes are grey: with three channels, these are the same.
//
// What is drawn is a function of kind, shape, seed and [DrawnVersion] alone, picture i also of i: the
// first pictures of a large set are those of a small one. It does not depend on the number of
// threads. Processors that fuse multiplications with additions may differ from others in the last
// bits of some pixels.
func drawPictures(kind string, n int, shape data.Shape, seed uint64, pool *kernel.Pool) (*Drawings, error) {
	if !slices.Contains(DrawnKinds(), kind) {
		return nil, fmt.Errorf("drawn: kind %q, expected one of %q", kind, DrawnKinds())
	}
	if err := drawable(shape); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("drawn: %d pictures, expected 1 or more", n)
	}
	p := &Drawings{Shape: shape, Count: n, Values: make([]float32, n*shape.Values())}
	painters := make([]*painter, pool.Threads())
	pool.Run(n, 1, func(worker, lo, hi int) {
		if painters[worker] == nil {
			painters[worker] = newPainter(shape)
		}
		for i := lo; i < hi; i++ {
			painters[worker].paint(p.At(i), kind, rand.New(rand.NewPCG(seed, uint64(i))))
		}
	})
	return p, nil
}
