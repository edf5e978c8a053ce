//go:build mpi

package mpi

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

func (m *member) Broadcast(b []byte) error { return m.order(func() error { return m.broadcastAll(b) }) }

func (m *member) Reduce(values []int64, patience time.Duration) error {
	return m.order(func() error { return m.reduceAll(values, patience) })
}

// broadcastAll broadcasts the length of b, for which other ranks may wait long, and then the bytes
// of b. It refuses another length than that of rank 0.
func (m *member) broadcastAll(b []byte) error {
	m.buffer[0] = int64(len(b))
	if err := m.broadcastBuffer(8, spinning); err != nil {
		return err
	}
	if m.buffer[0] != int64(len(b)) {
		return fmt.Errorf("mpi: rank %d: rank 0 says %d bytes, expected %d", m.rank, m.buffer[0], len(b))
	}
	buffer := unsafe.Slice((*byte)(unsafe.Pointer(&m.buffer[0])), 8*bufferValues)
	for len(b) > 0 {
		n := copy(buffer, b)
		if err := m.broadcastBuffer(n, meeting); err != nil {
			return err
		}
		b = b[copy(b, buffer[:n]):]
	}
	return nil
}

// broadcastBuffer copies n bytes of rank 0's buffer into the others'. It polls for spin, as until.
func (m *member) broadcastBuffer(n int, spin time.Duration) error {
	return m.collective(spin, "MPI_Ibcast", uintptr(unsafe.Pointer(&m.buffer[0])), uintptr(n), m.bytes, 0, m.comm, uintptr(unsafe.Pointer(m.request)))
}

// reduceAll sums once every rank knows that all have brought a part: the first ones wait without
// taking a core that another rank may need for its part.
func (m *member) reduceAll(values []int64, patience time.Duration) error {
	m.sums++
	if m.rank > 0 {
		if err := m.note(0, partTag(m.sums), len(values)); err != nil {
			return err
		}
	} else {
		m.patience = patience
		if err := m.expectParts(len(values), patience); err != nil {
			return err
		}
	}
	if err := m.broadcastBuffer(1, spinning); err != nil {
		return err
	}
	for len(values) > 0 {
		n := copy(m.buffer, values)
		if err := m.reduceBuffer(n); err != nil {
			return err
		}
		if m.rank == 0 {
			copy(values, m.buffer[:n])
		}
		values = values[n:]
	}
	return nil
}

// reduceBuffer replaces n values in rank 0's buffer by the sums over all ranks.
func (m *member) reduceBuffer(n int) error {
	from, to := m.inPlace, uintptr(unsafe.Pointer(&m.buffer[0]))
	if m.rank > 0 {
		from, to = to, 0
	}
	return m.collective(meeting, "MPI_Ireduce", from, to, uintptr(n), m.int64s, m.sum, 0, m.comm, uintptr(unsafe.Pointer(m.request)))
}

// expectParts waits until all ranks have said that they bring a part of a sum, of so many values.
func (m *member) expectParts(values int, patience time.Duration) error {
	late, err := m.gather(partTag(m.sums), patience, func(rank, n int) error {
		if n != values {
			return fmt.Errorf("mpi: rank %d brings %d values, expected %d", rank, n, values)
		}
		return nil
	})
	if err != nil || len(late) == 0 {
		return err
	}
	// One that has stopped holds up others, which then answer.
	missing, err := m.silent()
	if err == nil && len(missing) == 0 {
		missing = late
	}
	return m.lost(missing, patience, err)
}

// lost returns err, or else a [Missing] if ranks are missing.
func (m *member) lost(missing []int, patience time.Duration, err error) error {
	if err == nil && len(missing) > 0 {
		return &Missing{Ranks: missing, Size: m.size, Patience: patience}
	}
	return err
}

// collective begins an operation of all ranks and waits for its end. Rank 0 asks now and then
// whether all others are there: one that stops within the operation holds up everybody.
//
//go:uintptrescapes
func (m *member) collective(spin time.Duration, name string, arguments ...uintptr) error {
	if err := m.call(name, arguments...); err != nil {
		return err
	}
	for {
		patience := forever
		if m.rank == 0 {
			patience = m.patience
		}
		late, err := m.until(patience, spin, m.ended)
		if err != nil || !late {
			return err
		}
		missing, err := m.silent()
		if err = m.lost(missing, patience, err); err != nil {
			return err
		}
	}
}

// ended reports whether the collective operation has ended.
func (m *member) ended() (bool, error) {
	err := m.call("MPI_Test", uintptr(unsafe.Pointer(m.request)), uintptr(unsafe.Pointer(m.flag)), m.ignoreStatus)
	return *m.flag != 0, err
}

