package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// limitChains is how many independent sums a loop has, which hide the latency of a multiply-add:
// four to five cycles on two units.
const limitChains = 12

// limit writes a function that does nothing but multiply and add in registers, to
// measure what the machine can do at most.
func limit(t target) {
	TEXT(fmt.Sprintf("multiplyAdds%s", t.name), NOSPLIT, "func(rounds int)")
	Doc(fmt.Sprintf("multiplyAdds%s runs rounds of %d vector multiply-adds.", t.name, limitChains))
	rounds := GP64()
	Load(Param("rounds"), rounds)
	g := &tileWriter{target: t, rows: limitChains, width: width{vectors: 1}}
	g.clearAccumulators()
	a := t.vector()
	g.clear(a)
	Label("loop")
	for _, sum := range g.accumulators {
		VFMADD231PS(a, a, sum[0])
	}
	DECQ(rounds)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
