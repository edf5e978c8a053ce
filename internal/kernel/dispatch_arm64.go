package kernel

// supportedKernels returns the kernels that run on this machine, the best first. Every processor
// that Go runs on has the vectors.
func supportedKernels() []*kernelSet { return []*kernelSet{&neonKernel, &portableKernel} }
