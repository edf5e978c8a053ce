package data

import (
	"math/bits"
	"math/rand/v2"
)

// The set "digits" needs no files: the program draws handwriting-like digits of
// 28×28 grey pixels, white on black. A digit is a skeleton of pen strokes
// (digit_shapes.go) whose points are moved at random, bent by a smooth random
// field and an affine map (digit_pen.go), drawn with a pen of random width and
// covered with noise (digit_ink.go).
//
// All arithmetic is on integers and every picture has a generator of its own, so
// the same seed gives the same bytes on every platform and with any number of
// processors. Training and test pictures come from different streams of
// generators. Nobody's data is in them: seeds are public.

const digitSide = 28

var digits = Dataset{
	Name: "digits", Doc: "drawn by the program itself",
	Shape: Shape{digitSide, digitSide, 1}, Classes: digitClasses,
	Train: 20000, Test: 2000,
	Load: func(set *Dataset, _ string, seed uint64) (*Source, error) {
		return drawDigits(seed, set.Train, set.Test)
	},
}

var digitClasses = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// drawDigits makes both parts of the set. Labels are drawn at random, so classes
// are about equally frequent.
func drawDigits(seed uint64, train, test int) (*Source, error) {
	const trainStream, testStream = 1, 2
	first, err := drawSet(scramble(seed^scramble(trainStream)), train)
	if err != nil {
		return nil, err
	}
	second, err := drawSet(scramble(seed^scramble(testStream)), test)
	return &Source{Train: first, Test: second}, err
}

// drawSet draws n pictures, in chunks so that a scratch canvas is used many times.
func drawSet(stream uint64, n int) (*Images, error) {
	const chunk, size = 256, digitSide * digitSide
	labels, pixels := make([]uint8, n), make([]uint8, n*size)
	err := parallel((n+chunk-1)/chunk, func(c int) error {
		var d digitDrawer
		for i := c * chunk; i < min(n, (c+1)*chunk); i++ {
			d.dice.pcg.Seed(stream, scramble(stream+uint64(i)))
			labels[i] = uint8(d.dice.below(10))
			d.draw(pixels[i*size:(i+1)*size], int(labels[i]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return NewImages(Shape{digitSide, digitSide, 1}, digitClasses, labels, pixels)
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

// scramble is the finaliser of SplitMix64 (Steele, Lea, Flood 2014,
// "Fast splittable pseudorandom number generators"): neighbouring inputs give
// unrelated outputs.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
