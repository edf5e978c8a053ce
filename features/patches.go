package features

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/features/encoder"
	"dpsgd/internal/setting"
)

// Patches compares a picture with a dictionary of whitened patches.
type Patches struct {
	PatchOptions
	Source string  // of the patches, one of patchSources
	Coarse int     // number of filters for the picture at half its size, beside the others; 0 for none
	Power  float64 // to which every value is raised
}

var patchesKind = setting.Kind[Transform]{
	Name: (&Patches{}).Name(), Doc: "how much each part of the picture looks like each of many drawn patches, for photographs",
	New: func() Transform {
		return &Patches{PatchOptions{Filters: 384, Size: 6, Pooling: 3, Scale: 1}, drawnPatches, 0, 1}
	},
}

func (*Patches) Name() string { return "patches" }

const (
	drawnPatches   = "drawn"
	shippedPatches = "shipped"
)

// patchSources lists where patches can come from.
var patchSources = []string{drawnPatches, shippedPatches}

// Arguments lists the keys that a configuration can set, each with its field of p.
func (p *Patches) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "patches", Doc: "Where patches come from: drawn are those of the drawn pictures, shipped come with the program, from pictures that took a GPU to draw; of side 6, at scale 1.", Format: setting.Choice(patchSources), Value: &p.Source},
		{Name: "filters", Doc: "Number of patches that the picture is compared with.", Format: setting.Integer{Min: 1, Max: 8192}, Value: &p.Filters},
		{Name: "patch_size", Doc: "Side of a patch in pixels.", Format: setting.Integer{Min: 2, Max: maxPatchSize}, Value: &p.Size},
		{Name: "pooling", Doc: "The responses are averaged over a grid of pooling by pooling cells.", Format: setting.Integer{Min: 1, Max: 16}, Value: &p.Pooling},
		{Name: "overlap", Doc: "By how many places cells reach into their neighbours, with a weight that falls to a third; 0 is not at all.", Format: setting.Integer{Min: 0, Max: 32}, Value: &p.Overlap},
		{Name: "scale", Doc: "1 for pictures as they are, 2 for pictures of half the size.", Format: setting.Integer{Min: 1, Max: 2}, Value: &p.Scale},
		{Name: "coarse_filters", Doc: "Number of patches that the picture at half its size is compared with as well; 0 is not at all.", Format: setting.Integer{Min: 0, Max: 8192}, Value: &p.Coarse},
		powerArgument(&p.Power),
	}
}

