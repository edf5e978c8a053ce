package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// windows holds the registers of a function over windows.
type windows struct {
	count, image, pooled, where  reg.GPVirtual
	rowStride, colStride, corner reg.GPVirtual // corner is their sum
	channel, end                 reg.GPVirtual // bytes
}

// begin declares a function over windows and loads its arguments. image is the name of the image's
// parameter, x or its gradient dx; pooled that of the pooled values, y or dy.
func begin(name, doc, image, pooled string, where bool, scalar string) *windows {
	signature := "func(count, blocks, channels, rows, cols, rowStride, colStride, step int, " + image + ", " + pooled + " *float32"
	if where {
		signature += ", where *int32"
	}
	TEXT(name+"AVX2", NOSPLIT, signature+", "+scalar+")")
	Pragma("noescape")
	Doc(name + "AVX2 " + doc)
	w := &windows{count: GP64(), image: GP64(), pooled: GP64(), rowStride: GP64(), colStride: GP64(), corner: GP64(), end: GP64()}
	Load(Param("count"), w.count)
	Load(Param("blocks"), w.end)
	SHLQ(U8(5), w.end)
	Load(Param(image), w.image)
	Load(Param(pooled), w.pooled)
	if where {
		w.where = GP64()
		Load(Param("where"), w.where)
	}
	Load(Param("rowStride"), w.rowStride)
	Load(Param("colStride"), w.colStride)
	LEAQ(Mem{Base: w.rowStride, Index: w.colStride, Scale: 1}, w.corner)
	return w
}

// each writes loops over the blocks of channels of every window: four for windows of 2×2 positions,
// whose addresses it gets, any for the others. next follows after each window.
func (w *windows) each(four func(places [4]Mem), any func(), next func()) {
	w.channel = GP64()
	size := GP64()
	Load(Param("rows"), size)
	CMPQ(size, U8(2))
	JNE(LabelRef("general"))
	Load(Param("cols"), size)
	CMPQ(size, U8(2))
	JNE(LabelRef("general"))
	w.loops("small", func() {
		p := GP64()
		LEAQ(Mem{Base: w.image, Index: w.channel, Scale: 1}, p)
		four([4]Mem{{Base: p}, {Base: p, Index: w.colStride, Scale: 1}, {Base: p, Index: w.rowStride, Scale: 1}, {Base: p, Index: w.corner, Scale: 1}})
	}, next)
	Label("general")
	w.loops("any", any, next)
}

func (w *windows) loops(label string, body, next func()) {
	Label(label + "Window")
	XORQ(w.channel, w.channel)
	Label(label + "Block")
	body()
	ADDQ(U8(32), w.channel)
	CMPQ(w.channel, w.end)
	JL(LabelRef(label + "Block"))
	w.advance(next)
	DECQ(w.count)
	JNZ(LabelRef(label + "Window"))
	VZEROUPPER()
	RET()
}

// advance writes the move to the next window, and then next unless it is nil.
func (w *windows) advance(next func()) {
	by := GP64()
	Load(Param("step"), by)
	ADDQ(by, w.image)
	Load(Param("channels"), by)
	SHLQ(U8(2), by)
	ADDQ(by, w.pooled)
	if w.where != nil {
		ADDQ(by, w.where)
	}
	if next != nil {
		next()
	}
}

// pooledAt and whereAt return the addresses of the window's values for the block of channels.
func (w *windows) pooledAt() Mem { return Mem{Base: w.pooled, Index: w.channel, Scale: 1} }
func (w *windows) whereAt() Mem  { return Mem{Base: w.where, Index: w.channel, Scale: 1} }

// positions writes a loop that runs body at every position of a window of any size. place, unless
// nil, is the position's distance from the window's first, in elements, in every lane.
func (w *windows) positions(place vec, body func(at Mem)) {
	var rowPlace, rowStep, colStep vec
	if place != nil {
		rowPlace, rowStep, colStep = zeros(), w.elements(w.rowStride), w.elements(w.colStride)
	}
	row, rows := GP64(), GP64()
	LEAQ(Mem{Base: w.image, Index: w.channel, Scale: 1}, row)
	Load(Param("rows"), rows)
	Label("row")
	at, cols := GP64(), GP64()
	MOVQ(row, at)
	Load(Param("cols"), cols)
	if place != nil {
		VMOVAPS(rowPlace, place)
	}
	Label("position")
	body(Mem{Base: at})
	ADDQ(w.colStride, at)
	if place != nil {
		VPADDD(colStep, place, place)
	}
	DECQ(cols)
	JNZ(LabelRef("position"))
	ADDQ(w.rowStride, row)
	if place != nil {
		VPADDD(rowStep, rowPlace, rowPlace)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
}

// elements returns a vector of eight times a distance, given in bytes, in elements.
func (w *windows) elements(bytes reg.GPVirtual) vec {
	n, y := GP64(), YMM()
	MOVQ(bytes, n)
	SHRQ(U8(2), n)
	VMOVD(n.As32(), y.AsX())
	VPBROADCASTD(y.AsX(), y)
	return y
}

// places returns the distances of the four positions of a 2×2 window from its first, in elements.
func (w *windows) places() [4]vec {
	return [4]vec{zeros(), w.elements(w.colStride), w.elements(w.rowStride), w.elements(w.corner)}
}

// indices tracks where the channels of a window's first position are in the image: lane i of first
// is the offset of channel i.
type indices struct{ first vec }

func (w *windows) indices() *indices {
	i := &indices{YMM()}
	first := GP32()
	Load(Param("at"), first)
	VMOVD(first, i.first.AsX())
	VPBROADCASTD(i.first.AsX(), i.first)
	VPADDD(firstIndices(), i.first, i.first)
	return i
}

// here returns the offsets of the channels of the current block.
func (i *indices) here(w *windows) vec {
	y := w.elements(w.channel)
	VPADDD(i.first, y, y)
	return y
}

// next moves the offsets to the next window.
func (i *indices) next(w *windows) {
	step := GP64()
	Load(Param("step"), step)
	VPADDD(w.elements(step), i.first, i.first)
}

// keep returns a function that adds to v the values in memory at to if the parameter keep is 1, and
// zeros if it is 0. The mask that makes them zeros costs nothing.
func (w *windows) keep() func(to Mem, v vec) {
	mask, n := YMM(), GP32()
	Load(Param("keep"), n)
	NEGL(n)
	VMOVD(n, mask.AsX())
	VPBROADCASTD(mask.AsX(), mask)
	return func(to Mem, v vec) {
		old := YMM()
		VANDPS(to, mask, old)
		VADDPS(old, v, v)
	}
}

var laneIndices *Mem

// firstIndices returns the place in memory of the vector 0, 1, …, 7.
func firstIndices() Mem {
	if laneIndices == nil {
		m := GLOBL("firstIndices", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(i))
		}
		laneIndices = &m
	}
	return *laneIndices
}
