// Package kernel computes the parts of a private training step on plain slices. It knows nothing of
// graphs, layers or privacy.
//
// Products of matrices ([Pool.Gemm]), convolutions with the gradients of single images and their
// norms ([Convolution]), pooling ([Pool2D]), activations, normalisation ([GroupNormForward]), the
// loss ([SoftmaxCrossEntropy]), sums in float64 ([SumRows]), integers of gradients ([AddRounded],
// [Pool.GemmPairs]) and noise on their sums ([AddRoundedNormals]), updates ([Momentum]).
//
// # Conventions
//
// Network values are float32; what is summed over examples, and noise, is float64. Matrices are
// row-major; a leading dimension (lda, ldb, ldc) counts float32 values from one row to the next.
// Images are NHWC, and a kernel that speaks of "one image" sees a single (H, W, C) block, so that
// callers may hand images to workers as they like. Convolution filters are (out, kh, kw, in)
// inside; [Transpose] converts from and to the (out, in, kh, kw) of PyTorch.
//
// Slices must be at least as long as the shapes say; a shorter one panics, like any index out of
// range. A destination may be the very slice of a source in the element-wise kernels and where a
// function says so, and must not overlap one anywhere else.
//
// # What holds for every kernel
//
//   - A value that is not finite affects only what depends on it: a NaN in one
//     row of a matrix, one row of logits or one image never reaches another.
//   - The result does not depend on the number of threads, bit for bit.
//   - Nothing is allocated in steady state.
//
// # Selection
//
// The inner loops are a kernelSet. There is a portable one in Go; on amd64 and arm64 faster ones in
// assembly, written by the generators in gen, are chosen once at start-up by what the processor has:
// see [Selected], which also says how to force one. The sets agree to float32 rounding, not bit for
// bit; noise and updates are the same on all of them.
//
// # Threads and memory
//
// A [Pool] holds the worker goroutines. [Pool.Gemm] and the methods of a
// [Convolution] that take a batch divide their work among them; all other kernels run
// on the caller: give them one image or one block of rows per worker with [Pool.Run].
//
// A pool also owns the working memory of its Convolutions, a buffer per worker that
// one after the other uses. So it does not grow with the number of layers, and calls
// on two Convolutions of a pool must not overlap, but for those that [Convolution] names.
package kernel
