package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keystream writes AES-256 in counter mode on vectors of two blocks.
func keystream() {
	hasVAES()
	expandKey()
	counterMode()
}

const aesRounds = 14 // of AES-256

func hasVAES() {
	TEXT("hasVAES", NOSPLIT, "func() bool")
	Doc("hasVAES reports whether the processor, which must have AVX2, has AES instructions on 256-bit vectors.")
	MOVL(U32(7), reg.EAX)
	XORL(reg.ECX, reg.ECX)
	CPUID()
	SHRL(U8(9), reg.ECX)
	ANDL(U8(1), reg.ECX)
	Store(reg.CL, ReturnIndex(0))
	RET()
}

// expandKey is the key expansion of FIPS 197, section 5.2, with the S-box in the
// processor: no table is indexed with the key.
func expandKey() {
	TEXT("expandKeyAES", NOSPLIT, "func(schedule *[240]byte, key *[32]byte)")
	Pragma("noescape")
	Doc("expandKeyAES writes the 15 round keys of AES-256.")
	schedule, key := GP64(), GP64()
	Load(Param("schedule"), schedule)
	Load(Param("key"), key)
	even, odd, mixed, shifted := XMM(), XMM(), XMM(), XMM()
	VMOVDQU(Mem{Base: key}, even)
	VMOVDQU(Mem{Base: key, Disp: 16}, odd)
	VMOVDQU(even, Mem{Base: schedule})
	VMOVDQU(odd, Mem{Base: schedule, Disp: 16})
	next := func(round int, last, before reg.VecVirtual, constant, word uint64) {
		VAESKEYGENASSIST(U8(constant), last, mixed)
		VPSHUFD(U8(word), mixed, mixed)
		VMOVDQA(before, shifted)
		for range 3 {
			VPSLLDQ(U8(4), shifted, shifted)
			VPXOR(shifted, before, before)
		}
		VPXOR(mixed, before, before)
		VMOVDQU(before, Mem{Base: schedule, Disp: 16 * round})
	}
	for round := 2; round <= aesRounds; round++ {
		if round%2 == 0 {
			next(round, odd, even, 1<<(round/2-1), 0xff) // RotWord, SubWord and the round constant
		} else {
			next(round, even, odd, 0, 0xaa) // SubWord alone
		}
	}
	VZEROUPPER()
	RET()
}

// counterMode encrypts the numbers counter, counter+1, … as 128-bit big-endian
// blocks, sixteen a round of the loop: enough to hide the latency of a round.
func counterMode() {
	const vectors = 8
	TEXT("keystreamVAES", NOSPLIT, "func(groups int, dst *uint64, schedule *[240]byte, counter uint64)")
	Pragma("noescape")
	Doc("keystreamVAES writes 256·groups bytes of keystream.")
	groups, dst, schedule := GP64(), GP64(), GP64()
	Load(Param("groups"), groups)
	Load(Param("dst"), dst)
	Load(Param("schedule"), schedule)
	counter := YMM()
	address, err := Param("counter").Resolve()
	if err != nil {
		panic(err)
	}
	VPBROADCASTQ(address.Addr, counter)
	VPAND(fourWords("counterWords", 0, 1<<64-1, 0, 1<<64-1), counter, counter)
	VPADDQ(fourWords("counterFirst", 0, 0, 0, 1), counter, counter)
	step, swap := YMM(), YMM()
	VMOVDQU(fourWords("counterStep", 0, 2, 0, 2), step)
	const low, high = 0x0001020304050607, 0x08090a0b0c0d0e0f
	VMOVDQU(fourWords("counterSwap", low, high, low, high), swap)
	blocks := make([]vec, vectors)
	for i := range blocks {
		blocks[i] = YMM()
	}
	key := YMM()
	Label("loop")
	VBROADCASTI128(Mem{Base: schedule}, key)
	for _, b := range blocks {
		VPSHUFB(swap, counter, b)
		VPADDQ(step, counter, counter)
		VPXOR(key, b, b)
	}
	for round := 1; round <= aesRounds; round++ {
		VBROADCASTI128(Mem{Base: schedule, Disp: 16 * round}, key)
		for i, b := range blocks {
			if round < aesRounds {
				VAESENC(key, b, b)
				continue
			}
			VAESENCLAST(key, b, b)
			VMOVDQU(b, Mem{Base: dst, Disp: 32 * i})
		}
	}
	ADDQ(I32(32*vectors), dst)
	DECQ(groups)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// fourWords is a vector of four words, in memory.
func fourWords(name string, words ...uint64) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, w := range words {
		DATA(8*i, U64(w))
	}
	return m
}
