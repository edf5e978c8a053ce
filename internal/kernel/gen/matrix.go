package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A register of AMX holds a matrix of 16 rows: 16 sums each, or 32 bfloat16, or 64 integers of 8
// bits. Products of larger values are sums of products of such parts.
const matrixRows, matrixBytes = 16, 1024

// values says how the products of values follow from those of their parts. Part 0 is the leading one.
type values struct {
	name, what string
	parts      int
	digits     uint8                            // of a part
	mask       uint32                           // the leading part of what a word or half of it holds
	rest       func(x, mask reg.VecVirtual)     // leaves in x what follows its leading part
	multiply   func(a, b int) (prefix, op byte) // the instruction for parts a and b
	// products lists which part of A meets which of B. The sums of one list have a weight that is 8
	// digits above that of the next.
	products [][][2]int
}

var matrixValues = []values{{
	// A float32 is the sum of three bfloat16, each with the leading 8 digits of what is left. Of
	// their nine products the three of least weight, below 2^-21 of the whole, are left out.
	name: "Float", what: "float32 values", parts: 3, digits: 16, mask: 0xffff0000,
	rest: func(x, mask reg.VecVirtual) {
		leading := ZMM()
		VPANDD(mask, x, leading)
		VSUBPS(leading, x, x)
	},
	multiply: func(int, int) (prefix, op byte) { return 2, 0x5c },
	products: [][][2]int{{{0, 2}, {0, 0}, {2, 0}, {1, 0}, {1, 1}, {0, 1}}},
}, {
	// An integer of 16 bits is a signed byte and one without a sign; a word holds two.
	name: "Pairs", what: "pairs of integers", parts: 2, digits: 8, mask: 0xff00ff00,
	rest:     func(x, _ reg.VecVirtual) { VPSLLD(U8(8), x, x) },
	multiply: func(a, b int) (prefix, op byte) { return [2][2]byte{{3, 2}, {1, 0}}[a][b], 0x5e },
	products: [][][2]int{{{0, 0}}, {{0, 1}, {1, 0}}, {{1, 1}}},
}}

// matrices writes, for both kinds of values, what takes them apart, multiplies and adds to C.
func matrices() {
	for _, v := range matrixValues {
		v.split(false)
		v.split(true)
		v.product()
		v.merge()
	}
}

// split writes the functions that take blocks of 16×32 values apart: a row is two vectors, whose
// values become the lower and the upper halves of words. turned has rows and columns of each vector
// change places.
func (v values) split(turned bool) {
	name, what := "split"+v.name+"AMX", "A row is the 16 at src and the"
	if turned {
		name, what = "turn"+v.name+"AMX", "A column is the 16 at src and the"
	}
	TEXT(name, NOSPLIT, "func(blocks int, dst, src *float32, stride, second, next int)")
	Pragma("noescape")
	Doc(name+" writes the parts of "+v.what+", as matrices of 16 rows. "+what,
		"16 that lie second further on; they are stride apart, and blocks next.")
	blocks, dst, src := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	stride, second, next := loadBytes("stride"), loadBytes("second"), loadBytes("next")
	bits, mask, at, rows := GP32(), ZMM(), [2]reg.GPVirtual{GP64(), GP64()}, GP64()
	MOVL(U32(v.mask), bits)
	VPBROADCASTD(bits, mask)
	step := 1 // rows at a time
	if turned {
		step = 4
	}
	Label("blocks")
	MOVQ(src, at[0])
	LEAQ(Mem{Base: src, Index: second, Scale: 1}, at[1])
	MOVQ(U32(matrixRows/step), rows)
	Label("rows")
	var halves [2][]vec
	for half, from := range at {
		if turned {
			halves[half] = fourColumns(from, stride)
			ADDQ(U8(16), from)
		} else {
			halves[half] = []vec{ZMM()}
			VMOVUPS(Mem{Base: from}, halves[half][0])
			ADDQ(stride, from)
		}
	}
	for row, x := range halves[0] {
		y := halves[1][row]
		for part := range v.parts {
			if part > 0 {
				v.rest(x, mask)
				v.rest(y, mask)
			}
			word := ZMM()
			VPSRLD(U8(v.digits), x, word)
			VPTERNLOGD(U8(0xd8), mask, y, word) // y where the mask is set
			VMOVUPS(word, Mem{Base: dst, Disp: matrixBytes*part + 64*row})
		}
	}
	ADDQ(U32(64*step), dst)
	DECQ(rows)
	JNZ(LabelRef("rows"))
	ADDQ(U32((v.parts-1)*matrixBytes), dst)
	ADDQ(next, src)
	DECQ(blocks)
	JNZ(LabelRef("blocks"))
	VZEROUPPER()
	RET()
}

