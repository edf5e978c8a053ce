// Command gen writes the amd64 assembly of package kernel. It is a module of its
// own so that the trainer does not depend on avo. Run it with go generate in the
// package's folder; a test there holds the committed files against its output.
//
// Usage: gen -pkg PACKAGE -out FILE.s -stubs FILE.go NAME
package main

import (
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

// generators maps a name on the command line to the function that writes the code of that file.
var generators = map[string]func(){
	"gemm_avx2":   func() { tiles(avx2) },
	"gemm_avx512": func() { tiles(avx512) },
	"gemm_amx":    matrices,
	"transpose":   transposes,
	"elementwise": elementwise,
	"rows":        rowwise,
	"reduce":      reductions,
	"pooling":     pooling,
	"winograd":    winograd,
	"noise":       noise,
	"noise512":    noise512,
	"lower":       lowering,
	"integers":    integers,
	"halves":      halfPrecision,
	"keystream":   keystream,
}

func main() {
	name := os.Args[len(os.Args)-1]
	generate, ok := generators[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "gen: unknown file %q\n", name)
		os.Exit(2)
	}
	build.ConstraintExpr("amd64")
	generate()
	build.Generate() // reads the flags and writes the files
}
