package drawn

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// Version names the drawing rules. It changes whenever any picture does.
const Version = 1

// A Kind says what the pictures show.
type Kind string

// The kinds of pictures, see the package's description.
const (
	Leaves      Kind = "leaves"
	Silhouettes Kind = "silhouettes"
	Strokes     Kind = "strokes"
)

// Kinds lists all kinds.
var Kinds = []Kind{Leaves, Silhouettes, Strokes}

// The smallest and the largest side of a picture, in pixels.
const (
	MinSide = 8
	MaxSide = 256
)

// validate refuses sizes of pictures that cannot be drawn.
func validate(s data.Shape) error {
	for _, side := range []int{s.Height, s.Width} {
		if side < MinSide || side > MaxSide {
			return fmt.Errorf("drawn: pictures of %d×%d pixels, expected sides from %d to %d",
				s.Height, s.Width, MinSide, MaxSide)
		}
	}
	if s.Channels != 1 && s.Channels != 3 {
		return fmt.Errorf("drawn: pictures of %d channels, expected 1 (grey) or 3", s.Channels)
	}
	return nil
}

// Pictures are pictures of one shape. Values holds one after the other, each as (channel, row,
// column), from 0 (black) to 1.
type Pictures struct {
	data.Shape
	Count  int
	Values []float32
}

// At returns the values of picture i, which are shared with p.
func (p *Pictures) At(i int) []float32 {
	n := p.Shape.Values()
	return p.Values[i*n : (i+1)*n : (i+1)*n]
}

// Draw draws n pictures on the threads of pool. Silhouettes and strokes are grey: with three
// channels, these are the same.
func Draw(kind Kind, n int, shape data.Shape, seed uint64, pool *kernel.Pool) (*Pictures, error) {
	if !slices.Contains(Kinds, kind) {
		return nil, fmt.Errorf("drawn: kind %q, expected one of %q", kind, Kinds)
	}
	if err := validate(shape); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("drawn: %d pictures, expected 1 or more", n)
	}
	p := &Pictures{Shape: shape, Count: n, Values: make([]float32, n*shape.Values())}
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
