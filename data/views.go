package data

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"dpsgd/internal/random"
)

// Views makes the views of pictures of one shape. It is safe for concurrent use. A nil *Views has
// one view of each example, the example itself.
type Views struct {
	recipe Augmentation
	shape  Shape
	key    [32]byte
}

// NewViews returns the views that r describes, with a key drawn from src. It returns nil if r
// leaves pictures as they are, and fails as r.Check does.
func NewViews(r Augmentation, shape Shape, src *random.Source) (*Views, error) {
	if err := r.Check(shape); err != nil || !r.Any() {
		return nil, err
	}
	v := &Views{recipe: r, shape: shape}
	for i := 0; i < len(v.key); i += 8 {
		binary.LittleEndian.PutUint64(v.key[i:], src.Uint64())
	}
	return v, nil
}

// PerExample returns the number of views of each example in a step.
func (v *Views) PerExample() int {
	if v == nil {
		return 1
	}
	return v.recipe.Views
}

// Write writes a view of picture to dst. Both are (Height, Width, Channels) and have no memory in
// common. step is the number of the training step, example the index of the picture in its data
// set, and view the number of the view, from 0.
func (v *Views) Write(dst, picture []float32, step, example, view int) {
	if v == nil {
		copy(dst, picture)
		return
	}
	v.draw(step, example, view).apply(dst, picture, v.shape)
}

// change describes a view: pixel (y, x) of the view is pixel (y+down, x+across) of the picture, or
// of its mirror image.
type change struct {
	flip         bool
	down, across int
}

// draw returns the change of a view, from the SHA-256 of the key and (step, example, view). It is
// the same at every call, and uniform and independent for different views as far as SHA-256 behaves
// as a random function.
func (v *Views) draw(step, example, view int) change {
	var message [32 + 3*8]byte
	copy(message[:], v.key[:])
	for i, part := range [...]int{step, example, view} {
		binary.LittleEndian.PutUint64(message[32+8*i:], uint64(part))
	}
	drawn := sha256.Sum256(message[:])
	return change{v.recipe.Flip && drawn[0]&1 == 1, v.offset(drawn[8:]), v.offset(drawn[16:])}
}

// offset returns a whole number from -Shift to Shift that follows from the first eight bytes of
// drawn. If these are random, each number has probability 1/(2·Shift+1), to within 2⁻⁶⁴.
func (v *Views) offset(drawn []byte) int {
	offset, _ := bits.Mul64(binary.LittleEndian.Uint64(drawn), uint64(2*v.recipe.Shift+1))
	return int(offset) - v.recipe.Shift
}

func (c change) apply(dst, picture []float32, s Shape) {
	line := s.Width * s.Channels
	for y := range s.Height {
		from := Reflected(y+c.down, s.Height) * line
		c.applyLine(dst[y*line:(y+1)*line], picture[from:from+line], s.Channels)
	}
}

// applyLine writes one line of the view to dst, from one line of the picture.
func (c change) applyLine(dst, line []float32, channels int) {
	width := len(line) / channels
	for x := range width {
		from := Reflected(x+c.across, width)
		if c.flip {
			from = width - 1 - from
		}
		copy(dst[x*channels:(x+1)*channels], line[from*channels:(from+1)*channels])
	}
}

// Reflected returns i if it is in 0 … n-1. An i before that or after it is mirrored at 0 or at n-1,
// which is not repeated (PyTorch's padding mode "reflect"). i must be at most n-1 outside.
func Reflected(i, n int) int {
	if i < 0 {
		return -i
	}
	return min(i, 2*(n-1)-i)
}

// Halve writes to dst the means of the 2×2 blocks of one plane of height×width. A last row or column
// that has no partner is left out. Rows of dst are pitch apart. dst may begin where src does or before
// it, if pitch is width/2.
func Halve(dst []float32, pitch int, src []float32, height, width int) {
	for y := range height / 2 {
		above, below := src[2*y*width:][:width], src[(2*y+1)*width:][:width]
		row := dst[y*pitch:][:width/2]
		for x := range row {
			row[x] = (above[2*x] + above[2*x+1] + below[2*x] + below[2*x+1]) / 4
		}
	}
}

// Select returns the examples of several sets of one shape and with the same classes, numbered one
// set after the other, at the indices and in their order: a view, so nobody may change any of the
// sets. A selection of pictures is [Pictures].
func Select(indices []int, from ...Set) Set {
	s := &selection{Set: from[0], from: from, places: make([]place, len(indices))}
	pictures := true
	for i, at := range indices {
		set := 0
		for ; at >= from[set].Len(); set++ {
			at -= from[set].Len()
		}
		s.places[i] = place{set, at}
	}
	for _, one := range from {
		_, is := one.(Pictures)
		pictures = pictures && is
	}
	if pictures {
		return selectedPictures{s}
	}
	return s
}

// selection is a view of examples of several sets. It has the shape and classes of the first one.
type selection struct {
	Set
	from   []Set
	places []place
}

// place says where an example is: its set, and its index there.
type place struct{ set, at int }

func (s *selection) Len() int                { return len(s.places) }
func (s *selection) Label(i int) int         { return s.from[s.places[i].set].Label(s.places[i].at) }
func (s *selection) Targets(i int) []float32 { return s.from[s.places[i].set].Targets(s.places[i].at) }

func (s *selection) normalised(n Normalisation) filler {
	fillers := make([]filler, len(s.from))
	for i, set := range s.from {
		fillers[i] = set.normalised(n)
	}
	return func(x []float32, i int) error { return fillers[s.places[i].set](x, s.places[i].at) }
}

// selectedPictures is a selection of pictures.
type selectedPictures struct{ *selection }

var _ Pictures = selectedPictures{}

func (s selectedPictures) View(i int, use func(pixels []uint8)) error {
	return s.from[s.places[i].set].(Pictures).View(s.places[i].at, use)
}
