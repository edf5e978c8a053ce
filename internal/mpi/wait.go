//go:build mpi

package mpi

import (
	"math"
	"time"
)

const (
	forever = time.Duration(math.MaxInt64)
	// spinning is how long to poll without sleeping: most of what is waited for has come by then, and
	// a core is given to whoever else wants it.
	spinning = 100 * time.Microsecond
	// meeting is how long to poll without sleeping where all ranks are known to be there: longer, as
	// the library goes on only while it is called.
	meeting = 50 * time.Millisecond
	// A sleep is as long as a part of the wait before it, so that it adds no more than that.
	sleepPart    = 16
	longestSleep = time.Millisecond
)

// until asks again and again whether something is done, for as long as there is patience; late says
// that it was not. Whoever waits long sleeps most of the time, where MPI itself would take the core
// that another rank, or the noise of rank 0, may need.
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
