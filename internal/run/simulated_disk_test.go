package run_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"

	"dpsgd/internal/disk/disktest"
	"dpsgd/internal/folder"
)

// A world is a disk in memory, and the processes that use it one after another or at the same
// time. Every call of a process waits for its turn, and one seed decides whose turn it is, what
// fails, and what a power loss leaves. Processes see the disk below /sim/NUMBER, each below its own.
type world struct {
	*disktest.Disk
	rand      *rand.Rand
	processes []*process
	losses    int // of power

	mu      sync.Mutex
	waiting []*turn
	arrived chan struct{} // of a turn, or of the end of a process
	visit   func()        // what a person does to the disk after visitAt more turns, whoever works; nil for nothing
	visitAt int
	trace   []string // of calls that failed or changed something, for who reads a failure
}

// A process is one life of a program on the disk of a world.
type process struct {
	number int
	calls  int
	fault  fault
	dead   bool
	writes int // calls that changed something
	quiet  bool
}

// A fault is what goes wrong in the life of a process, from its call number at on. A fault of the
// kind event strikes one call alone: the sync of the run's ledger that is number at.
type fault struct {
	kind string // "" for none
	at   int
	most int // calls that it lasts
}

var faultKinds = []string{"", "", "", "kill", "kill", "power loss", "power loss", "error", "sync", "short", "full", "read-only"}

type turn struct {
	process *process
	key     string
	mine    chan struct{}
}

func newWorld(seed uint64) *world {
	w := &world{Disk: disktest.New("/here"), rand: rand.New(rand.NewPCG(seed, 27)), arrived: make(chan struct{}, 1)}
	w.Root = func(name string) (string, error) {
		_, at, err := w.resolve(name)
		return at, err
	}
	w.Before, w.After = w.before, w.after
	return w
}

// process begins a life. A quiet one looks at the disk from outside: its calls need no turn.
func (w *world) process(f fault, quiet bool) *process {
	p := &process{number: len(w.processes), fault: f, quiet: quiet}
	w.processes = append(w.processes, p)
	return p
}

// at returns the path of something as the process sees it.
func (p *process) at(name string) string { return "/sim/" + strconv.Itoa(p.number) + name }

// resolve returns the process that a path belongs to, and the path on the disk of the world.
func (w *world) resolve(name string) (*process, string, error) {
	rest, ok := strings.CutPrefix(path.Clean(name), "/sim/")
	number, rest, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil, "", syscall.ENOSPC // no other disk has room
	}
	return w.processes[n], "/" + rest, nil
}

// wake tells the scheduler that something has changed.
func (w *world) wake() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// schedule gives turns, by the seed, until done says that no process is at work.
func (w *world) schedule(done func() bool) {
	for {
		synctest.Wait()
		w.mu.Lock()
		if len(w.waiting) == 0 {
			w.mu.Unlock()
			if done() {
				return
			}
			<-w.arrived // or time passes
			continue
		}
		if w.visitAt--; w.visitAt < 0 && w.visit != nil {
			w.visit()
			w.visit = nil
		}
		slices.SortStableFunc(w.waiting, func(a, b *turn) int {
			return cmp.Or(cmp.Compare(a.process.number, b.process.number), strings.Compare(a.key, b.key))
		})
		i := w.rand.IntN(len(w.waiting))
		next := w.waiting[i]
		w.waiting = slices.Delete(w.waiting, i, i+1)
		w.mu.Unlock()
		close(next.mine)
	}
}

// await waits for a turn. What comes after it, up to the next call, nothing else does meanwhile.
func (w *world) await(p *process, what string) {
	key, _, _ := strings.Cut(what, ".tmp-") // behind which names are random
	t := &turn{p, key, make(chan struct{})}
	w.mu.Lock()
	w.waiting = append(w.waiting, t)
	w.mu.Unlock()
	w.wake()
	<-t.mine
}

// before waits for the turn of a process, and fails its call if the process is dead or a fault
// strikes.
func (w *world) before(op *disktest.Operation) error {
	p, at, err := w.resolve(op.Path)
	if err != nil {
		return err
	}
	if !p.quiet {
		w.await(p, op.Name+" "+at)
	}
	return w.strike(p, op)
}

// after counts and notes a call.
func (w *world) after(op *disktest.Operation, err error) {
	p, at, unknown := w.resolve(op.Path)
	if unknown != nil || p.quiet {
		return
	}
	changed := err == nil && (op.Changes || strings.HasPrefix(op.Name, "sync"))
	if changed {
		p.writes++
	}
	if changed || p.faulty() {
		w.trace = append(w.trace, fmt.Sprintf("%d.%d %s %s %v", p.number, p.calls, op.Name, at, err))
	}
}

// faulty reports whether the fault of a process has begun, and not ended.
func (p *process) faulty() bool {
	n := p.calls - 1 - p.fault.at
	return p.dead || p.fault.kind != "" && n >= 0 && n < p.fault.most
}

// strike counts a call, and returns the error that it has in place of what it would do.
func (w *world) strike(p *process, op *disktest.Operation) error {
	if p.dead {
		return disktest.ErrKilled
	}
	p.calls++
	if p.fault.kind == "event" && op.Name == "sync" && path.Base(op.Path) == folder.Ledger {
		if p.fault.at--; p.fault.at == 0 {
			return syscall.EIO
		}
	}
	if p.quiet || !p.faulty() {
		return nil
	}
	part := func() int { return w.rand.IntN(op.Bytes + 1) }
	switch p.fault.kind {
	case "kill":
		if w.rand.IntN(2) == 0 {
			op.Written = part()
		}
		w.kill(p)
		return disktest.ErrKilled
	case "power loss":
		w.losePower()
		return disktest.ErrKilled
	case "error":
		return syscall.EIO
	case "sync":
		if strings.HasPrefix(op.Name, "sync") {
			return syscall.EIO
		}
	case "short":
		if op.Name == "write" {
			op.Written = part()
			return syscall.EIO
		}
	case "full":
		if op.Changes {
			op.Written = part()
			return syscall.ENOSPC
		}
	case "read-only":
		if op.Changes {
			return syscall.EROFS
		}
	}
	return nil
}

// kill ends a process: its locks are free, and nothing that it still calls does anything.
func (w *world) kill(p *process) {
	p.dead = true
	w.Unlock(func(name string) bool { return strings.HasPrefix(name, p.at("/")) })
}

// losePower ends all processes. Of what was not synced, the seed says what is left.
func (w *world) losePower() {
	for _, p := range w.processes {
		p.dead = p.dead || !p.quiet
	}
	var written []disktest.Change
	for _, c := range w.Pending() {
		switch w.rand.IntN(5) {
		case 0, 1: // lost
		case 2: // in part, if it can be
			written = append(written, c.Torn(w.rand.IntN(c.Bytes()+1)))
		default:
			written = append(written, c)
		}
	}
	w.LosePower(written)
	w.losses++
	w.trace = append(w.trace, "power loss")
}
