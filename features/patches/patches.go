package patches

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/features/drawn"
)

// Options are the choices of a dictionary of patches.
type Options struct {
	Filters int // number of patches in the dictionary
	Size    int // side of a patch, in pixels
	Pooling int // cells of the pooling grid along each side
	// Scale is 1 for pictures as they are and 2 for pictures of half the size, the means of 2×2
	// pixels, extended by two pixels on each side by reflection.
	Scale int
}

// maxSize bounds the side of a patch: whitening takes time with the sixth power of it.
const maxSize = 12

// validate returns the first thing that is wrong with the options, for pictures of a shape.
func (o Options) validate(shape data.Shape) error {
	if o.Filters < 1 {
		return fmt.Errorf("patches: %d filters, expected 1 or more", o.Filters)
	}
	if o.Scale != 1 && o.Scale != 2 {
		return fmt.Errorf("patches: scale %d, expected 1 or 2", o.Scale)
	}
	if shape.Channels < 1 {
		return fmt.Errorf("patches: pictures of %d channels, expected 1 or more", shape.Channels)
	}
	smaller := min(shape.Height, shape.Width)
	if o.Scale == 2 && smaller < 2*(border+1) {
		return fmt.Errorf("patches: pictures of %d×%d pixels, expected sides of %d or more at scale 2",
			shape.Height, shape.Width, 2*(border+1))
	}
	side := min(o.scaled(shape).Height, o.scaled(shape).Width)
	if largest := min(side, maxSize); o.Size < 2 || o.Size > largest {
		return fmt.Errorf("patches: patches of size %d, expected 2 to %d", o.Size, largest)
	}
	if positions := side - o.Size + 1; o.Pooling < 1 || o.Pooling > positions {
		return fmt.Errorf("patches: pooling to %d×%d cells, expected 1 to %d on each side",
			o.Pooling, o.Pooling, positions)
	}
	return nil
}

// scaled returns the shape of a picture of which responses are taken.
func (o Options) scaled(shape data.Shape) data.Shape {
	if o.Scale == 2 {
		shape.Height, shape.Width = shape.Height/2+2*border, shape.Width/2+2*border
	}
	return shape
}

// Patches are the features of pictures of one shape. They may be shared by goroutines.
type Patches struct {
	options Options
	shape   data.Shape // of a picture
	scaled  data.Shape // of what responses are taken of
	filters filters
	folded  foldedFilters
}

// New makes features for pictures of a shape from the patches of drawn pictures, which may be of
// another size. The seed decides which of them are taken.
func New(o Options, shape data.Shape, pictures *drawn.Pictures, seed uint64) (*Patches, error) {
	if err := o.validate(shape); err != nil {
		return nil, err
	}
	if pictures.Channels != shape.Channels {
		return nil, fmt.Errorf("patches: drawn pictures of %d channels, expected %d",
			pictures.Channels, shape.Channels)
	}
	filters, err := newFilters(o, pictures, seed)
	if err != nil {
		return nil, err
	}
	return withFilters(o, shape, filters), nil
}

func withFilters(o Options, shape data.Shape, f filters) *Patches {
	return &Patches{options: o, shape: shape, scaled: o.scaled(shape), filters: f, folded: f.fold()}
}

// Width returns the number of features of a picture: one above and one below the threshold, for
// each filter and cell.
func (p *Patches) Width() int {
	return 2 * p.options.Filters * p.options.Pooling * p.options.Pooling
}
