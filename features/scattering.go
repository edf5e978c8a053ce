package features

import (
	"fmt"

	"dpsgd/data"
	"dpsgd/features/scattering"
	"dpsgd/internal/setting"
)

// Scattering is the wavelet scattering transform, its groups of channels normalised:
// [dpsgd/features/scattering].
type Scattering struct {
	Groups int     // for each channel of the picture; 0 leaves the coefficients as they are
	Power  float64 // to which every coefficient is raised, before normalisation
}

var scatteringKind = setting.Kind[Transform]{
	Name: (&Scattering{}).Name(), Doc: "wavelet scattering, for drawings and writing",
	New: func() Transform { return &Scattering{Groups: 27, Power: 1} },
}

func (*Scattering) Name() string { return "scattering" }

// Arguments lists the keys that a configuration can set, each with its field of s.
func (s *Scattering) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "groups", Doc: "The 81 coefficients of a picture's channel are normalised in so many groups; 0 is not at all.",
			Format: setting.Integer{Min: 0, Max: scattering.Coefficients}, Value: &s.Groups},
		powerArgument(&s.Power),
	}
}

func (s *Scattering) Blocks(shape data.Shape) []Block {
	positions := (shape.Height / scattering.Step) * (shape.Width / scattering.Step)
	return []Block{{Channels: scattering.Coefficients * shape.Channels, Positions: positions}}
}

// Prepare makes the transform. It learns nothing, so it has nothing drawn.
func (s *Scattering) Prepare(shape data.Shape, _ func(n int) (*Drawings, error)) (*Prepared, error) {
	if s.Groups > 0 && scattering.Coefficients%s.Groups != 0 {
		return nil, fmt.Errorf("features: scattering has %d groups, expected a divisor of %d", s.Groups, scattering.Coefficients)
	}
	prepared, err := scattering.New(shape)
	if err != nil {
		return nil, err
	}
	channel := prepared.Width() / shape.Channels
	return &Prepared{
		Extractor: func() func(dst, picture []float32) {
			scatter := prepared.Extractor()
			return func(dst, picture []float32) {
				scatter(dst, picture)
				raise(dst, s.Power)
				for from := 0; s.Groups > 0 && from < len(dst); from += channel {
					scattering.GroupNorm(dst[from:from+channel], s.Groups)
				}
			}
		},
		define: func(d *Definition) {
			of := prepared.Definition()
			d.Scattering, d.Power, d.Groups = &of, s.Power, s.Groups
		},
	}, nil
}
