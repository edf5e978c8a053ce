//go:build !amd64 && !arm64

package kernel

// The kernel set of processors without assembly here.

// supportedKernels returns the kernels that run on this machine, the best first.
func supportedKernels() []*kernelSet { return []*kernelSet{&portableKernel} }
