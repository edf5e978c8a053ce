//go:build mpi

package mpi

import (
	"fmt"
	"os"
	"time"
	"unsafe"
)

// Join makes this process a rank of the job that it was started in. It is called once. The error
// says what does not fit: the library, the launcher, or their versions.
func Join() (Group, error) {
	m := newMember()
	joined := make(chan error)
	go m.serve(joined)
	if err := <-joined; err != nil {
		return nil, err
	}
	go endWithLauncher(m.rank)
	return m, nil
}

// join opens and starts the library, and checks that it fits the launcher.
func (m *member) join() error {
	var err error
	if m.library, err = open(); err != nil {
		return err
	}
	level := new(int32)
	if err := m.call("MPI_Init_thread", 0, 0, m.funneled, uintptr(unsafe.Pointer(level))); err != nil {
		return err
	}
	if *level < int32(m.funneled) {
		return fmt.Errorf("mpi: %s (%s): found level %d of threads, expected MPI_THREAD_FUNNELED (%d): choose another library with %s=FILE", m.file, m.version, *level, m.funneled, chosen)
	}
	// Until then errors end the process with the library's own message.
	if err := m.call("MPI_Comm_set_errhandler", m.comm, m.errorsReturn); err != nil {
		return err
	}
	if m.rank, err = m.number("MPI_Comm_rank", m.comm); err != nil {
		return err
	}
	if m.size, err = m.number("MPI_Comm_size", m.comm); err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return err
	}
	return m.allocate()
}

// number returns what the function name of the library says about a handle, one number.
func (l *library) number(name string, handle uintptr) (int, error) {
	found := new(int32)
	err := l.call(name, handle, uintptr(unsafe.Pointer(found)))
	return int(*found), err
}

// check refuses a library that finds another number of ranks than the launcher started, or whose
// types have other sizes than those of its interface.
func (m *member) check() error {
	if size, by, ok := Launched(); ok && size != m.size {
		return fmt.Errorf("mpi: %s (%s): found a group of %d, expected the %d ranks that %s started: name that launcher's library with %s=FILE, or use the launcher of this one",
			m.file, m.version, m.size, size, by, chosen)
	}
	for kind, want := range map[uintptr]int{m.int64s: 8, m.bytes: 1} {
		size, err := m.number("MPI_Type_size", kind)
		if err != nil {
			return err
		}
		if size != want {
			return fmt.Errorf("mpi: %s (%s): found a type of %d bytes, expected %d: this is not the interface %s", m.file, m.version, size, want, m.abi.name)
		}
	}
	return nil
}

// endWithLauncher ends this process when the process that started it is gone: a launcher that is
// killed cannot end its ranks. The ledger and the last checkpoint stay.
func endWithLauncher(rank int) {
	launcher := os.Getppid()
	for os.Getppid() == launcher {
		time.Sleep(500 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "train: rank %d: the process that started it (%d) has ended, and so does this one\n", rank, launcher)
	os.Exit(1)
}
