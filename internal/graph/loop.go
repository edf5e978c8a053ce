package graph

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// instruction is one operation with its memory.
type instruction struct {
	node  *gorgonia.Node
	part  string
	op    Operation
	out   Array
	in    []Array
	spent atomic.Int64 // nanoseconds, for a profile
}

// loop holds what runs together: one operation with Run, or neighbours with Rows, a block of rows
// after the other. What an operation leaves of a block is in the cache when the next one reads it.
type loop struct {
	pool         *kernel.Pool
	rows         int // 0 for an operation with Run
	todo         int // rows that the present run computes, the first ones
	grain        int // the size of a block is a multiple of it
	work, bytes  int // of a row in all operations
	instructions []*instruction
	profiled     bool
	body         func(worker, lo, hi int) // blocks, bound once
}

// blockBytes is how much memory a block of rows may take: about half of a second-level cache.
const blockBytes = 1 << 20

// loopFor returns the loop that an operation with these inputs joins: the last one, or a new one if
// the numbers of rows differ.
func (e *Executor) loopFor(op Operation, in []*gorgonia.Node, pool *kernel.Pool) (l *loop, joined bool) {
	rows := 0
	if op.Rows != nil {
		rows = op.Shape[0]
	}
	if n := len(e.loops); n > 0 && rows > 0 && e.loops[n-1].rows == rows && (op.Prepare == nil || e.loops[n-1].takes(op, in)) {
		return e.loops[n-1], true
	}
	l = &loop{pool: pool, rows: rows, grain: 1}
	l.body = l.blocks
	e.loops = append(e.loops, l)
	return l, false
}

// fewestRows is how many rows of a block an operation that has something to prepare leaves room for
// at least. With fewer, a longer loop keeps more buffers from others and gains little.
const fewestRows = 12

// takes reports whether an operation with something to prepare may join the loop: if what it
// prepares from is there before, and if blocks stay large enough.
func (l *loop) takes(op Operation, in []*gorgonia.Node) bool {
	for _, i := range l.instructions {
		if slices.Contains(in[1:], i.node) {
			return false
		}
	}
	bytes := l.bytes + 4*tensor.Shape(op.Shape).TotalSize()/l.rows
	return bytes*max(fewestRows, l.grain, op.Grain) <= blockBytes
}

func (l *loop) add(i *instruction) {
	l.instructions = append(l.instructions, i)
	if l.rows == 0 {
		return
	}
	row := i.node.Shape().TotalSize() / l.rows
	l.grain, l.work, l.bytes = max(l.grain, i.op.Grain), l.work+cmp.Or(i.op.Work, row), l.bytes+row*int(i.node.Dtype().Size())
}

// run runs the loop, and tells record what each operation took unless it is nil.
func (l *loop) run(record func(part, name string, d time.Duration)) {
	start := time.Now()
	l.profiled = record != nil
	if l.rows == 0 {
		i := l.instructions[0]
		i.op.Run(i.out, i.in)
	} else if l.todo > 0 {
		for _, i := range l.instructions {
			if i.op.Prepare != nil {
				i.op.Prepare(i.in)
			}
		}
		size := l.blockRows()
		l.pool.Run((l.todo+size-1)/size, 1, l.body)
	}
	if l.profiled {
		l.report(time.Since(start), record)
	}
}

// blockRows returns the size of a block: every worker gets as many, and rows that are worth it.
func (l *loop) blockRows() int {
	least := roundUp(Grain(l.work), l.grain)
	size := max(blockBytes/max(l.bytes, 1)/least, 1) * least
	blocks := roundUp((l.todo+size-1)/size, l.pool.Threads())
	return min(size, roundUp((l.todo+blocks-1)/blocks, l.grain))
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// blocks runs all operations on blocks [lo, hi) of rows.
func (l *loop) blocks(worker, lo, hi int) {
	size := l.blockRows()
	for block := lo; block < hi; block++ {
		from, to := block*size, min((block+1)*size, l.todo)
		for _, i := range l.instructions {
			if !l.profiled {
				i.op.Rows(worker, from, to, i.out, i.in)
				continue
			}
			start := time.Now()
			i.op.Rows(worker, from, to, i.out, i.in)
			i.spent.Add(int64(time.Since(start)))
		}
	}
}

// report divides the time of the loop among its operations in the ratio of what the workers spent
// in them.
func (l *loop) report(took time.Duration, record func(part, name string, d time.Duration)) {
	spent, total := make([]float64, len(l.instructions)), 0.0
	for j, i := range l.instructions {
		spent[j] = float64(i.spent.Swap(0)) + 1
		total += spent[j]
	}
	for j, i := range l.instructions {
		record(i.part, i.node.Name(), time.Duration(float64(took)*spent[j]/total))
	}
}
