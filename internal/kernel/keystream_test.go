package kernel

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The bytes are those of the standard library, for random keys, in pieces of any length, from any counter.
func TestKeystreamIsThatOfCryptoCipher(t *testing.T) {
	if vectorAES.write == nil || active == &portableKernel {
		t.Skip("no AES on 256-bit vectors here")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 200 {
		var key [32]byte
		for j := range key {
			key[j] = byte(r.Uint32())
		}
		k := NewKeystream(&key)
		if i%2 == 1 { // the twin would count on into the upper half of the block after 2^64
			k.block = r.Uint64() >> (r.UintN(60) + 1)
		}
		if i%4 == 3 {
			k.block = 1<<32 - 5
		}
		var first [aes.BlockSize]byte
		binary.BigEndian.PutUint64(first[8:], k.block)
		block, err := aes.NewCipher(key[:])
		if err != nil {
			t.Fatal(err)
		}
		twin := cipher.NewCTR(block, first[:])
		for range 5 {
			words := make([]uint64, KeystreamWords*r.IntN(6))
			want := make([]byte, 8*len(words))
			k.Next(words)
			twin.XORKeyStream(want, want)
			if got := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(want)); !bytes.Equal(got, want) {
				t.Fatalf("key %x: keystream is not AES-256-CTR", key)
			}
		}
	}
}

// FIPS 197, appendix A.3: the last words of the expansion of the key of its example.
func TestKeyExpansionOfTheStandard(t *testing.T) {
	if vectorAES.expand == nil {
		t.Skip("no AES on 256-bit vectors here")
	}
	key := [32]byte{0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
		0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4}
	var schedule [240]byte
	vectorAES.expand(&schedule, &key)
	last := []byte{0xfe, 0x48, 0x90, 0xd1, 0xe6, 0x18, 0x8d, 0x0b, 0x04, 0x6d, 0xf3, 0x44, 0x70, 0x6c, 0x63, 0x1e}
	if got := schedule[224:]; !bytes.Equal(got, last) {
		t.Errorf("last round key is %x, want %x", got, last)
	}
}

func TestKeystreamRefusesPartOfAGroup(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("31 words: no panic")
		}
	}()
	new(Keystream).Next(make([]uint64, 31))
}
