package features

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/features/drawn"
	"dpsgd/features/flatten"
	"dpsgd/features/scattering"
	"dpsgd/internal/setting"
)

// Scattering is the wavelet scattering transform, its groups of channels normalised:
// [dpsgd/features/scattering].
type Scattering struct {
	Groups int // for each channel of the picture; 0 leaves the coefficients as they are
}

var scatteringKind = setting.Kind[Transform]{
	Name: (&Scattering{}).Name(), Doc: "wavelet scattering, for drawings and writing",
	New: func() Transform { return &Scattering{Groups: 27} },
}

// Name returns "scattering".
func (*Scattering) Name() string { return "scattering" }

// Arguments are what a configuration can set.
func (s *Scattering) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "groups", Doc: "The 81 coefficients of a picture's channel are normalised in so many groups; 0 is not at all.",
		Format: setting.Integer{Min: 0, Max: scattering.Coefficients}, Value: &s.Groups}}
}

// Blocks implements [Transform].
func (s *Scattering) Blocks(shape data.Shape) []flatten.Block {
	positions := (shape.Height / scattering.Step) * (shape.Width / scattering.Step)
	return []flatten.Block{{Channels: scattering.Coefficients * shape.Channels, Positions: positions}}
}

// Prepare learns nothing from what is drawn.
func (s *Scattering) Prepare(shape data.Shape, _ func(n int) (*drawn.Pictures, error)) (Prepared, error) {
	if s.Groups > 0 && scattering.Coefficients%s.Groups != 0 {
		return nil, fmt.Errorf("features: scattering has %d groups, expected a divisor of %d", s.Groups, scattering.Coefficients)
	}
	prepared, err := scattering.New(shape)
	if err != nil {
		return nil, err
	}
	return grouped{prepared, shape, s.Groups}, nil
}

// grouped is the transform with normalised groups.
type grouped struct {
	*scattering.Scattering
	shape  data.Shape
	groups int
}

// Extractor implements [Prepared].
func (g grouped) Extractor() func(dst, picture []float32) {
	scatter := g.Scattering.Extractor()
	if g.groups == 0 {
		return scatter
	}
	channel := g.Width() / g.shape.Channels
	return func(dst, picture []float32) {
		scatter(dst, picture)
		for from := 0; from < len(dst); from += channel {
			scattering.GroupNorm(dst[from:from+channel], scattering.Coefficients, g.groups)
		}
	}
}
