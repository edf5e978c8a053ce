package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// pooling writes the loops over windows. A function takes count windows of rows×cols positions; the
// windows are step bytes apart in the image, the positions of one rowStride and colStride, the
// channels next to each other. Pooled values of one window follow those of the one before, after
// channels·4 bytes. The functions take the first 8·blocks channels.
func pooling() {
	maxWindows()
	maxWindowsGrad()
	sumWindows()
	sumWindowsGrad()
}

func maxWindows() {
	w := begin("maxWindows", "writes the largest value of each window and where it is, of the windows that begin at index at.", "x", "y", true, "at int32")
	at, places := w.indices(), w.places()
	// take keeps v where it is larger than best, or NaN.
	take := func(best, place, v, from vec) {
		larger, unordered := YMM(), YMM()
		VCMPPS(U8(greaterThan), best, v, larger)
		VCMPPS(U8(notANumber), v, v, unordered)
		VORPS(unordered, larger, larger)
		VBLENDVPS(larger, v, best, best)
		VBLENDVPS(larger, from, place, place)
	}
	store := func(best, place vec) {
		VMOVUPS(best, w.pooledAt())
		VPADDD(at.here(w), place, place)
		VMOVDQU(place, w.whereAt())
	}
	w.each(func(from [4]Mem) {
		best, place := YMM(), YMM()
		VMOVUPS(from[0], best)
		VMOVAPS(places[0], place)
		for i := 1; i < 4; i++ {
			v := YMM()
			VMOVUPS(from[i], v)
			take(best, place, v, places[i])
		}
		store(best, place)
	}, func() {
		best, place, from := YMM(), zeros(), YMM()
		VMOVUPS(Mem{Base: w.image, Index: w.channel, Scale: 1}, best)
		w.positions(from, func(at Mem) {
			v := YMM()
			VMOVUPS(at, v)
			take(best, place, v, from)
		})
		store(best, place)
	}, func() { at.next(w) })
}

func maxWindowsGrad() {
	w := begin("maxWindowsGrad", "writes, or adds if keep is 1, the pooled gradient to the chosen position of each window and zero to the others.", "dx", "dy", true, "at, keep int32")
	at, places, keep := w.indices(), w.places(), w.keep()
	chosen := func(where, dy, place vec, to Mem) {
		v := YMM()
		VPCMPEQD(place, where, v)
		VANDPS(dy, v, v)
		keep(to, v)
		VMOVUPS(v, to)
	}
	load := func() (where, dy vec) {
		where, dy = YMM(), YMM()
		VMOVDQU(w.whereAt(), where)
		VPSUBD(at.here(w), where, where)
		VMOVUPS(w.pooledAt(), dy)
		return where, dy
	}
	w.each(func(to [4]Mem) {
		where, dy := load()
		for i := range to {
			chosen(where, dy, places[i], to[i])
		}
	}, func() {
		where, dy := load()
		place := YMM()
		w.positions(place, func(to Mem) { chosen(where, dy, place, to) })
	}, func() { at.next(w) })
}

func sumWindows() {
	w := begin("sumWindows", "writes scale times the sum of each window.", "x", "y", false, "scale float32")
	scale := broadcast("scale")
	w.each(func(from [4]Mem) {
		sum := YMM()
		VMOVUPS(from[0], sum)
		for _, v := range from[1:] {
			VADDPS(v, sum, sum)
		}
		VMULPS(scale, sum, sum)
		VMOVUPS(sum, w.pooledAt())
	}, func() {
		sum := zeros()
		w.positions(nil, func(at Mem) { VADDPS(at, sum, sum) })
		VMULPS(scale, sum, sum)
		VMOVUPS(sum, w.pooledAt())
	}, nil)
}

func sumWindowsGrad() {
	w := begin("sumWindowsGrad", "writes, or adds if keep is 1, scale times the pooled gradient to all positions of each window.", "dx", "dy", false, "scale float32, keep int32")
	scale, keep := broadcast("scale"), w.keep()
	write := func(dy vec, to Mem) {
		v := YMM()
		VMOVAPS(dy, v)
		keep(to, v)
		VMOVUPS(v, to)
	}
	w.each(func(to [4]Mem) {
		dy := mul(w.pooledAt(), scale)
		for i := range to {
			write(dy, to[i])
		}
	}, func() {
		dy := mul(w.pooledAt(), scale)
		w.positions(nil, func(to Mem) { write(dy, to) })
	}, nil)
}
