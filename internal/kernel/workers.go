package kernel

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Threads: the worker goroutines that all kernels of a network share.

// chunksPerWorker is the number of pieces that Run cuts per worker when the grain allows: enough
// that a worker the operating system has taken away for a moment does not hold up the others, and
// that the last pieces are small; few enough that handing them out costs nothing.
const chunksPerWorker = 16

// Pool runs loops on a fixed set of worker goroutines that live until Close.
// The goroutine that calls Run is worker 0. A nil *Pool is a valid pool of one
// thread: it runs everything on the caller.
type Pool struct {
	helpers []*helper  // the workers other than the caller
	running sync.Mutex // held while a Run uses the workers
	closed  bool       // guarded by running

	// The loop in progress; written by Run while it holds running.
	body    func(worker, lo, hi int)
	chunk   int
	shares  []share        // of the workers, where each begins: it may find there what it wrote in the loop before
	pending sync.WaitGroup // workers whose call is neither finished nor cancelled
	busy    atomic.Int64   // their number
	owners  []atomic.Int64 // goroutine of worker i; 0 for worker 0, which is any caller

	spaces [workspaces][][]float32 // see workspace

	panicMu  sync.Mutex
	panicked bool
	panicVal any
}

// share is a part of a loop, of which workers take chunks.
type share struct {
	next atomic.Int64 // first index that nobody has taken
	end  int
	_    [112]byte // between shares, which would wait for each other's cache lines
}

// NewPool starts threads-1 workers; with the caller of Run they make threads.
// Fewer than one thread counts as one.
func NewPool(threads int) *Pool {
	threads = max(threads, 1)
	p := &Pool{helpers: make([]*helper, threads-1), owners: make([]atomic.Int64, threads), shares: make([]share, threads)}
	for i := range p.spaces {
		p.spaces[i] = make([][]float32, threads)
	}
	for i := range p.helpers {
		p.helpers[i] = &helper{wake: make(chan struct{}, 1)}
		go p.work(i+1, p.helpers[i])
	}
	return p
}

// Threads returns how many calls of a loop body may run at the same time; worker
// numbers are below it.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return len(p.helpers) + 1
}

// Close ends the workers, after the Run in progress if there is one. A closed
// pool still runs loops, on the caller. Closing twice is allowed.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.running.Lock()
	defer p.running.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	for _, h := range p.helpers {
		close(h.wake)
	}
}

