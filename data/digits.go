package data

import (
	"math/bits"
	"math/rand/v2"

	"dpsgd/internal/kernel"
)

// The set "digits" needs no files: the program draws its pictures, handwriting-like digits, white
// on black. A digit is a skeleton of pen strokes (digits_shapes.go) whose points are moved at
// random, bent by a smooth random field and an affine map, drawn with a pen of random width and
// covered with noise (digits_pen.go).
//
// All arithmetic is on integers and every picture has a generator of its own, so the same seed
// gives the same bytes on every platform and in any order. Nobody's data is in the pictures: seeds
// are public.
var drawnDigits = Dataset{
	Name: "digits", Doc: "drawn by the program itself", Drawn: true,
	Shape: Shape{DigitSide, DigitSide, 1}, Classes: digitClasses,
	Train: 20000, Test: 2000,
	Load: func(set *Dataset, _ string, seed uint64) (*Split, error) {
		return drawDigits(seed, set.Train, set.Test)
	},
}

var digitClasses = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// drawDigits draws train pictures to train on and test pictures to test with, from seed. It draws
// them in chunks, so that the buffers of a drawer are used many times.
func drawDigits(seed uint64, train, test int) (*Split, error) {
	const chunk, size = 256, DigitSide * DigitSide
	return splitOf("", func(part int) (*Images, error) {
		n := [2]int{train, test}[part]
		labels, pixels := make([]uint8, n), make([]uint8, n*size)
		_ = kernel.Each((n+chunk-1)/chunk, func(c int) error { // which does not fail
			var d DigitDrawer
			for i := c * chunk; i < min(n, (c+1)*chunk); i++ {
				labels[i] = d.Draw(pixels[i*size:(i+1)*size], seed, part, i)
			}
			return nil
		})
		return NewImages(Shape{DigitSide, DigitSide, 1}, digitClasses, labels, pixels)
	})
}

// DigitSide is the height and the width of a picture in pixels.
const DigitSide = 28

// A DigitDrawer draws one picture after another. The zero value is ready to use. It keeps nothing
// but buffers, so what it draws does not depend on what it drew before.
type DigitDrawer struct {
	dice  dice
	knots []knot
	way   []knot
	field [fieldSide * fieldSide][2]int
	ink   [DigitSide * DigitSide]int
}

// Draw writes picture i of a part (0 is training, 1 is test) into dst, DigitSide rows of DigitSide
// bytes from 0 (black) to 255 (white), and returns its label, the digit that it shows. Labels are
// drawn at random, so classes are about equally frequent. Both parts share pictures only by chance.
func (d *DigitDrawer) Draw(dst []uint8, seed uint64, part, i int) (label uint8) {
	stream := scramble(seed ^ scramble(uint64(part+1)))
	d.dice.pcg.Seed(stream, scramble(stream+uint64(i)))
	label = uint8(d.dice.below(10))
	d.draw(dst[:DigitSide*DigitSide], int(label))
	return label
}

// dice draws public random numbers for pictures. The output of PCG for a seed is
// fixed by the Go standard library.
type dice struct{ pcg rand.PCG }

// below returns a random number from 0 to n−1, all about equally likely.
func (d *dice) below(n int) int {
	hi, _ := bits.Mul64(d.pcg.Uint64(), uint64(n))
	return int(hi)
}

// between returns a random number from low to high, all about equally likely.
func (d *dice) between(low, high int) int { return low + d.below(high-low+1) }

// around returns a random number from −spread to spread, more often one near 0: the mean of two
// uniform numbers, with standard deviation spread/√6.
func (d *dice) around(spread int) int {
	return (d.between(-spread, spread) + d.between(-spread, spread)) / 2
}

// scramble returns the next output of SplitMix64 at state x (Steele, Lea, Flood 2014, "Fast
// splittable pseudorandom number generators"): neighbouring inputs give unrelated outputs.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
