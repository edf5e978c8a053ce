//go:build mpi

package mpi

import (
	"errors"
	"os"
	"runtime"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// member is this process in its group. One thread makes all calls of MPI, as the library requires;
// the methods of [Group] give it orders.
type member struct {
	*library
	rank, size int

	orders chan order
	aborts chan int // exit statuses
	failed error    // of an order; the group is of no use any more
	left   bool     // the library takes no calls any more

	// Memory that the library knows.
	buffer  []int64 // what is broadcast or summed, part by part
	sent    []int64 // a note
	heard   []int64
	request *uintptr // of a collective operation that is going on
	flag    *int32

	sums     int           // begun so far
	asked    int           // how often rank 0 has asked who is there
	patience time.Duration // of rank 0, as the last sum had it
}

// order holds a function that the thread with the calls is to call.
type order struct {
	do   func() error
	done chan error
}

const (
	// bufferValues is how many values are summed at once: enough for a gradient, or a large part of
	// one.
	bufferValues = 1 << 20
	// noteValues is the length of a note: who writes, and one number.
	noteValues = 2
	// firstPatience is the patience of rank 0 before the first sum. After it rank 0 asks who is
	// there, which takes no work to answer.
	firstPatience = time.Minute
	// listening is how often a rank without orders looks whether rank 0 asks for it.
	listening = 100 * time.Millisecond
	// forwarding is how long a launcher gets to pass on what ranks have printed before they end:
	// MPICH's launcher drops the rest.
	forwarding = 300 * time.Millisecond
	// abortPatience is how long ending all ranks may take before this one ends by itself.
	abortPatience = 5 * time.Second
)

var _ Group = (*member)(nil)

func newMember() *member {
	return &member{orders: make(chan order), aborts: make(chan int, 1), patience: firstPatience, request: new(uintptr), flag: new(int32)}
}

// allocate has the library allocate the memory for messages: fast networks remember where memory
// lies, and learn from C when it is freed, but not from Go.
func (m *member) allocate() error {
	const values = bufferValues + 2*noteValues
	memory := new(unsafe.Pointer)
	if err := m.call("MPI_Alloc_mem", 8*values, m.noInfo, uintptr(unsafe.Pointer(memory))); err != nil {
		return err
	}
	all := unsafe.Slice((*int64)(*memory), values)
	m.buffer, m.sent, m.heard = all[:bufferValues], all[bufferValues:bufferValues+noteValues], all[bufferValues+noteValues:]
	return nil
}

// serve joins the group and carries out orders. Its goroutine keeps its thread.
func (m *member) serve(joined chan<- error) {
	runtime.LockOSThread()
	if err := m.join(); err != nil {
		joined <- err
		return
	}
	joined <- nil
	for listen := time.NewTicker(listening); ; {
		select {
		case o := <-m.orders:
			o.done <- o.do()
		case status := <-m.aborts:
			m.end(status)
		case <-listen.C:
			m.answer()
		}
	}
}

// order has the thread call do, and waits. After one error every later call returns that error.
func (m *member) order(do func() error) error {
	if m.failed != nil {
		return m.failed
	}
	o := order{do, make(chan error)}
	m.orders <- o
	m.failed = <-o.done
	return m.failed
}

func (m *member) Rank() int { return m.rank }
func (m *member) Size() int { return m.size }

// Close waits for all ranks, and leaves the library. After an error it does neither: others may
// never come.
func (m *member) Close() error {
	if m.failed != nil {
		return nil
	}
	err := m.order(func() error {
		if err := m.collective(spinning, "MPI_Ibarrier", m.comm, uintptr(unsafe.Pointer(m.request))); err != nil {
			return err
		}
		m.left = true
		err := m.call("MPI_Finalize")
		m.sayGoodbye()
		return err
	})
	if err == nil {
		m.failed = errLeft
	}
	return err
}

// sayGoodbye runs what C libraries registered for the end of the process, which Go would skip.
// Since version 4.1 MPICH tells the launcher then that this rank is done; the launcher takes a rank
// that has not said so for a failed one, and kills all others.
func (m *member) sayGoodbye() {
	if m.abi.name == openMPI.name {
		return
	}
	if f, err := purego.Dlsym(purego.RTLD_DEFAULT, "__cxa_finalize"); err == nil {
		purego.SyscallN(f, 0)
	}
}

// errLeft is the error of every call after Close.
var errLeft = errors.New("mpi: found a call of a group that was left, expected none")

// Abort does not return: the library ends this process with the others.
func (m *member) Abort(status int) {
	select {
	case m.aborts <- status:
	default:
	}
	time.Sleep(abortPatience)
	os.Exit(status)
}

// end carries out Abort on the thread that makes the calls.
func (m *member) end(status int) {
	time.Sleep(forwarding)
	if !m.left {
		_ = m.call("MPI_Abort", m.comm, uintptr(status)) // there is nobody left to tell
	}
	os.Exit(status)
}
