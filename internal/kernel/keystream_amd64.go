package kernel

import "golang.org/x/sys/cpu"

// Whether the processor has what a Keystream needs.

var vectorAES = supportedAES()

func supportedAES() keystreamFunctions {
	if cpu.X86.HasAVX2 && cpu.X86.HasAES && hasVAES() {
		return keystreamFunctions{expandKeyAES, keystreamVAES}
	}
	return keystreamFunctions{}
}
