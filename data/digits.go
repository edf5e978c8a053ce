package data

import (
	"math/bits"
	"math/rand/v2"

	"dpsgd/internal/kernel"
)

// The set "digits" needs no files: the program draws its pictures, handwriting-like digits, white
// on black. A digit is a skeleton of pen strokes whose points are moved at
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

// skeleton is one way to write a digit. Points lie in a box 100 wide and 140 high, y pointing down.
// A stroke is a smooth curve through points, by index; strokes that share a point make a corner
// there, and a stroke that ends where it began is a closed curve.
type skeleton struct {
	points  points
	strokes strokes
}

type (
	points  [][2]int16
	strokes [][]uint8
)

// skeletons are the ways to write each digit, after the forms that are taught in
// Europe and America. All ways of one digit are equally frequent.
var skeletons = [10][]skeleton{
	0: {
		{points{{50, 0}, {20, 18}, {8, 70}, {20, 122}, {50, 140}, {80, 122}, {92, 70}, {80, 18}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 0}}}, // oval
		{points{{64, 4}, {30, 10}, {10, 65}, {22, 122}, {52, 140}, {84, 115}, {90, 60}, {70, 14}, {38, 2}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 8}}}, // open, ends crossing at the top
	},
	1: {
		{points{{52, 0}, {50, 70}, {48, 140}},
			strokes{{0, 1, 2}}}, // a line
		{points{{26, 34}, {56, 0}, {55, 70}, {54, 140}},
			strokes{{0, 1}, {1, 2, 3}}}, // with a flag
		{points{{26, 32}, {52, 0}, {52, 70}, {52, 140}, {22, 140}, {82, 140}},
			strokes{{0, 1}, {1, 2, 3}, {4, 3, 5}}}, // with a flag and a foot
	},
	2: {
		{points{{12, 34}, {24, 8}, {52, 0}, {80, 14}, {84, 42}, {62, 82}, {34, 114}, {8, 140}, {50, 138}, {94, 138}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 8, 9}}}, // flat foot
		{points{{14, 30}, {46, 0}, {82, 24}, {70, 74}, {32, 126}, {10, 128}, {20, 106}, {48, 120}, {74, 138}, {98, 126}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}, // loop at the foot
		{points{{18, 22}, {48, 0}, {82, 22}, {72, 66}, {38, 104}, {6, 138}, {36, 124}, {66, 136}, {96, 130}},
			strokes{{0, 1, 2, 3, 4, 5}, {5, 6, 7, 8}}}, // swan
	},
	3: {
		{points{{14, 16}, {46, 0}, {80, 18}, {76, 50}, {40, 66}, {80, 80}, {88, 112}, {54, 140}, {10, 122}},
			strokes{{0, 1, 2, 3, 4}, {4, 5, 6, 7, 8}}}, // two bows
		{points{{14, 2}, {84, 2}, {42, 58}, {80, 70}, {90, 104}, {54, 140}, {10, 124}},
			strokes{{0, 1}, {1, 2}, {2, 3, 4, 5, 6}}}, // flat top
		{points{{18, 14}, {52, 0}, {78, 26}, {58, 58}, {36, 66}, {62, 72}, {86, 104}, {56, 138}, {12, 130}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 8}}}, // in one sweep
	},
	4: {
		{points{{28, 4}, {18, 48}, {6, 86}, {50, 86}, {96, 84}, {72, 34}, {70, 88}, {68, 140}},
			strokes{{0, 1, 2}, {2, 3, 4}, {5, 6, 7}}}, // open
		{points{{72, 0}, {40, 46}, {6, 94}, {50, 94}, {98, 94}, {72, 70}, {72, 140}},
			strokes{{0, 1, 2}, {2, 3, 4}, {0, 5, 6}}}, // closed
		{points{{16, 2}, {12, 46}, {24, 74}, {56, 74}, {82, 60}, {86, 0}, {84, 70}, {78, 140}},
			strokes{{0, 1, 2, 3, 4}, {5, 6, 7}}}, // round and open
	},
	5: {
		{points{{86, 2}, {28, 2}, {20, 60}, {52, 50}, {84, 70}, {88, 106}, {56, 140}, {10, 124}},
			strokes{{0, 1}, {1, 2}, {2, 3, 4, 5, 6, 7}}}, // with corners
		{points{{88, 4}, {46, 4}, {24, 34}, {40, 58}, {74, 74}, {84, 108}, {56, 138}, {12, 130}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7}}}, // in one sweep
	},
	6: {
		{points{{76, 6}, {40, 30}, {14, 76}, {16, 116}, {46, 140}, {80, 124}, {82, 92}, {52, 74}, {18, 98}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 8}}}, // curved back
		{points{{58, 0}, {30, 54}, {14, 104}, {40, 140}, {76, 124}, {76, 92}, {46, 80}, {16, 106}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7}}}, // straight back
	},
	7: {
		{points{{8, 6}, {50, 4}, {92, 4}, {60, 66}, {40, 140}},
			strokes{{0, 1, 2}, {2, 3, 4}}}, // plain
		{points{{10, 4}, {50, 4}, {90, 2}, {58, 68}, {38, 140}, {30, 72}, {84, 66}},
			strokes{{0, 1, 2}, {2, 3, 4}, {5, 6}}}, // with a bar
		{points{{10, 28}, {14, 4}, {52, 6}, {92, 2}, {64, 60}, {50, 140}},
			strokes{{0, 1}, {1, 2, 3}, {3, 4, 5}}}, // with a hook
	},
	8: {
		{points{{78, 20}, {50, 0}, {22, 20}, {34, 52}, {68, 82}, {86, 114}, {50, 140}, {14, 114}, {32, 82}, {66, 52}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0}}}, // one stroke
		{points{{50, 0}, {20, 16}, {22, 48}, {50, 64}, {78, 48}, {80, 16}, {14, 84}, {16, 124}, {50, 140}, {84, 124}, {86, 84}},
			strokes{{0, 1, 2, 3, 4, 5, 0}, {3, 6, 7, 8, 9, 10, 3}}}, // two rings
		{points{{84, 8}, {46, 2}, {20, 26}, {42, 58}, {76, 86}, {80, 122}, {46, 140}, {16, 118}, {28, 84}, {62, 54}, {86, 22}},
			strokes{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}}, // one stroke, open at the top
	},
	9: {
		{points{{82, 22}, {52, 0}, {20, 20}, {18, 52}, {48, 68}, {80, 48}, {84, 8}, {80, 76}, {74, 140}},
			strokes{{0, 1, 2, 3, 4, 5}, {6, 7, 8}}}, // straight stem
		{points{{82, 30}, {56, 0}, {22, 14}, {16, 48}, {46, 68}, {78, 50}, {84, 24}, {86, 82}, {64, 132}, {20, 132}},
			strokes{{0, 1, 2, 3, 4, 5, 6}, {6, 7, 8, 9}}}, // curved stem
		{points{{78, 28}, {50, 2}, {20, 26}, {30, 62}, {64, 58}, {82, 20}, {76, 80}, {60, 140}},
			strokes{{0, 1, 2, 3, 4, 5}, {5, 6, 7}}}, // in one sweep
	},
}
