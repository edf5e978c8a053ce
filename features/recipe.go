package features

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"dpsgd/data"
	"dpsgd/features/encoder"
	"dpsgd/internal/setting"
)

// Recipe says how rows are computed from pictures.
type Recipe struct {
	Transform  Transform
	Drawn      string  // one of [DrawnKinds], which the program draws to learn from
	Pictures   int     // how many of them
	Seed       uint64  // of the drawing
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
		return fmt.Sprintf("%s, version %d%s", f.describe(), version, r.drawn())
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

// drawn says what features are evened out on.
func (r Recipe) drawn() string {
	return fmt.Sprintf("; %d %s drawn from seed %d by version %d of the rules, %d of their directions evened out",
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
