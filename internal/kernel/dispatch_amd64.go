package kernel

import "golang.org/x/sys/cpu"

// The kernel sets of amd64, and how their assembly is generated.

//go:generate go -C gen run . -pkg kernel -out ../gemm_avx2_amd64.s -stubs ../gemm_avx2_amd64.go gemm_avx2
//go:generate go -C gen run . -pkg kernel -out ../gemm_avx512_amd64.s -stubs ../gemm_avx512_amd64.go gemm_avx512
//go:generate go -C gen run . -pkg kernel -out ../gemm_amx_amd64.s -stubs ../gemm_amx_amd64.go gemm_amx
//go:generate go -C gen run . -pkg kernel -out ../transpose_amd64.s -stubs ../transpose_amd64.go transpose
//go:generate go -C gen run . -pkg kernel -out ../pooling_amd64.s -stubs ../pooling_amd64.go pooling
//go:generate go -C gen run . -pkg kernel -out ../lower_amd64.s -stubs ../lower_amd64.go lower
//go:generate go -C gen run . -pkg kernel -out ../integers_amd64.s -stubs ../integers_amd64.go integers
//go:generate go -C gen run . -pkg kernel -out ../rows_amd64.s -stubs ../rows_amd64.go rows
//go:generate go -C gen run . -pkg kernel -out ../reduce_amd64.s -stubs ../reduce_amd64.go reduce
//go:generate go -C gen run . -pkg kernel -out ../winograd_amd64.s -stubs ../winograd_amd64.go winograd
//go:generate go -C gen run . -pkg kernel -out ../elementwise_amd64.s -stubs ../elementwise_amd64.go elementwise
//go:generate go -C gen run . -pkg kernel -out ../noise_amd64.s -stubs ../noise_amd64.go noise
//go:generate go -C gen run . -pkg kernel -out ../noise_avx512_amd64.s -stubs ../noise_avx512_amd64.go noise512
//go:generate go -C gen run . -pkg kernel -out ../halves_amd64.s -stubs ../halves_amd64.go halves
//go:generate go -C gen run . -pkg kernel -out ../keystream_amd64.s -stubs ../keystream_amd64.go keystream

// supportedKernels returns the kernels that run on this machine, the best first. Package cpu
// reports a feature only when the operating system saves its registers.
func supportedKernels() []*kernelSet {
	var kernels []*kernelSet
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C
	if avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW {
		if cpu.X86.HasAMXBF16 && cpu.X86.HasAMXInt8 && matrixPermission() {
			kernels = append(kernels, &amxKernel)
		}
		kernels = append(kernels, &avx512Kernel)
	}
	if avx2 {
		kernels = append(kernels, &avx2Kernel)
	}
	return append(kernels, &portableKernel)
}