// fourColumns returns the first four columns of the 16 rows at src.
func fourColumns(src, stride reg.GPVirtual) []vec {
	var rows, pairs, columns [4]vec // of rows i, i+4, i+8, i+12; pairs of values have changed places; fours
	for i := range rows {
		rows[i], pairs[i], columns[i] = ZMM(), ZMM(), ZMM()
	}
	from := GP64()
	MOVQ(src, from)
	for i := range matrixRows {
		if row := rows[i%4]; i < 4 {
			VMOVUPS(Mem{Base: from}, row.AsX())
		} else {
			VINSERTF32X4(U8(i/4), Mem{Base: from}, row, row)
		}
		ADDQ(stride, from)
	}
	for i := range 2 {
		VUNPCKLPS(rows[2*i+1], rows[2*i], pairs[i])
		VUNPCKHPS(rows[2*i+1], rows[2*i], pairs[2+i])
	}
	for i := range 2 {
		VUNPCKLPD(pairs[2*i+1], pairs[2*i], columns[2*i])
		VUNPCKHPD(pairs[2*i+1], pairs[2*i], columns[2*i+1])
	}
	return columns[:]
}

// product writes the function for 2×2 matrices of sums, in registers 0 to 3; registers 4 and 5 hold
// parts of A, 6 and 7 of B.
func (v values) product() {
	TEXT("product"+v.name+"AMX", NOSPLIT, "func(blocks int, a, b *float32, apart int, sums *float32)")
	Pragma("noescape")
	Doc("product"+v.name+"AMX writes 32×32 sums of products of "+v.what+", for each weight. The blocks of the second",
		"16 rows of A, and columns of B, begin apart words after those of the first.")
	const bytes, rows = 0x0040004000400040, 0x1010101010101010 // of eight registers
	LEAQ(eightWords("matrixSetting"+v.name, 1, 0, bytes, bytes, 0, 0, rows, 0), reg.RAX)
	emit(0xc4, 0xe2, 0x78, 0x49, 0x00) // LDTILECFG (RAX)
	operands := [2][2]reg.GPPhysical{{reg.RSI, reg.RDI}, {reg.R8, reg.R9}}
	Load(Param("sums"), reg.R10)
	MOVQ(U32(64), reg.R11)
	MOVQ(U32(128), reg.RDX)
	for i, products := range v.products {
		for sum := range byte(4) {
			emit(0xc4, 0xe2, 0x7b, 0x49, 0xc0|sum<<3) // TILEZERO
		}
		blocks, apart := reg.RCX, reg.RAX
		Load(Param("blocks"), blocks)
		Load(Param("apart"), apart)
		for m, name := range []string{"a", "b"} {
			Load(Param(name), operands[m][0])
			LEAQ(Mem{Base: operands[m][0], Index: apart, Scale: 4}, operands[m][1])
		}
		loop := "products" + string(rune('0'+i))
		Label(loop)
		held := [2]int{-1, -1}
		for _, p := range products {
			for m, part := range p {
				for half := 0; half < 2 && held[m] != part; half++ {
					moveMatrix(3, byte(4+2*m+half), operands[m][half], reg.R11, part*matrixBytes)
				}
			}
			held = p
			prefix, op := v.multiply(p[0], p[1])
			for sum := range byte(4) {
				a, b := 4+sum/2, 6+sum%2
				emit(0xc4, 0xe2, ^b&15<<3|prefix, op, 0xc0|sum<<3|a)
			}
		}
		for _, pointer := range []reg.GPPhysical{reg.RSI, reg.RDI, reg.R8, reg.R9} {
			ADDQ(U32(v.parts*matrixBytes), pointer)
		}
		DECQ(blocks)
		JNZ(LabelRef(loop))
		for sum := range 4 {
			moveMatrix(2, byte(sum), reg.R10, reg.RDX, sum/2*matrixRows*128+sum%2*64)
		}
		ADDQ(U32(4*matrixBytes), reg.R10)
	}
	emit(0xc4, 0xe2, 0x78, 0x49, 0xc0) // TILERELEASE
	VZEROUPPER()
	RET()
}

