//go:build !amd64

package kernel

// The loop of FMALimit where there is no assembly.

// widestMultiplyAdder returns the fastest loop that runs on this machine.
func widestMultiplyAdder() multiplyAdder { return portableMultiplyAdder }
