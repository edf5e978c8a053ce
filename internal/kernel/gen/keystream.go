package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keystream writes AES-256 in counter mode.
func keystream() {
	expandKey()
	encryptCounters()
}

// roundKeys counts the round keys of AES-256.
const roundKeys = 15

// expandKey writes the key expansion of FIPS 197, section 5.2, for keys of 256 bits.
func expandKey() {
	TEXT("expandKeyAES", NOSPLIT, "func(keys *[15][16]byte, key *[32]byte)")
	Pragma("noescape")
	Doc("expandKeyAES writes the round keys of AES-256.")
	keys, key := GP64(), GP64()
	Load(Param("keys"), keys)
	Load(Param("key"), key)
	halves := [2]reg.VecVirtual{XMM(), XMM()} // of the last 256 bits
	for i, half := range halves {
		VMOVDQU(Mem{Base: key, Disp: 16 * i}, half)
		VMOVDQU(half, Mem{Base: keys, Disp: 16 * i})
	}
	for i := 2; i < roundKeys; i++ {
		half, last, word := halves[i%2], halves[1-i%2], XMM()
		if i%2 == 0 { // the substituted and turned last word, with 2^(i/2-1)
			VAESKEYGENASSIST(U8(1<<(i/2-1)), last, word)
			VPSHUFD(U8(0xff), word, word)
		} else { // the substituted last word
			VAESKEYGENASSIST(U8(0), last, word)
			VPSHUFD(U8(0xaa), word, word)
		}
		shifted := XMM()
		VPSLLDQ(U8(4), half, shifted)
		VPXOR(shifted, half, half)
		VPSLLDQ(U8(8), half, shifted)
		VPXOR(shifted, half, half)
		VPXOR(word, half, half)
		VMOVDQU(half, Mem{Base: keys, Disp: 16 * i})
	}
	RET()
}

// encryptCounters writes the encryption of successive counters: vectors of four blocks, eight
// vectors at a time. The round keys stay in registers.
func encryptCounters() {
	const vectors = 8
	TEXT("encryptCountersAVX512", NOSPLIT, "func(groups int, dst *uint64, keys *[15][16]byte, first uint64)")
	Pragma("noescape")
	Doc("encryptCountersAVX512 writes the encryptions of 32·groups consecutive numbers, 16 bytes big-endian each.")
	groups, dst, keys := GP64(), GP64(), GP64()
	Load(Param("groups"), groups)
	Load(Param("dst"), dst)
	Load(Param("keys"), keys)
	address, err := Param("first").Resolve()
	if err != nil {
		panic(err)
	}
	// Numbers are below 2^64: the upper half of a block is zero.
	counter, four, turn := ZMM(), ZMM(), ZMM()
	const uppers = 0b10101010
	upper := K()
	mask := GP32()
	MOVL(U32(uppers), mask)
	KMOVB(mask, upper)
	VPBROADCASTQ_Z(address.Addr, upper, counter)
	VPADDQ(eightWords("steps", 0, 0, 0, 1, 0, 2, 0, 3), counter, counter)
	VMOVDQU64(eightWords("four", 0, 4, 0, 4, 0, 4, 0, 4), four)
	const low, high = 0x0001020304050607, 0x08090a0b0c0d0e0f
	VMOVDQU64(eightWords("turn", low, high, low, high, low, high, low, high), turn)
	var key [roundKeys]reg.VecVirtual
	for i := range key {
		key[i] = ZMM()
		VBROADCASTI32X4(Mem{Base: keys, Disp: 16 * i}, key[i])
	}
	Label("groups")
	var block [vectors]reg.VecVirtual
	for i := range block {
		block[i] = ZMM()
		VPSHUFB(turn, counter, block[i])
		VPADDQ(four, counter, counter)
		VPXORQ(key[0], block[i], block[i])
	}
	for round := 1; round < roundKeys; round++ {
		for _, b := range block {
			if round < roundKeys-1 {
				VAESENC(key[round], b, b)
			} else {
				VAESENCLAST(key[round], b, b)
			}
		}
	}
	for i, b := range block {
		VMOVDQU64(b, Mem{Base: dst, Disp: 64 * i})
	}
	ADDQ(U32(64*vectors), dst)
	DECQ(groups)
	JNZ(LabelRef("groups"))
	VZEROUPPER()
	RET()
}

// eightWords returns the place in memory, called name, of a vector of eight 64-bit words.
func eightWords(name string, words ...uint64) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i, w := range words {
		DATA(8*i, U64(w))
	}
	return m
}
