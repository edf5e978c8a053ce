package features

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dpsgd/features/encoder"

	"gonum.org/v1/gonum/mat"
)

const (
	sampleStep = 3       // pixels between the patches that are looked at, along both sides
	maxSample  = 120_000 // patches that the whitening is estimated from
	// contrastFloor is added to the variance of a patch, so that flat patches stay small: the
	// variance of a deviation of ten of 255 levels.
	contrastFloor = (10.0 / 255) * (10.0 / 255)
	// regularisation is added to the variances along the principal directions before whitening;
	// patches have variances about 1 in each pixel.
	regularisation = 0.1
)

// patchFilters are linear functions of normalised patches.
type patchFilters struct {
	size, channels int
	weights        *mat.Dense // a filter in each row, as (channel, row, column), its sum being 0
	bias           []float64  // subtracted from the products
}

// newFilters returns o.Filters filters made of patches of drawn pictures, chosen by the seed.
func newFilters(o PatchOptions, pictures *Drawings, seed uint64) (patchFilters, error) {
	if least := o.Scale * o.Size; pictures.Height < least || pictures.Width < least {
		return patchFilters{}, fmt.Errorf("patches: drawn pictures of %d×%d pixels at scale %d, "+
			"expected sides of %d or more", pictures.Height, pictures.Width, o.Scale, least)
	}
	if o.Scale == 2 {
		pictures = halves(pictures)
	}
	sample := newSampler(pictures, o.Size)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(sample.count())
	return sample.filters(o.Filters, order[:min(len(order), maxSample)])
}

// shippedFilters returns the first o.Filters filters of [encoder.Dictionary]. Grey pictures meet the
// sums of the filters over the channels.
func shippedFilters(o PatchOptions, channels int) (patchFilters, error) {
	if o.Filters > encoder.DictionaryFilters || o.Size != encoder.DictionarySize || o.Scale != 1 {
		return patchFilters{}, fmt.Errorf("patches: %d shipped patches of size %d at scale %d, expected at most %d of size %d at scale 1",
			o.Filters, o.Size, o.Scale, encoder.DictionaryFilters, encoder.DictionarySize)
	}
	filters, biases := encoder.Dictionary()
	area := o.Size * o.Size
	f := patchFilters{o.Size, channels, mat.NewDense(o.Filters, channels*area, nil), make([]float64, o.Filters)}
	for i := range f.bias {
		f.bias[i] = float64(biases[i])
		row, shipped := f.weights.RawRowView(i), filters[i*encoder.DictionaryChannels*area:][:encoder.DictionaryChannels*area]
		sum := 0.0
		for j, v := range shipped {
			row[j%len(row)] += float64(v)
			sum += float64(v)
		}
		for j := range row {
			row[j] -= sum / float64(len(row)) // which rounding to halves has left
		}
	}
	return f, nil
}

// filters whitens the patches of the given numbers and returns filters made of the first n of them
// that have enough contrast. It fails if fewer have enough.
func (s sampler) filters(n int, numbers []int) (patchFilters, error) {
	patches := s.normalised(numbers)
	chosen := contrasted(patches, n)
	if len(chosen) < n {
		return patchFilters{}, fmt.Errorf("patches: %d patches of enough contrast in %d drawn pictures, "+
			"expected %d, one for each filter", len(chosen), s.pictures.Count, n)
	}
	mean, covariance := patchMoments(patches)
	matrix, err := whitening(covariance)
	if err != nil {
		return patchFilters{}, err
	}
	f := patchFilters{s.size, s.pictures.Channels, mat.NewDense(n, mean.Len(), nil), make([]float64, n)}
	for i, number := range chosen {
		if f.bias[i], err = setFilter(f.weights.RawRowView(i), patches.RowView(number), mean, matrix); err != nil {
			return patchFilters{}, err
		}
	}
	return f, nil
}