// Prepare draws pictures and takes a dictionary of patches from them for each scale.
func (p *Patches) Prepare(shape data.Shape, draw func(n int) (*Drawings, error)) (*Prepared, error) {
	dictionary := func(o PatchOptions) (*patchFeatures, error) { return shippedFeatures(o, shape) }
	if p.Source != shippedPatches {
		pictures, err := draw(patchPictures)
		if err != nil {
			return nil, err
		}
		dictionary = func(o PatchOptions) (*patchFeatures, error) { return newPatchFeatures(o, shape, pictures, 1) }
	}
	var all []*patchFeatures
	for _, o := range p.scales() {
		one, err := dictionary(o)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return &Prepared{
		Extractor: func() func(dst, picture []float32) {
			var extract []func(dst, picture []float32)
			for _, one := range all {
				extract = append(extract, one.Extractor())
			}
			return func(dst, picture []float32) {
				rest := dst
				for i, one := range all {
					extract[i](rest[:one.Width()], picture)
					rest = rest[one.Width():]
				}
				raise(dst, p.Power)
			}
		},
		define: func(d *Definition) {
			d.Power = p.Power
			for _, one := range all {
				d.Patches = append(d.Patches, one.Definition())
			}
		},
	}, nil
}

// scales returns the options of the dictionaries, one for each scale of the picture.
func (p *Patches) scales() []PatchOptions {
	all := []PatchOptions{p.PatchOptions}
	if p.Coarse > 0 {
		coarse := p.PatchOptions
		coarse.Filters, coarse.Scale, coarse.Overlap = p.Coarse, 2, p.Overlap/2
		all = append(all, coarse)
	}
	return all
}

// Blocks implements [Transform]: one for each scale.
func (p *Patches) Blocks(data.Shape) (blocks []Block) {
	for _, o := range p.scales() {
		blocks = append(blocks, Block{Channels: 2 * o.Filters, Positions: o.Pooling * o.Pooling})
	}
	return blocks
}

// patchPictures is the number of pictures that patches are taken from.
const patchPictures = 2400

// PatchOptions are the choices of a dictionary of patches.
type PatchOptions struct {
	Filters int // number of patches in the dictionary
	Size    int // side of a patch, in pixels
	Pooling int // cells of the pooling grid along each side
	// Scale is 1 for pictures as they are and 2 for pictures of half the size, the means of 2×2
	// pixels, extended by two pixels on each side by reflection.
	Scale int
	// Overlap is by how many positions cells reach into their neighbours, with a weight that falls
	// to a third; see windows.
	Overlap int
}

// maxPatchSize bounds the side of a patch: whitening takes time with the sixth power of it.
const maxPatchSize = 12

// validate refuses a size of patches or a pooling that does not fit pictures of a shape.
func (o PatchOptions) validate(shape data.Shape) error {
	smaller := min(shape.Height, shape.Width)
	if o.Scale == 2 && smaller < 2*(halfBorder+1) {
		return fmt.Errorf("patches: pictures of %d×%d pixels, expected sides of %d or more at scale 2",
			shape.Height, shape.Width, 2*(halfBorder+1))
	}
	side := min(o.scaled(shape).Height, o.scaled(shape).Width)
	if largest := min(side, maxPatchSize); o.Size < 2 || o.Size > largest {
		return fmt.Errorf("patches: patches of size %d, expected 2 to %d", o.Size, largest)
	}
	if positions := side - o.Size + 1; o.Pooling < 1 || o.Pooling > positions {
		return fmt.Errorf("patches: pooling to %d×%d cells, expected 1 to %d on each side",
			o.Pooling, o.Pooling, positions)
	} else if most := positions / o.Pooling / 2; o.Pooling > 1 && o.Overlap > most {
		return fmt.Errorf("patches: cells of %d positions overlap by %d, expected 0 to %d", positions/o.Pooling, o.Overlap, most)
	}
	return nil
}

// scaled returns the shape of the scaled picture, whose patches are compared with the filters.
func (o PatchOptions) scaled(shape data.Shape) data.Shape {
	if o.Scale == 2 {
		shape.Height, shape.Width = shape.Height/2+2*halfBorder, shape.Width/2+2*halfBorder
	}
	return shape
}

// patchFeatures measure how much each part of a picture looks like small patches of drawn
// pictures: features that nobody's data has shaped. Goroutines may share them.
//
// A filter is a patch of a drawn picture after whitening. Its response at a position of a picture
// is its product with the patch there, which has been given mean 0 and variance 1 and whitened with
// the same matrix; how far responses are above a threshold, and how far below its negative, is
// averaged over the cells of a coarse grid, which may overlap. So Coates and Ng, "The Importance of Encoding Versus
// Training with Sparse Coding and Vector Quantization" (ICML 2011), with random patches as
// dictionary and the soft threshold as encoder. The features of a picture and of its mirror image
// are averaged, so that both have the same. (At scale 2, the mirror image is that of the half, from
// which a last column of an odd width is left out.)
//
// They are a function of their options, the drawn pictures and a seed.
type patchFeatures struct {
	options PatchOptions
	shape   data.Shape // of a picture
	scaled  data.Shape // of the scaled picture, whose patches the filters are multiplied with
	filters patchFilters
	folded  foldedFilters
}

// newPatchFeatures makes features for pictures of a shape from the patches of drawn pictures. The
// seed decides which patches are taken.
func newPatchFeatures(o PatchOptions, shape data.Shape, pictures *Drawings, seed uint64) (*patchFeatures, error) {
	if err := o.validate(shape); err != nil {
		return nil, err
	}
	filters, err := newFilters(o, pictures, seed)
	if err != nil {
		return nil, err
	}
	return withFilters(o, shape, filters), nil
}

// shippedFeatures makes features for pictures of a shape from the patches that come with the program.
func shippedFeatures(o PatchOptions, shape data.Shape) (*patchFeatures, error) {
	if err := o.validate(shape); err != nil {
		return nil, err
	}
	if shape.Channels != 1 && shape.Channels != encoder.DictionaryChannels {
		return nil, fmt.Errorf("patches: pictures of %d channels, expected 1 or %d for shipped patches", shape.Channels, encoder.DictionaryChannels)
	}
	filters, err := shippedFilters(o, shape.Channels)
	if err != nil {
		return nil, err
	}
	return withFilters(o, shape, filters), nil
}

func withFilters(o PatchOptions, shape data.Shape, f patchFilters) *patchFeatures {
	return &patchFeatures{options: o, shape: shape, scaled: o.scaled(shape), filters: f, folded: f.fold()}
}

// Width returns the number of features of a picture: for each filter and cell one above the
// threshold and one below its negative.
func (p *patchFeatures) Width() int {
	return 2 * p.options.Filters * p.options.Pooling * p.options.Pooling
}

// PatchDefinition is everything that the features of a picture follow from, so that another program
// can compute them. Scale the picture and subtract the mean of all its values. Every patch p, of n
// values, gives a filter's response r = Weights·p/√(v + ContrastFloor), where v is the variance of
// p with n-1 degrees of freedom. For each filter and cell, average max(r - Bias - Threshold, 0)
// over the patches of the cell with the weights of Rows and Columns, and also max(Bias - Threshold - r, 0). Average both with those of the
// mirror image of the scaled picture. The features are the first of these for all filters and
// cells, and then the second: filter by filter, and in each the cells row by row.
type PatchDefinition struct {
	PatchOptions
	Scaled                   data.Shape // of the scaled picture
	Border                   int        // at Scale 2, the pixels by which a half is extended on each side, by reflection
	Weights                  []float32  // (filter, channel, row, column), rounded to multiples of a unit for each filter
	Bias                     []float32  // of each filter
	Threshold, ContrastFloor float64
	Rows, Columns            []float32 // (Pooling, positions): the weights by which positions along a side are averaged in each cell
}

// Definition returns everything that the features of p follow from.
func (p *patchFeatures) Definition() PatchDefinition {
	d := PatchDefinition{
		PatchOptions: p.options, Scaled: p.scaled, Border: halfBorder, Threshold: threshold, ContrastFloor: contrastFloor,
		Rows:    newWindows(p.scaled.Height-p.options.Size+1, p.options).means(),
		Columns: newWindows(p.scaled.Width-p.options.Size+1, p.options).means(),
	}
	for i, b := range p.filters.bias {
		d.Bias = append(d.Bias, float32(b))
		for _, w := range p.filters.weights.RawRowView(i) {
			d.Weights = append(d.Weights, float32(w))
		}
	}
	return d
}
