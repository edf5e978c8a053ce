package kernel

// PackFilters converts convolution filters from PyTorch's order (out, in, kh, kw)
// to (out, kh, kw, in), whose rows have the tap order of [Conv.Lower].
func PackFilters(dst, src []float32, out, in, kh, kw int) {
	transposeEach(dst, src, out, in, kh*kw)
}

// UnpackFilters converts filters from (out, kh, kw, in) back to PyTorch's
// (out, in, kh, kw).
func UnpackFilters(dst, src []float32, out, in, kh, kw int) {
	transposeEach(dst, src, out, kh*kw, in)
}

// transposeEach transposes count matrices of rows×cols that lie one after the
// other.
func transposeEach(dst, src []float32, count, rows, cols int) {
	size := rows * cols
	for m := range count {
		from, to := src[m*size:(m+1)*size], dst[m*size:(m+1)*size]
		for i := range rows {
			for j, v := range from[i*cols : (i+1)*cols] {
				to[j*rows+i] = v
			}
		}
	}
}
