package kernel

import (
	"fmt"
	"os"
	"strings"
)

// The choice of the kernelSet that the package runs on.

// The assembly of arm64; that of amd64 is generated there.
//go:generate go -C gen run ./neon -out ../gemm_arm64.s -stubs ../gemm_arm64.go gemm
//go:generate go -C gen run ./neon -out ../integers_arm64.s -stubs ../integers_arm64.go integers
//go:generate go -C gen run ./neon -out ../noise_arm64.s -stubs ../noise_arm64.go noise
//go:generate go -C gen run ./neon -out ../elementwise_arm64.s -stubs ../elementwise_arm64.go elementwise
//go:generate go -C gen run ./neon -out ../winograd_arm64.s -stubs ../winograd_arm64.go winograd

// environment is the name of the environment variable that forces a kernel set.
const environment = "DPSGD_KERNEL"

// active is the kernel set of every kernel of the package. It is set once, before main, and by
// tests.
var active, selectionErr = selectKernel(os.Getenv(environment), supportedKernels())

// Selected returns the name of the kernels in use: "amx", "avx512", "avx2", "neon" or "portable",
// the first of these that processor and operating system support. The environment variable DPSGD_KERNEL forces
// one by its name, for tests and bug reports. If it names one that is unknown or not supported
// here, the default is in use all the same and err says so.
func Selected() (name string, err error) { return active.name, selectionErr }

// selectKernel returns the one of supported, which has the best first, that is called name. For an
// empty name it returns the first, for a name that is not there the first and an error.
func selectKernel(name string, supported []*kernelSet) (*kernelSet, error) {
	best := supported[0]
	if name == "" {
		return best, nil
	}
	var names []string
	for _, k := range supported {
		if k.name == name {
			return k, nil
		}
		names = append(names, k.name)
	}
	return best, fmt.Errorf("kernel: %s is %q, expected one that this machine supports (%s)", environment, name, strings.Join(names, ", "))
}
