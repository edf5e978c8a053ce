package data

import (
	"fmt"
	"strings"

	"dpsgd/internal/setting"
)

// Augmentation says what the network sees of a picture in training. Predictions see it as it is.
type Augmentation struct {
	// Views is the number of views of an example in each step, at least 1.
	Views int
	// Flip makes a view the mirror image, left and right exchanged, with probability 1/2.
	Flip bool
	// Shift moves a view by a whole number of pixels between -Shift and Shift down, and another
	// across, all equally likely. What is moved in from outside is the picture mirrored at its
	// border pixels: De et al. pad a picture so and cut it to its size again at random, which is
	// the same.
	Shift int
}

// NoAugmentation leaves every picture as it is.
func NoAugmentation() Augmentation { return Augmentation{Views: 1} }

// Any reports whether r is anything but [NoAugmentation].
func (r Augmentation) Any() bool { return r != NoAugmentation() }

// Arguments lists the keys that a configuration can set, each with its field of r.
func (r *Augmentation) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "views", Also: []string{"augmult", "multiplicity"}, Format: setting.Integer{Min: 1, Max: 256}, Value: &r.Views,
			Doc: "Random views of each example that a step takes; their gradients are averaged before they are clipped, which costs no privacy. Time and memory grow with it: a physical batch holds so many rows for each example."},
		{Name: "flip", Also: []string{"random_horizontal_flip", "mirror"}, Format: setting.Boolean{}, Value: &r.Flip,
			Doc: "Half of the views, at random, are mirror images, left and right exchanged."},
		{Name: "shift", Also: []string{"crop", "random_crop", "pad_and_crop", "translate"}, Format: setting.Integer{Min: 0, Max: 64}, Value: &r.Shift,
			Doc: "Views are moved at random by up to so many pixels up or down and left or right, with the picture mirrored at its border; also called pad and crop."},
	}
}

// Check refuses settings out of range, views of rows, and a Shift not below a picture's least side.
func (r Augmentation) Check(shape Shape) error {
	if err := setting.Check("training.augmentation", &r); err != nil {
		return fmt.Errorf("augmentation: %w", err)
	}
	switch side := min(shape.Height, shape.Width); {
	case r.Any() && !shape.IsPicture():
		return fmt.Errorf("augmentation: found %s, expected pictures, or no training.augmentation", shape.Noun())
	case r.Shift > 0 && r.Shift >= side:
		return fmt.Errorf("augmentation: training.augmentation.shift is %d, expected less than the %d pixels of a picture's shorter side", r.Shift, side)
	}
	return nil
}

// String describes the views, for statements.
func (r Augmentation) String() string {
	if !r.Any() {
		return "every example as it is"
	}
	parts := []string{fmt.Sprintf("%d views of each example, whose gradients are averaged before they are clipped", r.Views)}
	if r.Views == 1 {
		parts[0] = "one view of each example"
	}
	if r.Flip {
		parts = append(parts, "mirrored left and right with probability 1/2")
	}
	if r.Shift > 0 {
		parts = append(parts, fmt.Sprintf("moved by 0 to %d pixels up or down and left or right", r.Shift))
	}
	return strings.Join(parts, ", ")
}
