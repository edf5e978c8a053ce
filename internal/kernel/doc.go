// Package kernel computes on plain float32 slices: matrix products, the
// lowering of convolutions, pooling, activations, normalisation, losses and
// reductions. It knows nothing of graphs, layers or privacy.
//
// # Conventions
//
// Matrices are row-major; a leading dimension (lda, ldb, ldc) counts float32
// values from one row to the next. Images are NHWC, and a kernel that speaks of
// "one image" sees a single (H, W, C) block, so that callers may hand images to
// workers as they like. Convolution filters are (out, kh, kw, in) inside;
// [Transpose] converts from and to the (out, in, kh, kw) of PyTorch.
//
// Slices must be at least as long as the shapes say; a shorter one panics, like
// any index out of range. A destination may be the very slice of a source in
// the element-wise kernels and must not overlap it anywhere else.
//
// # What holds for every kernel
//
//   - A value that is not finite affects only what depends on it: a NaN in one
//     row of a matrix, one row of logits or one image never reaches another.
//   - The result does not depend on the number of threads, bit for bit.
//   - Nothing is allocated in steady state.
//   - There is a portable implementation in Go. On amd64 faster ones in assembly
//     are chosen once at start-up; see [Selected]. They agree to float32
//     rounding, not bit for bit.
//
// # Threads
//
// A [Pool] holds the worker goroutines. Kernels without a Pool run on the
// caller: give them one image or one block of rows per worker with [Pool.Run].
package kernel
