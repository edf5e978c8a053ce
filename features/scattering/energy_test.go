package scattering

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"dpsgd/data"
)

// gram adds factor·LᵀL to sum, where L is the convolution of one plane with all filters.
func gram(sum *mat.SymDense, c convolution, factor float64, filters ...[]float64) {
	for _, filter := range filters {
		l := mat.NewDense(c.outputs(), c.height*c.width, nil)
		c.each(filter, func(out, in int, weight float64) { l.Set(out, in, l.At(out, in)+weight) })
		sum.SymRankK(sum, factor, l.T())
	}
}

// largest returns the largest eigenvalue of LᵀL, which is the square of the operator norm of L, and
// its direction.
func largest(gram *mat.SymDense) (square float64, direction []float64) {
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		panic("no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	last := gram.SymmetricDim() - 1
	return eigen.Values(nil)[last], mat.Col(nil, last, &vectors)
}

func wavelets(s scale) (parts [][]float64) {
	for t := range angles {
		re, im := s.morlet(float64(t) * math.Pi / angles)
		parts = append(parts, re, im)
	}
	return parts
}

// lipschitzSquared bounds ‖S(x) - S(y)‖²/‖x - y‖² by
//
//	‖x ↦ (x∗φ, √a·x∗ψ₁, √b·x∗ψ₀)‖²   with a = ‖v ↦ v∗φ‖² and b = ‖u ↦ (u∗φ, √a·u∗ψ₁)‖²
//
// where v is |u∗ψ₁| and u is |x∗ψ₀|, convolutions are subsampled and reflected as in the transform,
// and norms are those of linear maps. This holds since √(|z|² + 1e-12), the length of a vector with
// z in it, moves by no more than z does.
func lipschitzSquared(side int) (bound float64, direction []float64) {
	first, second, full, half := convolutions(side, side)

	after := mat.NewSymDense(side/2*side/2, nil)
	gram(after, half, 1, halfWindow)
	afterSecond, _ := largest(after)

	all := mat.NewSymDense(side*side, nil)
	gram(all, full, 1, fullWindow)
	gram(all, second, afterSecond, wavelets(coarse)...)
	afterFirst, _ := largest(all)
	gram(all, first, afterFirst, wavelets(fine)...)
	return largest(all)
}

// The bound holds for random pairs, and pairs that differ in the direction in which the linear maps
// stretch most come near it. The bounds agree with those of a computation in PyTorch, which found
// 0.28259, 0.28040, 0.27929, 0.27884, 0.27859 and 0.27844 for 12, 16, …, 32 pixels.
func TestDistancesShrink(t *testing.T) {
	for side, want := range map[int]float64{12: 0.28259, 16: 0.28040} {
		square, direction := lipschitzSquared(side)
		bound := math.Sqrt(square)
		if !(math.Abs(bound-want) <= 1e-5) {
			t.Errorf("%d pixels: distances shrink to %.5f at most, expected %.5f", side, bound, want)
		}
		shape := size(side, side, 1)
		for seed := range uint32(20) {
			x, y := draw(shape, seed), draw(shape, 100+seed)
			if shrunk := shrinkage(shape, x, y); shrunk > bound {
				t.Errorf("%d pixels: shrinks to %.4f, expected at most %.4f", side, shrunk, bound)
			}
			for i := range y {
				y[i] = x[i] + float32(direction[i])
			}
			if shrunk := shrinkage(shape, x, y); shrunk > bound || shrunk < 0.22 {
				t.Errorf("%d pixels: the worst direction shrinks to %.4f, expected 0.22 to %.4f",
					side, shrunk, bound)
			}
		}
	}
}

// shrinkage is ‖S(x) - S(y)‖/‖x - y‖.
func shrinkage(shape data.Shape, x, y []float32) float64 {
	return distance(transformOf(shape, x), transformOf(shape, y)) / distance(x, y)
}

// The share of a picture's energy that its coefficients hold is what the doc comment says, and
// little of it is in those with two wavelets. Among 1,000 digits it is 0.692 to 0.900.
func TestEnergyOfDigits(t *testing.T) {
	var drawer data.DigitDrawer
	shape := size(data.DigitSide, data.DigitSide, 1)
	pixels, picture := make([]uint8, shape.Values()), make([]float32, shape.Values())
	const places = data.DigitSide / Step * data.DigitSide / Step
	for i := range 200 {
		drawer.Draw(pixels, 1, 0, i)
		for j, v := range pixels {
			picture[j] = float32(v) / 255
		}
		s := transformOf(shape, picture)
		share := func(from, to int) float64 {
			return Step * Step * sumOfSquares(s[from*places:to*places]) / sumOfSquares(picture)
		}
		if all := share(0, Coefficients); all < 0.69 || all > 0.91 {
			t.Errorf("digit %d: coefficients hold %.3f of its energy, expected 0.69 to 0.91", i, all)
		}
		if one, two := share(1, 17), share(17, Coefficients); one < 3*two || two < 0.005 {
			t.Errorf("digit %d: %.3f of its energy with one wavelet and %.3f with two, "+
				"expected far less with two", i, one, two)
		}
	}
}

func sumOfSquares(x []float32) (s float64) {
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s
}

func distance(x, y []float32) float64 {
	var s float64
	for i, v := range x {
		d := float64(v) - float64(y[i])
		s += d * d
	}
	return math.Sqrt(s)
}

func scaleBy(x []float64, factor float64) {
	for i := range x {
		x[i] *= factor
	}
}