const (
	forever = time.Duration(math.MaxInt64)
	// spinning is how long to poll without sleeping: most of what is waited for has come by then,
	// and a core is given to whoever else wants it.
	spinning = 100 * time.Microsecond
	// meeting is how long to poll without sleeping where all ranks are known to be there: longer,
	// as the library goes on only while it is called.
	meeting = 50 * time.Millisecond
	// A sleep is as long as a part of the wait before it, so that it adds no more than that.
	sleepPart    = 16
	longestSleep = time.Millisecond
)

// until asks done again and again until it reports true, or for longer than patience; then late is
// true. After spin it sleeps most of the time: MPI itself would take the core that another rank, or
// the noise of rank 0, may need.
func (m *member) until(patience, spin time.Duration, done func() (bool, error)) (late bool, err error) {
	start := time.Now()
	for {
		ok, err := done()
		if ok || err != nil {
			return false, err
		}
		waited := time.Since(start)
		if waited > patience {
			return true, nil
		}
		if waited < spin {
			yield()
			continue
		}
		select {
		case status := <-m.aborts:
			m.end(status)
		default:
		}
		m.answer()
		sleep(min(waited/sleepPart, longestSleep))
	}
}

// Notes are short messages between rank 0 and another rank: who writes, and a number. The tag says
// what a note is about. The tags of sums and answers count them, so that none is taken for another.
const (
	askTag    = 0    // are you there? The number counts these questions.
	tags      = 8192 // how many sums, and answers, tags tell apart; MPI has at least 32767 tags
	askAnswer = 5 * time.Second
)

func partTag(sum int) int   { return 1 + sum%tags }
func hereTag(asked int) int { return 1 + tags + asked%tags }

// note sends a note with this number to the rank to, and waits as long as MPI_Send does.
func (m *member) note(to, tag, number int) error {
	m.sent[0], m.sent[1] = int64(m.rank), int64(number)
	return m.call("MPI_Send", uintptr(unsafe.Pointer(&m.sent[0])), noteValues, m.int64s, uintptr(to), uintptr(tag), m.comm)
}

// post sends the note in m.sent without waiting until it is received.
func (m *member) post(to, tag int) error {
	request := new(uintptr)
	if err := m.call("MPI_Isend", uintptr(unsafe.Pointer(&m.sent[0])), noteValues, m.int64s, uintptr(to), uintptr(tag), m.comm, uintptr(unsafe.Pointer(request))); err != nil {
		return err
	}
	return m.call("MPI_Request_free", uintptr(unsafe.Pointer(request)))
}

// read returns who wrote a note with this tag from source, and its number; ok is false without one.
func (m *member) read(source uintptr, tag int) (from, number int, ok bool, err error) {
	err = m.call("MPI_Iprobe", source, uintptr(tag), m.comm, uintptr(unsafe.Pointer(m.flag)), m.ignoreStatus)
	if err != nil || *m.flag == 0 {
		return 0, 0, false, err
	}
	err = m.call("MPI_Recv", uintptr(unsafe.Pointer(&m.heard[0])), noteValues, m.int64s, source, uintptr(tag), m.comm, m.ignoreStatus)
	return int(m.heard[0]), int(m.heard[1]), err == nil, err
}

// gather waits for a note with this tag from each other rank, no longer than patience, and returns
// the ranks that have not written. It ends at the first error of accept, called for each note.
func (m *member) gather(tag int, patience time.Duration, accept func(rank, number int) error) (missing []int, err error) {
	came, left := make([]bool, m.size), m.size-1
	_, err = m.until(patience, spinning, func() (bool, error) {
		for left > 0 {
			rank, number, ok, err := m.read(m.anySource, tag)
			if err != nil || !ok {
				return false, err
			}
			if err := accept(rank, number); err != nil {
				return false, err
			}
			came[rank] = true
			left--
		}
		return true, nil
	})
	for rank := 1; rank < m.size; rank++ {
		if !came[rank] {
			missing = append(missing, rank)
		}
	}
	return missing, err
}

// silent asks all other ranks whether they are there, and returns those that do not answer.
func (m *member) silent() ([]int, error) {
	m.asked++ // all have answered before, and so nobody reads the memory of an earlier note
	m.sent[0], m.sent[1] = int64(m.rank), int64(m.asked)
	for rank := 1; rank < m.size; rank++ {
		if err := m.post(rank, askTag); err != nil {
			return nil, err
		}
	}
	return m.gather(hereTag(m.asked), askAnswer, func(int, int) error { return nil })
}

// answer tells rank 0 that this process is there, if rank 0 has asked and this one has not left.
func (m *member) answer() {
	if m.rank == 0 || m.left {
		return
	}
	if _, asked, ok, err := m.read(0, askTag); ok && err == nil {
		_ = m.note(0, hereTag(asked), 0) // rank 0 sees that it did not come
	}
}
