package features

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/dsp/fourier"
)

// pinkNoise makes Gaussian noise whose amplitude falls with a power of the frequency, as it does in
// photographs (Field 1987, "Relations between the statistics of natural images and the response
// properties of cortical cells", finds about 1/f).
type pinkNoise struct {
	height, width int
	values        []float64 // the noise, row by row
	rows          *fourier.FFT
	columns       *fourier.CmplxFFT
	spectrum      []complex128 // of the frequencies 0 to width/2 along rows, row by row
	column        []complex128
}

func newPinkNoise(height, width int) *pinkNoise {
	return &pinkNoise{
		height:   height,
		width:    width,
		values:   make([]float64, height*width),
		rows:     fourier.NewFFT(width),
		columns:  fourier.NewCmplxFFT(height),
		spectrum: make([]complex128, height*(width/2+1)),
		column:   make([]complex128, height),
	}
}

// fill sets values to noise of mean 0 and variance 1 whose amplitude at frequency f, in cycles for
// each pixel, is proportional to f^-slope: white noise, filtered.
func (n *pinkNoise) fill(slope float64, dice *rand.Rand) {
	for i := range n.values {
		n.values[i] = dice.NormFloat64()
	}
	half := n.width/2 + 1
	for y := range n.height {
		n.rows.Coefficients(n.spectrum[y*half:(y+1)*half], n.values[y*n.width:(y+1)*n.width])
	}
	for x := range half {
		n.filterColumn(x, half, slope)
	}
	for y := range n.height {
		n.rows.Sequence(n.values[y*n.width:(y+1)*n.width], n.spectrum[y*half:(y+1)*half])
	}
	standardise(n.values)
}

// filterColumn filters what is at frequency x along the rows, of half of them.
func (n *pinkNoise) filterColumn(x, half int, slope float64) {
	for y := range n.column {
		n.column[y] = n.spectrum[y*half+x]
	}
	n.columns.Coefficients(n.column, n.column)
	// Frequency 0 has the gain of the lowest one.
	lowest := 1 / float64(max(n.height, n.width))
	for y := range n.column {
		f := math.Hypot(n.columns.Freq(y), n.rows.Freq(x))
		n.column[y] *= complex(math.Pow(math.Max(f, lowest), -slope), 0)
	}
	n.columns.Sequence(n.column, n.column)
	for y, z := range n.column {
		n.spectrum[y*half+x] = z
	}
}

// standardise gives x mean 0 and variance 1.
func standardise(x []float64) {
	var sum, squares float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	scale := 1 / math.Sqrt(squares/float64(len(x)))
	for i, v := range x {
		x[i] = (v - mean) * scale
	}
}
