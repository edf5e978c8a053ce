//go:build !amd64

package kernel

var vectorAES keystreamFunctions