// Run calls f for disjoint ranges [lo, hi) that together cover [0, n), and returns when all calls
// have returned. Every range has at least grain indices, but for the last one, which may have
// fewer. The worker number is in [0, Threads()) and no two calls that run at the same time have the
// same one, so it can index scratch space. Which worker gets which range is not determined.
//
// When a call of f panics, the remaining ranges may be skipped, and Run panics
// with the same value once no call runs any more.
//
// A Run inside f runs serially, under the worker number of the f that calls it. A Run from another
// goroutine while the workers are busy runs serially too, as worker 0 of its own.
func (p *Pool) Run(n, grain int, f func(worker, lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if p == nil || len(p.helpers) == 0 {
		f(0, 0, n)
		return
	}
	if !p.running.TryLock() {
		f(p.currentWorker(), 0, n)
		return
	}
	if p.closed || n <= grain {
		// The lock is given back first: a Run inside f may use the workers.
		p.running.Unlock()
		f(0, 0, n)
		return
	}
	defer p.running.Unlock()
	p.runParallel(n, grain, f)
}

func (p *Pool) runParallel(n, grain int, f func(worker, lo, hi int)) {
	p.body = f
	p.chunk = max(grain, (n+chunksPerWorker*p.Threads()-1)/(chunksPerWorker*p.Threads()))
	chunks := (n + p.chunk - 1) / p.chunk
	for i := range p.shares {
		p.shares[i].next.Store(int64(i * chunks / p.Threads() * p.chunk))
		p.shares[i].end = min((i+1)*chunks/p.Threads()*p.chunk, n)
	}
	helpers := p.helpers[:min(len(p.helpers), chunks-1)]
	p.pending.Add(len(helpers))
	p.busy.Store(int64(len(helpers)))
	for _, h := range helpers {
		h.call()
	}
	p.drain(0)
	for _, h := range helpers {
		if h.cancel() { // there is nothing left to help with
			p.busy.Add(-1)
			p.pending.Done()
		}
	}
	for spin := 0; spin < spins && p.busy.Load() > 0; spin++ {
	}
	if p.busy.Load() > 0 { // a worker that is not busy may still be on its way to Done
		p.pending.Wait()
	}

	p.body = nil
	if p.panicked {
		v := p.panicVal
		p.panicked, p.panicVal = false, nil
		panic(v)
	}
}

// work is a worker's goroutine: it helps with each loop it is called for until the pool is closed.
func (p *Pool) work(worker int, h *helper) {
	p.owners[worker].Store(goroutineID())
	for h.wait() {
		p.drain(worker)
		p.busy.Add(-1)
		p.pending.Done()
	}
}

// spins is how often a waiting goroutine looks before it goes to sleep, which takes some fifty
// microseconds: the loops of a step follow each other within less, and waking a goroutine that
// sleeps takes about as long.
const spins = 1 << 17

// helper is a worker that waits for calls.
type helper struct {
	called atomic.Bool // set by call, until the call is taken or cancelled
	asleep atomic.Bool
	wake   chan struct{} // holds one wake-up; closed at the end
}

// call asks the worker to help with one loop. The call before has to be finished or cancelled.
func (h *helper) call() {
	h.called.Store(true)
	if h.asleep.CompareAndSwap(true, false) {
		h.wake <- struct{}{}
	}
}

// cancel takes back a call, and reports false if the worker has taken it. On a machine with other
// work a worker may come milliseconds after its call: a loop that is done does not wait for it.
func (h *helper) cancel() bool { return h.called.CompareAndSwap(true, false) }

// wait waits for a call and takes it. It returns false when the pool is closed instead.
func (h *helper) wait() bool {
	for {
		for range spins {
			if h.called.Load() && h.called.CompareAndSwap(true, false) {
				return true
			}
		}
		h.asleep.Store(true)
		// Whoever called before it saw the worker asleep does not wake it.
		if !h.called.Load() || !h.asleep.CompareAndSwap(true, false) {
			if _, open := <-h.wake; !open {
				return false
			}
		}
		// A wake-up may be late: its call can have been taken before the worker went to sleep, or
		// cancelled.
	}
}

// drain runs the loop in progress on chunks of its range, as the given worker, until none is left:
// first of the worker's own share, then of those of others.
func (p *Pool) drain(worker int) {
	defer p.catch()
	for i := range p.shares {
		s := &p.shares[(worker+i)%len(p.shares)]
		for {
			hi := int(s.next.Add(int64(p.chunk)))
			lo := hi - p.chunk
			if lo >= s.end {
				break
			}
			p.body(worker, lo, min(hi, s.end))
		}
	}
}

// catch recovers a panic of the loop, keeps the first for Run, and leaves nobody a chunk to take.
func (p *Pool) catch() {
	v := recover()
	if v == nil {
		return
	}
	p.panicMu.Lock()
	defer p.panicMu.Unlock()
	if !p.panicked {
		p.panicked, p.panicVal = true, v
	}
	for i := range p.shares {
		p.shares[i].next.Store(int64(p.shares[i].end))
	}
}

// currentWorker returns the number of the worker whose goroutine calls it; 0 for the caller of the
// Run in progress and for strangers. Run only asks when the workers are busy, which in a well-built
// caller is never on the hot path.
func (p *Pool) currentWorker() int {
	id := goroutineID()
	for worker := range p.owners {
		if p.owners[worker].Load() == id {
			return worker
		}
	}
	return 0
}

// goroutineID returns the number of the calling goroutine, from the first line of the stack trace,
// "goroutine 18 [running]:". The runtime offers no other way, and the nested Run of a worker has to
// know which worker it is. An unreadable line gives -1, which no worker has.
func goroutineID() int64 {
	var buf [64]byte
	line := buf[:runtime.Stack(buf[:], false)]
	line = bytes.TrimPrefix(line, []byte("goroutine "))
	if end := bytes.IndexByte(line, ' '); end > 0 {
		line = line[:end]
	}
	id, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return -1
	}
	return id
}

// workspace is a buffer for each worker of a pool, allocated when a worker first asks. What it
// holds means nothing from one call to the next, and so everything that runs on a pool shares a few
// of them: memory does not grow with the number of layers of a network.
type workspace struct{ buffers [][]float32 }

// The workspaces of a pool. Buffers that one operation needs together are in different ones.
const (
	imageSpace = iota // images, lowered or transformed
	gramSpace         // products of an image with itself
	pieceSpace        // pieces of a gradient
	workspaces
)

func newWorkspace(p *Pool, space int) workspace {
	if p == nil {
		return workspace{make([][]float32, 1)}
	}
	return workspace{p.spaces[space]}
}

// get returns the worker's buffer with length n. It holds anything, and the worker's next get
// returns it again.
func (w *workspace) get(worker, n int) []float32 {
	w.buffers[worker] = grow(w.buffers[worker], n)
	return w.buffers[worker]
}

// Each calls work(0) … work(n−1) on all processors and returns the error of
// the lowest index that failed. After a failure no higher index is started, so
// that error does not depend on the number of processors.
func Each(n int, work func(i int) error) error {
	var (
		next   atomic.Int64
		group  sync.WaitGroup
		mutex  sync.Mutex
		failed = n
		first  error
	)
	run := func() {
		for {
			i := int(next.Add(1)) - 1
			mutex.Lock()
			stop := i >= failed
			mutex.Unlock()
			if stop {
				return
			}
			if err := work(i); err != nil {
				mutex.Lock()
				if i < failed {
					failed, first = i, err
				}
				mutex.Unlock()
			}
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(run)
	}
	group.Wait()
	return first
}
