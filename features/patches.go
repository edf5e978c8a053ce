package features

import (
	"dpsgd/data"
	"dpsgd/features/drawn"
	"dpsgd/features/flatten"
	"dpsgd/features/patches"
	"dpsgd/internal/setting"
)

// Patches compares a picture with a dictionary of whitened patches: [dpsgd/features/patches].
type Patches struct{ patches.Options }

var patchesKind = setting.Kind[Transform]{
	Name: (&Patches{}).Name(), Doc: "how much each part of the picture looks like each of many drawn patches, for photographs",
	New: func() Transform { return &Patches{patches.Options{Filters: 384, Size: 6, Pooling: 3, Scale: 1}} },
}

// Name returns "patches".
func (*Patches) Name() string { return "patches" }

// Arguments are what a configuration can set.
func (p *Patches) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "filters", Doc: "Number of patches that the picture is compared with.", Format: setting.Integer{Min: 1, Max: 8192}, Value: &p.Filters},
		{Name: "patch_size", Doc: "Side of a patch in pixels.", Format: setting.Integer{Min: 2, Max: 16}, Value: &p.Size},
		{Name: "pooling", Doc: "The responses are averaged over a grid of pooling by pooling cells.", Format: setting.Integer{Min: 1, Max: 16}, Value: &p.Pooling},
		{Name: "scale", Doc: "1 for pictures as they are, 2 for pictures of half the size.", Format: setting.Integer{Min: 1, Max: 2}, Value: &p.Scale},
	}
}

// Prepare draws the pictures that the patches are taken from.
func (p *Patches) Prepare(shape data.Shape, draw func(n int) (*drawn.Pictures, error)) (Prepared, error) {
	pictures, err := draw(patchPictures)
	if err != nil {
		return nil, err
	}
	return patches.New(p.Options, shape, pictures, 1)
}

// Blocks implements [Transform].
func (p *Patches) Blocks(data.Shape) []flatten.Block {
	return []flatten.Block{{Channels: 2 * p.Filters, Positions: p.Pooling * p.Pooling}}
}

// patchPictures is how many pictures patches are taken from.
const patchPictures = 2400
