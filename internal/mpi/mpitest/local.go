package mpitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsgd/internal/mpi"
)

// Local returns a group whose ranks are goroutines of this process, indexed by rank. After Abort
// every call of every rank fails.
func Local(size int) []mpi.Group {
	shared := &exchange{hearing: make([]chan visit, size), bringing: make([]chan visit, size), ended: make(chan struct{})}
	ranks := make([]mpi.Group, size)
	for r := range ranks {
		shared.hearing[r], shared.bringing[r] = make(chan visit), make(chan visit)
		ranks[r] = &local{shared, r}
	}
	return ranks
}

// exchange holds the channels by which the other ranks of a local group visit rank 0.
type exchange struct {
	hearing, bringing []chan visit  // by rank: to hear what rank 0 says, and to bring a part of a sum
	ended             chan struct{} // is closed by the first Abort
	once              sync.Once
}

// visit lends memory of a rank to rank 0, until rank 0 sends an error or nil to over.
type visit struct {
	said   []byte  // to be filled
	values []int64 // to be added
	over   chan error
}

type local struct {
	*exchange
	rank int
}

func (l *local) Rank() int    { return l.rank }
func (l *local) Size() int    { return len(l.hearing) }
func (l *local) Close() error { return nil }
func (l *local) Abort(int)    { l.once.Do(func() { close(l.ended) }) }

func (l *local) lost() error {
	return fmt.Errorf("group: rank %d: the group has ended: %w", l.rank, mpi.ErrLost)
}

// visit lends memory to rank 0, and returns what rank 0 sends once it has used the memory.
func (l *local) visit(rank0 chan<- visit, v visit) error {
	v.over = make(chan error, 1)
	select {
	case rank0 <- v:
		return <-v.over
	case <-l.ended:
		return l.lost()
	}
}

func (l *local) Broadcast(b []byte) error {
	if l.rank > 0 {
		return l.visit(l.hearing[l.rank], visit{said: b})
	}
	for r := 1; r < l.Size(); r++ {
		select {
		case v := <-l.hearing[r]:
			var err error
			if copy(v.said, b); len(v.said) != len(b) {
				err = fmt.Errorf("group: rank %d: rank 0 says %d bytes, expected %d", r, len(b), len(v.said))
			}
			v.over <- err
		case <-l.ended:
			return l.lost()
		}
	}
	return nil
}

func (l *local) Reduce(values []int64, patience time.Duration) error {
	if l.rank > 0 {
		return l.visit(l.bringing[l.rank], visit{values: values})
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for r := 1; r < l.Size(); r++ {
		select {
		case v := <-l.bringing[r]:
			if len(v.values) != len(values) {
				v.over <- nil
				return fmt.Errorf("group: rank %d brings %d values, expected %d", r, len(v.values), len(values))
			}
			for i, summand := range v.values {
				values[i] += summand
			}
			v.over <- nil
		case <-l.ended:
			return l.lost()
		case <-late.C:
			return &mpi.Missing{Ranks: l.missing(r), Size: l.Size(), Patience: patience}
		}
	}
	return nil
}

// missing returns the ranks, from the rank from on, that have not brought their part of a sum.
func (l *local) missing(from int) (ranks []int) {
	for r := from; r < l.Size(); r++ {
		select {
		case v := <-l.bringing[r]:
			v.over <- nil
		default:
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Launcher is a program that starts ranks.
type Launcher struct {
	Name    string // "Open MPI" or "MPICH"
	command string
}

// Launchers returns the launchers of this machine, by Debian's names and the usual one, or the one
// that DPSGD_TEST_MPIRUN names; DPSGD_MPI may name its library. A test is skipped if there is none.
func Launchers(t testing.TB) []Launcher {
	t.Helper()
	var found []Launcher
	known := map[string]bool{}
	commands := []string{"mpirun.openmpi", "mpirun.mpich", "mpirun"}
	if command := os.Getenv("DPSGD_TEST_MPIRUN"); command != "" {
		commands = []string{command}
	}
	for _, command := range commands {
		text, err := exec.Command(command, "--version").CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		name := "Open MPI"
		if strings.Contains(string(text), "HYDRA") || strings.Contains(string(text), "Intel(R) MPI") {
			name = "MPICH"
		}
		if !known[name] {
			known[name] = true
			found = append(found, Launcher{name, command})
		}
	}
	if len(found) == 0 {
		t.Skipf("skipped: found none of %s", strings.Join(commands, ", "))
	}
	return found
}

// Part describes ranks that run the same command.
type Part struct {
	Ranks   int
	Folder  string // they work in; "" is this one
	Command []string
}

// Start returns a command, not yet running, that starts the ranks of all parts in the order of the
// parts. There may be more ranks than cores.
func (l Launcher) Start(ctx context.Context, parts ...Part) *exec.Cmd {
	var arguments []string
	for i, p := range parts {
		if i > 0 {
			arguments = append(arguments, ":")
		}
		arguments = append(arguments, "-n", strconv.Itoa(p.Ranks))
		if l.Name == "Open MPI" {
			arguments = append(arguments, "--oversubscribe", "--bind-to", "none")
		}
		if p.Folder != "" {
			arguments = append(arguments, "-wdir", p.Folder)
		}
		arguments = append(arguments, p.Command...)
	}
	c := exec.CommandContext(ctx, l.command, arguments...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	return c
}
