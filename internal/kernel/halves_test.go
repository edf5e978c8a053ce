package kernel

import (
	"math"
	"testing"
)

// halfValue returns the number that a half stands for, by IEEE 754-2008, section 3.4.
func halfValue(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&1023)/1024
	value := math.Ldexp(1+fraction, exponent-15)
	if exponent == 0 {
		value = math.Ldexp(fraction, -14)
	}
	return math.Copysign(value, 1-2*float64(h>>15))
}

// TestFromHalves converts every half there is, at every alignment of blocks and rests.
func TestFromHalves(t *testing.T) {
	all := make([]uint16, 1<<16)
	for h := range all {
		all[h] = uint16(h)
	}
	onEachKernelSet(t, func(t *testing.T) {
		for _, from := range []int{0, 1, 5, 15, len(all) - 3} {
			dst := make([]float32, len(all)-from+1)
			dst[len(all)-from] = 7
			FromHalves(dst, all[from:])
			for i, h := range all[from:] {
				want := float32(halfValue(h))
				switch {
				case h&0x7c00 != 0x7c00:
				case h&0x03ff == 0:
					want = float32(math.Inf(1 - 2*int(h>>15)))
				default: // a NaN keeps sign and payload, and is quiet
					want = math.Float32frombits(uint32(h&0x8000)<<16 | 0x7fc00000 | uint32(h&0x03ff)<<13)
				}
				if math.Float32bits(dst[i]) != math.Float32bits(want) {
					t.Fatalf("half %#04x becomes %#08x, expected %#08x", h, math.Float32bits(dst[i]), math.Float32bits(want))
				}
			}
			if dst[len(all)-from] != 7 {
				t.Fatal("a value beyond the last half is written")
			}
		}
	})
}

// TestToHalves rounds every half, what is halfway between two neighbours, and the float32 numbers
// next to both: the only places where the result can change.
func TestToHalves(t *testing.T) {
	var src []float32
	var want []uint16
	add := func(v float32, h uint16) {
		src, want = append(src, v, -v), append(want, h, h|0x8000)
	}
	for h := range uint16(0x7c00) {
		value, next := halfValue(h), 65536.0 // what would follow the largest
		if h < 0x7bff {
			next = halfValue(h + 1)
		}
		middle := float32((value + next) / 2) // exact
		above, below := math.Nextafter32(middle, math.MaxFloat32), math.Nextafter32(middle, 0)
		add(float32(value), h)
		add(math.Nextafter32(float32(value), math.MaxFloat32), h)
		add(below, h)
		add(middle, h+h&1)
		add(above, h+1)
		add(math.Nextafter32(float32(next), 0), h+1)
	}
	add(math.MaxFloat32, 0x7c00)
	add(inf32, 0x7c00)
	add(math.SmallestNonzeroFloat32, 0)
	for payload := uint32(1); payload < 1<<23; payload = payload*3 + 1 {
		add(math.Float32frombits(0x7f800000|payload), 0x7e00|uint16(payload>>13))
	}
	onEachKernelSet(t, func(t *testing.T) {
		for _, from := range []int{0, 1, 7, len(src) - 3} {
			dst := make([]uint16, len(src)-from+1)
			dst[len(src)-from] = 7
			ToHalves(dst, src[from:])
			for i, v := range src[from:] {
				if dst[i] != want[from+i] {
					t.Fatalf("%v (%#08x) becomes %#04x, expected %#04x", v, math.Float32bits(v), dst[i], want[from+i])
				}
			}
			if dst[len(src)-from] != 7 {
				t.Fatal("a value beyond the last is written")
			}
		}
	})
}
