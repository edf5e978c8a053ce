package features

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"dpsgd/data"
	"dpsgd/features/encoder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// Transform says how features are computed of one picture, whatever its shape.
type Transform interface {
	// Name returns the transform's name in configurations.
	Name() string
	// Blocks returns how the features of one picture of that shape are laid out in a row.
	Blocks(shape data.Shape) []Block
	// Prepare makes the transform of pictures of that shape. What it has to learn it learns from
	// pictures of that shape, of which draw draws n.
	Prepare(shape data.Shape, draw func(n int) (*Drawings, error)) (*Prepared, error)
}

// Prepared is a transform of pictures of one shape.
type Prepared struct {
	// Extractor returns a function that sets dst to the features of picture: (channel, row, column)
	// from 0 to 1. The function has memory of its own: one goroutine at a time calls it.
	Extractor func() func(dst, picture []float32)
	// batches stands in place of Extractor where many pictures at a time are quicker.
	batches func(pool *kernel.Pool) (extractBatches, error)
	// define writes to d what the features follow from; nil if no other program can compute them.
	define func(d *Definition)
}

// extractBatches sets rows to the features of n pictures, of which picture writes number i to dst:
// (channel, row, column) from 0 to 1.
type extractBatches = func(rows []float32, n int, picture func(dst []float32, i int))

// Transforms lists the transforms that a configuration can name: to add one, write its file and add
// its kind here.
func Transforms() setting.Kinds[Transform] {
	return setting.Kinds[Transform]{none, patchesKind, scatteringKind, backboneKind}
}

// None leaves the pictures as they are: the network sees their pixels.
type None struct{}

var none = setting.Kind[Transform]{Name: None{}.Name(), Doc: "the network sees the pixels", New: func() Transform { return None{} }}

func (None) Name() string { return "none" }

// Blocks returns nil: there are no values.
func (None) Blocks(data.Shape) []Block { return nil }

// Prepare returns nil. Nobody calls it, because a [Recipe] with None computes nothing.
func (None) Prepare(data.Shape, func(int) (*Drawings, error)) (*Prepared, error) { return nil, nil }

// powerArgument returns the argument by which a configuration evens out values that are not
// negative: a root lifts weak responses and dampens strong ones, as Perronnin, Sánchez and Mensink,
// "Improving the Fisher Kernel for Large-Scale Image Classification" (ECCV 2010, section 3.2),
// found for sums over a picture.
func powerArgument(power *float64) setting.Argument {
	return setting.Argument{Name: "power", Doc: "Values are raised to this power before they are normalised; 0.5 lifts weak responses, 1 leaves all as they are.",
		Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: power}
}

// raise raises values, which are at least 0, to a power, in place.
func raise(values []float32, power float64) {
	switch power {
	case 1:
	case 0.5:
		for i, v := range values {
			values[i] = float32(math.Sqrt(float64(v)))
		}
	default:
		for i, v := range values {
			values[i] = float32(math.Pow(float64(v), power))
		}
	}
}

// Recipe says how rows are computed from pictures.
type Recipe struct {
	Transform  Transform
	Drawn      string  // one of [DrawnKinds], which the program draws to learn from
	Pictures   int     // how many of them
	Seed       uint64  // of the drawing
	Deskew     bool    // every picture, drawn ones too, is set upright and in the middle first
	Encoder    float64 // norm of the maps of package encoder beside the transform's values; 0: they are no part of the rows
	Directions int     // number of principal directions of the drawn pictures' features that are evened out
}

// Width returns the number of values in a row.
func (r Recipe) Width(shape data.Shape) int { return widthOf(r.blocks(shape)) }

// blocks returns how the values of a row are laid out: those of the transform, then the averaged
// maps of the encoder, if these are part of it.
func (r Recipe) blocks(shape data.Shape) []Block {
	blocks := r.Transform.Blocks(shape)
	if r.Encoder > 0 {
		for _, maps := range encoder.Maps() {
			blocks = append(blocks, Block{Channels: maps, Positions: encoder.Cells * encoder.Cells, Weight: r.Encoder})
		}
	}
	return blocks
}

// version is part of [Recipe.String] and so of fingerprints. It changes when rows change.
const version = 2

// silent holds, for arguments that were added later, the value that changes nothing. String leaves
// it out, so that the descriptions in older runs and models stay true.
var silent = map[string]string{"power": "1", "coarse_filters": "0", "overlap": "0", "patches": drawnPatches}

// Any reports whether the recipe computes features.
func (r Recipe) Any() bool { return r.Transform != nil && r.Transform != (None{}) }

// String describes the recipe completely, in the words of its keys.
func (r Recipe) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Transform.Name())
	if f, ok := r.Transform.(*Backbone); ok {
		return fmt.Sprintf("%s, version %d%s", f.describe(), version+1, r.drawn()) // 2 mixed rows of pictures
	}
	for _, a := range setting.Arguments(r.Transform) {
		if f, ok := a.Format.(setting.Scalar); ok && f.Encode(a.Value) != silent[a.Name] {
			fmt.Fprintf(&b, ", %s %s", a.Name, f.Encode(a.Value))
		}
	}
	if r.Encoder > 0 {
		fmt.Fprintf(&b, ", encoder %v of weights %s", r.Encoder, encoder.SHA256[:16])
	}
	fmt.Fprintf(&b, ", version %d%s", version, r.drawn())
	return b.String()
}

// drawn says what features are evened out on, and whether pictures are deskewed.
func (r Recipe) drawn() string {
	deskewed := ""
	if r.Deskew {
		deskewed = "; pictures are deskewed"
	}
	return deskewed + fmt.Sprintf("; %d %s drawn from seed %d by version %d of the rules, %d of their directions evened out",
		r.Pictures, r.Drawn, r.Seed, DrawnVersion, r.Directions)
}

// Check refuses a recipe that no rows can be computed by of pictures of that shape.
func (r Recipe) Check(shape data.Shape) error {
	b, ok := r.Transform.(*Backbone)
	if !ok {
		return nil
	}
	if r.Encoder > 0 {
		return fmt.Errorf("features: found features.encoder %v beside the features of a model, expected 0", r.Encoder)
	}
	_, err := b.check(shape)
	return err
}

// published returns the fingerprint of the rows of the data set with that [data.Dataset.Identity].
func (r Recipe) published(identity string) fingerprint {
	return sha256.Sum256(fmt.Appendf(nil, "%v\npublished %s\n", r, identity))
}

// fingerprint returns the fingerprint of the rows of some pictures, made of the recipe and of every
// pixel and label, or of the identity that stands for these. It must stay with the rows, because
// whoever guesses the pictures could check the guess by it.
func (r Recipe) fingerprint(identity string, train, test data.Pictures) (f fingerprint, err error) {
	if identity != "" {
		return r.published(identity), nil
	}
	h := sha256.New()
	fmt.Fprintln(h, r)
	for _, set := range []data.Pictures{train, test} {
		fmt.Fprintf(h, "%d %v %q\n", set.Len(), set.Shape(), set.Classes())
		for i := range set.Len() {
			h.Write([]byte{byte(set.Label(i))})
			if err := set.View(i, func(pixels []uint8) { h.Write(pixels) }); err != nil {
				return f, err
			}
		}
	}
	h.Sum(f[:0])
	return f, nil
}
