// Package digits draws handwriting-like digits of 28×28 grey pixels, white on black. A digit is a
// skeleton of pen strokes (shapes.go) whose points are moved at random, bent by a smooth random
// field and an affine map (pen.go), drawn with a pen of random width and covered with noise
// (ink.go).
//
// All arithmetic is on integers and every picture has a generator of its own, so the same seed
// gives the same bytes on every platform and in any order. Nobody's data is in the pictures: seeds
// are public.
package digits

import (
	"math/bits"
	"math/rand/v2"
)

// Side is the height and the width of a picture in pixels.
const Side = 28

// A Part names one of the two streams of pictures that each seed has.
type Part uint64

// No picture is in both parts, but by chance.
const (
	Train Part = 1
	Test  Part = 2
)

// A Drawer draws one picture after another. The zero value is ready to use; it only keeps its
// buffers, so what it draws does not depend on what it drew before.
type Drawer struct {
	dice  dice
	knots []knot
	way   []knot
	field [fieldSide * fieldSide][2]int
	ink   [Side * Side]int
}

// Draw writes picture i of a part into dst, Side rows of Side bytes from 0 (black) to 255 (white),
// and returns its label, the digit that it shows. Labels are drawn at random, so classes are about
// equally frequent.
func (d *Drawer) Draw(dst []uint8, seed uint64, part Part, i int) (label uint8) {
	stream := scramble(seed ^ scramble(uint64(part)))
	d.dice.pcg.Seed(stream, scramble(stream+uint64(i)))
	label = uint8(d.dice.below(10))
	d.draw(dst[:Side*Side], int(label))
	return label
}

// dice draws public random numbers for pictures. The output of PCG for a seed is
// fixed by the Go standard library.
type dice struct{ pcg rand.PCG }

// below returns a number from 0 to n−1.
func (d *dice) below(n int) int {
	hi, _ := bits.Mul64(d.pcg.Uint64(), uint64(n))
	return int(hi)
}

// between returns a number from low to high, both possible.
func (d *dice) between(low, high int) int { return low + d.below(high-low+1) }

// around returns a number from −spread to spread, more often a small one: the
// mean of two uniform numbers, with standard deviation spread/√6.
func (d *dice) around(spread int) int {
	return (d.between(-spread, spread) + d.between(-spread, spread)) / 2
}

// scramble is the finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom
// number generators"): neighbouring inputs give unrelated outputs.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