// contrasted returns the indices of the first n rows, or fewer, with a norm above half the median.
func contrasted(patches *mat.Dense, n int) (chosen []int) {
	rows, _ := patches.Dims()
	norms := make([]float64, rows)
	for i := range norms {
		norms[i] = mat.Norm(patches.RowView(i), 2)
	}
	sorted := slices.Sorted(slices.Values(norms))
	least := sorted[(rows-1)/2] / 2
	for i, norm := range norms {
		if norm > least && len(chosen) < n {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// A sampler numbers the patches of drawn pictures that are sampleStep pixels apart.
type sampler struct {
	pictures             *Drawings
	size                 int
	vertical, horizontal int // patches in a picture along each side
}

func newSampler(pictures *Drawings, size int) sampler {
	return sampler{pictures, size, (pictures.Height-size)/sampleStep + 1, (pictures.Width-size)/sampleStep + 1}
}

func (s sampler) count() int { return s.pictures.Count * s.vertical * s.horizontal }

// normalised returns the patches of the given numbers, one in each row, each with mean 0 and
// divided by √(variance + contrastFloor).
func (s sampler) normalised(numbers []int) *mat.Dense {
	rows := mat.NewDense(len(numbers), s.pictures.Channels*s.size*s.size, nil)
	for i, number := range numbers {
		s.copyPatch(rows.RawRowView(i), number)
		standardise(rows.RawRowView(i), float64(s.pictures.Channels*s.size*s.size-1), contrastFloor)
	}
	return rows
}

// copyPatch writes the patch of the given number to dst, as (channel, row, column).
func (s sampler) copyPatch(dst []float64, number int) {
	p := s.pictures
	picture := p.At(number / (s.vertical * s.horizontal))
	top := number / s.horizontal % s.vertical * sampleStep
	left := number % s.horizontal * sampleStep
	for c := range p.Channels {
		for y := top; y < top+s.size; y++ {
			for _, v := range picture[(c*p.Height+y)*p.Width+left:][:s.size] {
				dst[0] = float64(v)
				dst = dst[1:]
			}
		}
	}
}

// whitening returns the symmetric matrix (covariance + regularisation)^(-1/2): "ZCA" in Bell,
// Sejnowski, "The independent components of natural scenes are edge filters" (Vision Research 37,
// 1997). The covariance of matrix·(x - mean) of patches x is about the identity.
func whitening(covariance *mat.SymDense) (*mat.Dense, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return nil, errors.New("patches: the covariance of the patches has no eigenvectors that could be found")
	}
	var vectors, scaled, matrix mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	scaled.Apply(func(_, j int, v float64) float64 {
		return v / math.Sqrt(max(values[j], 0)+regularisation)
	}, &vectors)
	matrix.Mul(&scaled, vectors.T())
	return &matrix, nil
}

// momentRows is the number of patches that are centred at a time.
const momentRows = 1000

func patchMoments(patches *mat.Dense) (*mat.VecDense, *mat.SymDense) {
	rows, n := patches.Dims()
	mean := mat.NewVecDense(n, nil)
	for i := range rows {
		mean.AddScaledVec(mean, 1/float64(rows), patches.RowView(i))
	}
	covariance := mat.NewSymDense(n, nil)
	centred := mat.NewDense(momentRows, n, nil)
	for from := 0; from < rows; from += momentRows {
		block := centred.Slice(0, min(momentRows, rows-from), 0, n).(*mat.Dense)
		block.Apply(func(i, j int, _ float64) float64 { return patches.At(from+i, j) - mean.AtVec(j) }, block)
		covariance.SymRankK(covariance, 1/float64(max(rows-1, 1)), block.T())
	}
	return mean, covariance
}

// setFilter sets weights to the filter of a chosen patch and returns its bias: weights·x - bias is
// d·w, where d is the chosen patch, whitened and of norm 1, and w the whitened patch x.
func setFilter(weights []float64, patch mat.Vector, mean *mat.VecDense, matrix *mat.Dense) (bias float64, err error) {
	var centred, d, row mat.VecDense
	centred.SubVec(patch, mean)
	d.MulVec(matrix, &centred)
	norm := mat.Norm(&d, 2)
	if norm == 0 {
		return 0, errors.New("patches: the patches of the drawn pictures are all alike")
	}
	row.MulVec(matrix, &d)
	row.ScaleVec(1/norm, &row)
	// A patch has mean 0, so a constant is nothing to it: the filter gets sum 0, and means need not
	// be subtracted from patches.
	constant := mat.Sum(&row) / float64(len(weights))
	for j := range weights {
		weights[j] = row.AtVec(j) - constant
	}
	return mat.Dot(&row, mean), nil
}
