package kernel

// The loops of FMALimit on vectors.

// vectorChains is how many independent sums the generated loops have.
const vectorChains = 12

// widestMultiplyAdder returns the fastest loop that runs on this machine.
func widestMultiplyAdder() multiplyAdder {
	switch supportedKernels()[0].name {
	case "avx512":
		return multiplyAdder{multiplyAddsAVX512, 16 * vectorChains}
	case "avx2":
		return multiplyAdder{multiplyAddsAVX2, 8 * vectorChains}
	}
	return portableMultiplyAdder
}
