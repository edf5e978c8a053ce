package kernel

// The conversion between this package's layouts of images and filters and PyTorch's.

// Transpose transposes count matrices of shape (rows, cols) that lie one after the other in src,
// into dst. It changes the layout of images, (positions, channels) to (channels, positions), and of
// convolution filters: with rows = in and cols = kh·kw from PyTorch's (out, in, kh, kw) to (out,
// kh, kw, in), whose rows have the tap order of [Conv.Lower]; with the two exchanged, back.
func Transpose(dst, src []float32, count, rows, cols int) {
	size := rows * cols
	for m := range count {
		active.transpose(dst[m*size:(m+1)*size], rows, src[m*size:(m+1)*size], cols, rows, cols)
	}
}
