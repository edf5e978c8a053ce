package kernel

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// The words are those of the standard library's cipher, from any number on.
func TestKeystreamIsTheStandardLibrarys(t *testing.T) {
	onEachKernelSet(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		for _, first := range []uint64{0, 1, 1<<32 - 40, 1<<63 - 40, r.Uint64() >> 1} {
			var key [32]byte
			for i := range 4 {
				binary.LittleEndian.PutUint64(key[8*i:], r.Uint64())
			}
			k := NewKeystream(&key)
			if k == nil {
				t.Skip("found no AES on vectors of 512 bits")
			}
			block, err := aes.NewCipher(key[:])
			if err != nil {
				t.Fatal(err)
			}
			start := make([]byte, aes.BlockSize)
			binary.BigEndian.PutUint64(start[8:], first)
			library := cipher.NewCTR(block, start)
			k.next = first
			for _, blocks := range []int{17, 1, 0, 2} {
				got := make([]uint64, blocks*KeystreamBlock+1)
				k.Fill(got[:len(got)-1])
				want := make([]byte, 8*blocks*KeystreamBlock)
				library.XORKeyStream(want, want)
				for i, w := range got[:len(got)-1] {
					if want := binary.LittleEndian.Uint64(want[8*i:]); w != want {
						t.Fatalf("from %d: word %d of %d blocks is %#x, want %#x", first, i, blocks, w, want)
					}
				}
				if got[len(got)-1] != 0 {
					t.Fatalf("%d blocks: a word behind dst was written", blocks)
				}
			}
		}
	})
}
