//go:build mpi

package mpi

import (
	"time"
	"unsafe"
)

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