// moveMatrix writes TILELOADD, for prefix 3, or TILESTORED, for prefix 2, with rows stride apart.
func moveMatrix(prefix, register byte, base, stride reg.GPPhysical, offset int) {
	b, s := byte(base.PhysicalIndex()), byte(stride.PhysicalIndex())
	emit(0xc4, 0xe2^(s>>3<<6|b>>3<<5), 0x78|prefix, 0x4b, 0x84|register<<3, s&7<<3|b&7)
	emit(binary.LittleEndian.AppendUint32(nil, uint32(offset))...)
}

// emit writes an instruction that the assembler does not know.
func emit(bytes ...byte) {
	for _, b := range bytes {
		Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(b)}})
	}
}

// merge writes the function that adds 32×32 sums to C.
func (v values) merge() {
	TEXT("merge"+v.name+"AMX", NOSPLIT, "func(rows, cols int, sums, c *float32, ldc int, alpha, beta float32)")
	Pragma("noescape")
	Doc("merge" + v.name + "AMX computes C = alpha·sums + beta·C for the first rows and columns of 32×32 sums.")
	rows, sums, c, ldc := GP64(), GP64(), GP64(), loadBytes("ldc")
	Load(Param("rows"), rows)
	Load(Param("sums"), sums)
	Load(Param("c"), c)
	stored, kept, sign := GP64(), GP64(), GP64() // a bit for each column, none of C where beta is ±0
	MOVQ(I32(-1), stored)
	Load(Param("cols"), reg.RCX)
	SHLQ(reg.CL, stored)
	NOTQ(stored)
	MOVQ(stored, kept)
	MOVL(NewParamAddr("beta", 44), sign.As32())
	SHLL(U8(1), sign.As32())
	CMOVQEQ(sign, kept)
	alpha, beta := ZMM(), ZMM()
	VBROADCASTSS(NewParamAddr("alpha", 40), alpha)
	VBROADCASTSS(NewParamAddr("beta", 44), beta)
	var masks [2][2]reg.OpmaskVirtual
	for half := range masks {
		for i, bits := range []reg.GPVirtual{stored, kept} {
			masks[half][i] = K()
			KMOVW(bits.As32(), masks[half][i])
			SHRQ(U8(16), bits)
		}
	}
	Label("rows")
	for half, mask := range masks {
		x, old, to := ZMM(), ZMM(), Mem{Base: c, Disp: 64 * half}
		VMOVUPS_Z(to, mask[1], old)
		at := Mem{Base: sums, Disp: 64 * half}
		VMOVUPS(at, x)
		for weight := 1; weight < len(v.products); weight++ {
			VPSLLD(U8(8), x, x)
			VPADDD(at.Offset(weight*4*matrixBytes), x, x)
		}
		if v.name == "Pairs" {
			VPADDD(old, x, x)
		} else {
			VMULPS(alpha, x, x)
			VFMADD231PS(beta, old, x)
		}
		VMOVUPS(x, mask[0], to)
	}
	ADDQ(U32(128), sums)
	ADDQ(ldc, c)
	DECQ(rows)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}
