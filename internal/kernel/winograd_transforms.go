package kernel

import "math"

// The transforms of Winograd's filtering in one dimension, the portable ones.

// tileTransform applies a small matrix to vectors: for each of tiles tiles, n values long,
//
//	dst[j] = Σᵢ M[j][i]·src[i]
//
// where dst[j] begins at dst[tile·dstStep + j·dstStride:] and src[i] at src[i][tile·srcStep:]. A
// transform of fewer than six vectors does not use the last ones of src.
type tileTransform func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int)

type vectors [6][]float32

// winogradSet is the one-dimensional transforms of Winograd's minimal filtering F(m, r), the m
// outputs of a filter of r taps from n = m+r-1 inputs by n products (Lavin and Gray,
// arXiv:1509.09308, section 4). The polynomials are evaluated at 0, 1, -1, ∞ for n = 4, with the
// formulas given there, and at 0, ±1/√2, ±√2, ∞ for n = 6: reciprocal points (Alam et al.,
// arXiv:2201.10369) have a third of the largest error of the customary ±1, ±2, and cost the same.
// With d the window, g the filter and y the outputs,
//
//	y = Aᵀ((G·g) ∘ (Bᵀ·d))
//
// window is Bᵀ, filter G and output Aᵀ. F(3, 2) is F(2, 3) with output and filter exchanged: the
// filter gradient of a tile, whose filter is the output's gradient, takes delta = A and gradient =
// Gᵀ (the three factors of Σ y·(g∗d) can change places).
type winogradSet struct {
	window6, filter6, output6 tileTransform // F(4, 3)
	window4, filter4, output4 tileTransform // F(2, 3)
	// delta4 and gradient4 are F(3, 2) with window4; delta4 multiplies by scale.
	delta4    func(scale float32, tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int)
	gradient4 tileTransform
}

var portableWinograd = winogradSet{
	window6:   eachTile(portableWindow6),
	filter6:   eachTile(portableFilter6),
	output6:   eachTile(portableOutput6),
	window4:   eachTile(portableWindow4),
	filter4:   eachTile(portableFilter4),
	output4:   eachTile(portableOutput4),
	delta4:    portableDelta4,
	gradient4: eachTile(portableGradient4),
}

// eachTile returns a transform of many tiles that applies one, that of a single tile, to each.
func eachTile(one func(n int, dst []float32, stride int, src vectors)) tileTransform {
	return func(tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
		for tile := range tiles {
			one(n, dst[tile*dstStep:], dstStride, src.from(tile*srcStep))
		}
	}
}

// from returns the vectors without their first offset values.
func (v vectors) from(offset int) vectors {
	for i, x := range v {
		if x != nil {
			v[i] = x[offset:]
		}
	}
	return v
}

// near, far, -near, -far, 0 and ∞ are the points of the transforms of six values; see winogradSet.
const near, far = 1 / math.Sqrt2, math.Sqrt2

func portableWindow6(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		x0, x1, x2, x3, x4, x5 := src[0][c], src[1][c], src[2][c], src[3][c], src[4][c], src[5][c]
		e, f := x4-2*x2, x3-2*x1
		g, h := x4-0.5*x2, x3-0.5*x1
		dst[c] = x0 + x4 - 2.5*x2
		dst[stride+c] = e + near*f
		dst[2*stride+c] = e - near*f
		dst[3*stride+c] = g + far*h
		dst[4*stride+c] = g - far*h
		dst[5*stride+c] = x1 + x5 - 2.5*x3
	}
}

func portableFilter6(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		g0, g1, g2 := src[0][c], src[1][c], src[2][c]
		e, f := g2*(1./3)+g0*(2./3), g1*(far/3)
		g, h := g2*(1./3)+g0*(1./6), g1*(far/6)
		dst[c] = g0
		dst[stride+c] = -e - f
		dst[2*stride+c] = f - e
		dst[3*stride+c] = g + h
		dst[4*stride+c] = g - h
		dst[5*stride+c] = g2
	}
}

func portableOutput6(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		m0, m1, m2, m3, m4, m5 := src[0][c], src[1][c], src[2][c], src[3][c], src[4][c], src[5][c]
		sum1, difference1, sum2, difference2 := m1+m2, m1-m2, m3+m4, m3-m4
		dst[c] = m0 + sum1 + sum2
		dst[stride+c] = near*difference1 + far*difference2
		dst[2*stride+c] = 0.5*sum1 + 2*sum2
		dst[3*stride+c] = m5 + near/2*difference1 + 2*far*difference2
	}
}

func portableWindow4(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		x0, x1, x2, x3 := src[0][c], src[1][c], src[2][c], src[3][c]
		dst[c] = x0 - x2
		dst[stride+c] = x1 + x2
		dst[2*stride+c] = x2 - x1
		dst[3*stride+c] = x1 - x3
	}
}

func portableFilter4(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		g0, g1, g2 := src[0][c], src[1][c], src[2][c]
		outer, inner := (g0+g2)*0.5, g1*0.5
		dst[c] = g0
		dst[stride+c] = outer + inner
		dst[2*stride+c] = outer - inner
		dst[3*stride+c] = g2
	}
}

func portableOutput4(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		m0, m1, m2, m3 := src[0][c], src[1][c], src[2][c], src[3][c]
		dst[c] = m0 + m1 + m2
		dst[stride+c] = m1 - m2 - m3
	}
}

func portableDelta4(scale float32, tiles, n int, dst []float32, dstStride, dstStep int, src vectors, srcStep int) {
	for tile := range tiles {
		to, from := dst[tile*dstStep:], src.from(tile*srcStep)
		for c := range n {
			d0, d1 := scale*from[0][c], scale*from[1][c]
			to[c] = d0
			to[dstStride+c] = d0 + d1
			to[2*dstStride+c] = d0 - d1
			to[3*dstStride+c] = -d1
		}
	}
}

func portableGradient4(n int, dst []float32, stride int, src vectors) {
	for c := range n {
		m0, m1, m2, m3 := src[0][c], src[1][c], src[2][c], src[3][c]
		sum, difference := 0.5*(m1+m2), 0.5*(m1-m2)
		dst[c] = m0 + sum
		dst[stride+c] = difference
		dst[2*stride+c] = sum + m3
	}
}
