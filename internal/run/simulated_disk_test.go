package run_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	"dpsgd/internal/disk"
)

// A world is a disk in memory, and the processes that use it one after another or at the same
// time. Every call of a process waits for its turn, and one seed decides whose turn it is, what
// fails, and what a power loss leaves. Processes see the disk below /sim/NUMBER, each below its own.
//
// What is lost follows ALICE (Pillai et al., OSDI 2014), for a file system that keeps no order: a
// write, a truncation or a change of names that was not synced may be there or not, and a write may
// be there in part.
type world struct {
	rand          *rand.Rand
	durable, live map[string]*inode // by path; a folder is an inode, too
	pending       []pendingChange
	processes     []*process
	losses        int // of power

	mu      sync.Mutex
	waiting []*turn
	arrived chan struct{} // of a turn, or of the end of a process
	trace   []string      // of calls that failed or changed something, for who reads a failure

	blindSync, blindSyncDir bool // faults of the disk itself, for twins that are broken
	blindLock               bool
}

type inode struct {
	durable, live []byte
	folder        bool
	lock          *openFile
}

// A pendingChange is live and not durable: new content of an inode, or new names in a folder.
type pendingChange struct {
	inode  *inode
	data   []byte
	offset int64
	cut    bool // to offset bytes

	dir   string
	names map[string]*inode // nil removes the name
}

// A process is one life of a program on the disk of a world.
type process struct {
	world  *world
	number int
	calls  int
	fault  fault
	dead   bool
	writes int // calls that changed something
	quiet  bool
}

// A fault is what goes wrong in the life of a process, from its call number at on.
type fault struct {
	kind string // "" for none
	at   int
	most int // calls that it lasts
}

var faultKinds = []string{"", "", "", "kill", "kill", "power loss", "power loss", "error", "sync", "full", "read-only"}

type turn struct {
	process *process
	key     string
	mine    chan struct{}
}

func newWorld(seed uint64) *world {
	root, here := &inode{folder: true}, &inode{folder: true}
	w := &world{rand: rand.New(rand.NewPCG(seed, 27)), durable: map[string]*inode{"/": root, "/here": here}, arrived: make(chan struct{}, 1)}
	w.live = maps.Clone(w.durable)
	return w
}

var errDead = errors.New("the process is dead")

