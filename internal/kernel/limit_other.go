//go:build !amd64

package kernel

// widestMultiplyAdder returns the fastest loop that runs on this machine.
func widestMultiplyAdder() multiplyAdder { return portableMultiplyAdder }
