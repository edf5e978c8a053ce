//go:build !amd64

package kernel

// supportedKernels returns the kernels that run on this machine, the best first.
func supportedKernels() []*kernelSet { return []*kernelSet{&portableKernel} }