// process begins a life. A quiet one looks at the disk from outside: its calls need no turn.
func (w *world) process(f fault, quiet bool) *process {
	p := &process{world: w, number: len(w.processes), fault: f, quiet: quiet}
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

// call makes a call of a process at its turn, unless the process is dead or the call fails.
// partly is what a write to a full disk still does; nil for other calls.
func (w *world) call(p *process, what, name string, changes bool, partly func(), f func() error) error {
	if !p.quiet {
		w.await(p, what+" "+name)
	}
	if err := w.strike(p, what, changes, partly); err != nil {
		w.note(p, what, name, err)
		return err
	}
	err := f()
	if (changes || strings.HasPrefix(what, "sync")) && err == nil {
		p.writes++
		w.note(p, what, name, err)
	}
	return err
}

func (w *world) note(p *process, what, name string, err error) {
	if !p.quiet {
		w.trace = append(w.trace, fmt.Sprintf("%d.%d %s %s %v", p.number, p.calls, what, name, err))
	}
}

// strike counts a call, and returns the error that it has in place of what it would do.
func (w *world) strike(p *process, what string, changes bool, partly func()) error {
	if p.dead {
		return errDead
	}
	n := p.calls - p.fault.at
	p.calls++
	if n < 0 || p.quiet || n >= p.fault.most {
		return nil
	}
	switch p.fault.kind {
	case "kill":
		if partly != nil && w.rand.IntN(2) == 0 {
			partly()
		}
		w.kill(p)
		return errDead
	case "power loss":
		w.losePower()
		return errDead
	case "error":
		return syscall.EIO
	case "sync":
		if strings.HasPrefix(what, "sync") {
			return syscall.EIO
		}
	case "full":
		if changes {
			if partly != nil {
				partly()
			}
			return syscall.ENOSPC
		}
	case "read-only":
		if changes {
			return syscall.EROFS
		}
	}
	return nil
}

// kill ends a process: its locks are free, and nothing that it still calls does anything.
func (w *world) kill(p *process) {
	p.dead = true
	for _, i := range w.live {
		if i.lock != nil && i.lock.process == p {
			i.lock = nil
		}
	}
}

// losePower ends all processes. Of what was not synced, the seed says what is left.
func (w *world) losePower() {
	for _, p := range w.processes {
		if !p.quiet {
			p.dead = true
		}
	}
	for _, c := range w.pending {
		switch w.rand.IntN(5) {
		case 0, 1: // lost
		case 2: // in part, if it can be
			c.data = c.data[:w.rand.IntN(len(c.data)+1)]
			fallthrough
		default:
			c.settle(w.durable)
		}
	}
	w.pending, w.live = nil, map[string]*inode{}
	old := w.durable
	w.durable = map[string]*inode{}
	for _, name := range sortedNames(old) { // a folder comes before what it holds
		if i := old[name]; name == "/" || w.live[path.Dir(name)] != nil && w.live[path.Dir(name)].folder {
			i.live, i.lock = i.durable, nil
			w.live[name], w.durable[name] = i, i
		}
	}
	w.losses++
	w.trace = append(w.trace, "power loss")
}

// forget deletes a folder with all that it holds, durably.
func (w *world) forget(dir string) {
	within := func(name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
	for _, names := range []map[string]*inode{w.live, w.durable} {
		maps.DeleteFunc(names, func(name string, _ *inode) bool { return within(name) })
	}
	w.pending = slices.DeleteFunc(w.pending, func(c pendingChange) bool {
		maps.DeleteFunc(c.names, func(name string, _ *inode) bool { return within(name) })
		return c.inode == nil && len(c.names) == 0
	})
	w.trace = append(w.trace, "deleted "+dir)
}

func sortedNames(names map[string]*inode) []string {
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}

// settle makes a change durable.
func (c pendingChange) settle(names map[string]*inode) {
	if c.inode != nil {
		c.inode.durable = c.apply(c.inode.durable)
	}
	c.setNames(names)
}

func (c pendingChange) setNames(names map[string]*inode) {
	for name, i := range c.names {
		if i == nil {
			delete(names, name)
		} else {
			names[name] = i
		}
	}
}

func (c pendingChange) apply(content []byte) []byte {
	if c.cut {
		return slices.Clone(content[:min(int(c.offset), len(content))])
	}
	grown := make([]byte, max(len(content), int(c.offset)+len(c.data)))
	copy(grown, content)
	copy(grown[c.offset:], c.data)
	return grown
}

// change makes a change that a power loss may undo until a sync.
func (w *world) change(c pendingChange) {
	w.pending = append(w.pending, c)
	if c.inode != nil {
		c.inode.live = c.apply(c.inode.live)
	}
	c.setNames(w.live)
}

// sync makes the pending changes that match durable.
func (w *world) sync(match func(pendingChange) bool) {
	w.pending = slices.DeleteFunc(w.pending, func(c pendingChange) bool {
		if match(c) {
			c.settle(w.durable)
			return true
		}
		return false
	})
}

// settled reports whether a power loss would lose nothing.
func (w *world) settled() bool {
	return maps.EqualFunc(w.live, w.durable, func(a, b *inode) bool { return a == b && bytes.Equal(a.live, a.durable) })
}

// durableContent returns what a file holds after any power loss at all; nil where it may be gone.
func (w *world) durableContent(name string) []byte {
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if i := w.durable[dir]; i == nil || !i.folder {
			return nil
		}
	}
	if i := w.durable[name]; i != nil {
		return i.durable
	}
	return nil
}

// The methods of a file system.

func (w *world) OpenFile(name string, flag int, _ fs.FileMode) (opened disk.File, err error) {
	p, at, err := w.resolve(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	err = w.call(p, "open", at, flag&os.O_CREATE != 0 && w.live[at] == nil, nil, func() error {
		i, parent := w.live[at], w.live[path.Dir(at)]
		switch {
		case i == nil && (flag&os.O_CREATE == 0 || parent == nil):
			return fs.ErrNotExist
		case i != nil && flag&os.O_EXCL != 0:
			return fs.ErrExist
		case i == nil:
			i = &inode{}
			w.change(pendingChange{dir: path.Dir(at), names: map[string]*inode{at: i}})
		}
		opened = &openFile{world: w, process: p, inode: i, name: at}
		return nil
	})
	return opened, named("open", name, err)
}

func named(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// do makes a call about a path that may change names.
func (w *world) do(op, name string, changes bool, f func(at string) error) error {
	p, at, err := w.resolve(name)
	if err == nil {
		err = w.call(p, op, at, changes, nil, func() error { return f(at) })
	}
	return named(op, name, err)
}

func (w *world) Lstat(name string) (info fs.FileInfo, err error) {
	err = w.do("stat", name, false, func(at string) error {
		i := w.live[at]
		if i == nil {
			return fs.ErrNotExist
		}
		info = status{path.Base(at), i, int64(len(i.live))}
		return nil
	})
	return info, err
}

func (w *world) Stat(name string) (fs.FileInfo, error) { return w.Lstat(name) }
func (w *world) SameFile(a, b fs.FileInfo) bool        { return a.(status).inode == b.(status).inode }

func (w *world) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = w.do("list", name, false, func(at string) error {
		if i := w.live[at]; i == nil {
			return fs.ErrNotExist
		} else if !i.folder {
			return syscall.ENOTDIR
		}
		for _, below := range sortedNames(w.live) {
			if path.Dir(below) == at && below != "/" {
				entries = append(entries, fs.FileInfoToDirEntry(status{path.Base(below), w.live[below], int64(len(w.live[below].live))}))
			}
		}
		return nil
	})
	return entries, err
}

func (w *world) Mkdir(name string, _ fs.FileMode) error {
	return w.do("mkdir", name, true, func(at string) error {
		switch parent := w.live[path.Dir(at)]; {
		case w.live[at] != nil:
			return fs.ErrExist
		case parent == nil:
			return fs.ErrNotExist
		}
		w.change(pendingChange{dir: path.Dir(at), names: map[string]*inode{at: {folder: true}}})
		return nil
	})
}

// move gives what has the old name the new one, too, and removes the old one where gone says so.
func (w *world) move(op, oldName, newName string, gone bool) error {
	_, to, err := w.resolve(newName)
	if err != nil {
		return named(op, newName, err)
	}
	return w.do(op, oldName, true, func(from string) error {
		i := w.live[from]
		switch {
		case i == nil || w.live[path.Dir(to)] == nil:
			return fs.ErrNotExist
		case !gone && w.live[to] != nil:
			return fs.ErrExist
		}
		names := map[string]*inode{to: i}
		if gone {
			names[from] = nil
		}
		w.change(pendingChange{dir: path.Dir(to), names: names})
		return nil
	})
}

func (w *world) Rename(oldName, newName string) error {
	return w.move("rename", oldName, newName, true)
}
func (w *world) Link(oldName, newName string) error { return w.move("link", oldName, newName, false) }

func (w *world) Remove(name string) error {
	return w.do("remove", name, true, func(at string) error {
		i := w.live[at]
		if i == nil {
			return fs.ErrNotExist
		}
		for below := range w.live {
			if i.folder && strings.HasPrefix(below, at+"/") {
				return syscall.ENOTEMPTY
			}
		}
		w.change(pendingChange{dir: path.Dir(at), names: map[string]*inode{at: nil}})
		return nil
	})
}

func (w *world) SyncDir(name string) error {
	return w.do("sync folder", name, false, func(at string) error {
		if !w.blindSyncDir {
			w.sync(func(c pendingChange) bool { return c.inode == nil && c.dir == at })
		}
		return nil
	})
}

// An openFile is a file that a process has open.
type openFile struct {
	world   *world
	process *process
	inode   *inode
	name    string
}

func (f *openFile) call(op string, changes bool, partly func(), do func() error) error {
	return named(op, f.process.at(f.name), f.world.call(f.process, op, f.name, changes, partly, do))
}

func (f *openFile) ReadAt(b []byte, offset int64) (n int, err error) {
	if f.inode.folder {
		return 0, named("read", f.name, syscall.EISDIR)
	}
	err = f.call("read", false, nil, func() error {
		if offset < int64(len(f.inode.live)) {
			n = copy(b, f.inode.live[offset:])
		}
		return nil
	})
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (f *openFile) WriteAt(b []byte, offset int64) (n int, err error) {
	b = bytes.Clone(b)
	write := func(data []byte) {
		f.world.change(pendingChange{inode: f.inode, data: data, offset: offset})
		n = len(data)
	}
	err = f.call("write", true, func() { write(b[:f.world.rand.IntN(len(b)+1)]) }, func() error { write(b); return nil })
	return n, err
}

func (f *openFile) Truncate(size int64) error {
	return f.call("truncate", true, nil, func() error {
		f.world.change(pendingChange{inode: f.inode, offset: size, cut: true})
		return nil
	})
}

// Sync makes the content durable. After one that failed the system takes it for durable, which it
// is not, as Linux does.
func (f *openFile) Sync() error {
	mine := func(c pendingChange) bool { return c.inode == f.inode }
	err := f.call("sync", false, nil, func() error {
		if !f.world.blindSync {
			f.world.sync(mine)
		}
		return nil
	})
	if err != nil && !f.process.dead {
		f.world.pending = slices.DeleteFunc(f.world.pending, mine)
	}
	return err
}

func (f *openFile) Stat() (info fs.FileInfo, err error) {
	err = f.call("stat", false, nil, func() error {
		info = status{path.Base(f.name), f.inode, int64(len(f.inode.live))}
		return nil
	})
	return info, err
}

func (f *openFile) Lock() error {
	return f.call("lock", false, nil, func() error {
		if f.inode.lock != nil && !f.world.blindLock {
			return disk.ErrLocked
		}
		f.inode.lock = f
		return nil
	})
}

func (f *openFile) Unlock() error {
	return f.call("unlock", false, nil, func() error {
		f.release()
		return nil
	})
}

func (f *openFile) Close() error {
	err := f.call("close", false, nil, func() error { return nil })
	f.release() // also where close reports an error
	return err
}

func (f *openFile) release() {
	if f.inode.lock == f {
		f.inode.lock = nil
	}
}

// A status is what the disk says of an inode.
type status struct {
	name  string
	inode *inode
	size  int64
}

func (s status) Name() string { return s.name }
func (s status) Mode() fs.FileMode {
	if s.inode.folder {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
func (s status) IsDir() bool        { return s.inode.folder }
func (s status) ModTime() time.Time { return time.Time{} }
func (s status) Sys() any           { return nil }
func (s status) Size() int64        { return s.size }
