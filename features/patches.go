package features

import (
	"dpsgd/data"
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
		{Name: "patches", Doc: "Whose patches: drawn are those of the drawn pictures, shipped come with the program, from pictures that took a GPU to draw; of side 6, at scale 1.", Format: setting.Choice(patchSources), Value: &p.Source},
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
