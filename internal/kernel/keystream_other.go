//go:build !amd64

package kernel

// No Keystream without assembly.

var vectorAES keystreamFunctions
