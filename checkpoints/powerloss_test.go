package checkpoints

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsgd/internal/slow"
)

// A lossyDisk is a file system in memory that remembers what is not synced yet, so that a test can
// ask which contents a power loss at this moment may leave. The model is that of ALICE (Pillai et
// al., OSDI 2014) on a file system without ordering: every write and truncation of a file that was
// not followed by a sync of the file, and every change of a name that was not followed by a sync of
// the directory, may or may not be there, independently of the others, and the last write may be
// there in part.
type lossyDisk struct {
	durable, live map[string]*lossyInode
	pending       []lossyChange
	before        func() // called before every change and every sync
	blindSync     bool   // a broken twin: syncs of files do nothing
	blindSyncDir  bool   // a broken twin: syncs of directories do nothing
	dirs          map[string]bool
}

type lossyInode struct {
	durable, live []byte
	locked        bool
}

// A lossyChange is one thing that is live but not durable: a write or truncation of an inode, or
// new names.
type lossyChange struct {
	inode  *lossyInode
	data   []byte
	offset int64
	cut    bool // a truncation to offset

	dir   string
	names map[string]*lossyInode // nil removes the name
}

func newLossyDisk(dirs ...string) *lossyDisk {
	d := &lossyDisk{durable: map[string]*lossyInode{}, live: map[string]*lossyInode{}, dirs: map[string]bool{}, before: func() {}}
	for _, dir := range dirs {
		d.dirs[dir] = true
	}
	return d
}

// apply makes the change to a content.
func (c lossyChange) apply(content []byte) []byte {
	if c.cut {
		return slices.Clone(content[:min(int(c.offset), len(content))])
	}
	grown := make([]byte, max(len(content), int(c.offset)+len(c.data)))
	copy(grown, content)
	copy(grown[c.offset:], c.data)
	return grown
}

func (d *lossyDisk) change(c lossyChange) {
	d.before()
	d.pending = append(d.pending, c)
	if c.inode != nil {
		c.inode.live = c.apply(c.inode.live)
		return
	}
	setNames(d.live, c.names)
}

func setNames(names, changes map[string]*lossyInode) {
	for name, inode := range changes {
		if inode == nil {
			delete(names, name)
		} else {
			names[name] = inode
		}
	}
}

// settle makes the pending changes that match durable.
func (d *lossyDisk) settle(match func(lossyChange) bool) {
	d.pending = slices.DeleteFunc(d.pending, func(c lossyChange) bool {
		if !match(c) {
			return false
		}
		if c.inode != nil {
			c.inode.durable = c.apply(c.inode.durable)
		} else {
			setNames(d.durable, c.names)
		}
		return true
	})
}

// maxPending bounds the subsets that are tried; the code under test never has more than this
// pending.
const maxPending = 8

// afterPowerLoss returns every file system that a power loss at this moment may leave.
func (d *lossyDisk) afterPowerLoss() []*lossyDisk {
	if len(d.pending) > maxPending {
		panic(fmt.Sprintf("%d changes are pending", len(d.pending)))
	}
	var states []*lossyDisk
	for subset := range 1 << len(d.pending) {
		var chosen []lossyChange
		for i, c := range d.pending {
			if subset>>i&1 == 1 {
				chosen = append(chosen, c)
			}
		}
		states = append(states, d.state(chosen))
		if n := len(chosen); n > 0 && len(chosen[n-1].data) > 1 {
			for _, part := range []int{1, len(chosen[n-1].data) / 2, len(chosen[n-1].data) - 1} {
				torn := slices.Clone(chosen)
				torn[n-1].data = torn[n-1].data[:part]
				states = append(states, d.state(torn))
			}
		}
	}
	return states
}

// state returns a file system of the durable contents and some changes, everything in it durable.
func (d *lossyDisk) state(changes []lossyChange) *lossyDisk {
	s := newLossyDisk()
	s.dirs = d.dirs
	names := map[string]*lossyInode{}
	setNames(names, d.durable)
	contents := map[*lossyInode][]byte{}
	content := func(i *lossyInode) []byte {
		if b, ok := contents[i]; ok {
			return b
		}
		return i.durable
	}
	for _, c := range changes {
		if c.inode != nil {
			contents[c.inode] = c.apply(content(c.inode))
		} else {
			setNames(names, c.names)
		}
	}
	for name, i := range names {
		inode := &lossyInode{durable: content(i), live: content(i)}
		s.durable[name], s.live[name] = inode, inode
	}
	return s
}

func (d *lossyDisk) OpenFile(name string, flag int, _ fs.FileMode) (file, error) {
	inode := d.live[name]
	switch {
	case inode == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case inode != nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case inode == nil:
		inode = &lossyInode{}
		d.change(lossyChange{dir: filepath.Dir(name), names: map[string]*lossyInode{name: inode}})
	}
	return &lossyFile{disk: d, inode: inode}, nil
}

func (d *lossyDisk) Rename(oldName, newName string) error {
	d.change(lossyChange{dir: filepath.Dir(newName), names: map[string]*lossyInode{oldName: nil, newName: d.live[oldName]}})
	return nil
}

func (d *lossyDisk) Remove(name string) error {
	d.change(lossyChange{dir: filepath.Dir(name), names: map[string]*lossyInode{name: nil}})
	return nil
}

func (d *lossyDisk) SyncDir(name string) error {
	d.before()
	if !d.blindSyncDir {
		d.settle(func(c lossyChange) bool { return c.inode == nil && c.dir == name })
	}
	return nil
}

func (d *lossyDisk) Lstat(name string) (fs.FileInfo, error) {
	if d.dirs[name] {
		return lossyInfo{name: name, mode: fs.ModeDir}, nil
	}
	if inode := d.live[name]; inode != nil {
		return lossyInfo{name: name, inode: inode}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

func (d *lossyDisk) Stat(name string) (fs.FileInfo, error) { return d.Lstat(name) }
func (d *lossyDisk) SameFile(a, b fs.FileInfo) bool {
	return a.(lossyInfo).inode == b.(lossyInfo).inode
}
func (d *lossyDisk) Mkdir(string, fs.FileMode) error { return errors.New("the directories exist") }

func (d *lossyDisk) ReadDir(dir string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	for name, inode := range d.live {
		if filepath.Dir(name) == dir {
			entries = append(entries, fs.FileInfoToDirEntry(lossyInfo{name: name, inode: inode}))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

type lossyFile struct {
	disk  *lossyDisk
	inode *lossyInode
	holds bool // the lock
}

func (f *lossyFile) ReadAt(b []byte, offset int64) (int, error) {
	if offset >= int64(len(f.inode.live)) {
		return 0, io.EOF
	}
	n := copy(b, f.inode.live[offset:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *lossyFile) WriteAt(b []byte, offset int64) (int, error) {
	f.disk.change(lossyChange{inode: f.inode, data: slices.Clone(b), offset: offset})
	return len(b), nil
}

func (f *lossyFile) Truncate(size int64) error {
	f.disk.change(lossyChange{inode: f.inode, offset: size, cut: true})
	return nil
}

func (f *lossyFile) Sync() error {
	f.disk.before()
	if !f.disk.blindSync {
		f.disk.settle(func(c lossyChange) bool { return c.inode == f.inode })
	}
	return nil
}

func (f *lossyFile) Stat() (fs.FileInfo, error) { return lossyInfo{inode: f.inode}, nil }

func (f *lossyFile) Lock() error {
	if f.inode.locked {
		return ErrLocked
	}
	f.inode.locked, f.holds = true, true
	return nil
}

func (f *lossyFile) Unlock() error {
	f.inode.locked, f.holds = false, false
	return nil
}

func (f *lossyFile) Close() error {
	if f.holds {
		f.inode.locked = false
	}
	return nil
}

type lossyInfo struct {
	name  string
	mode  fs.FileMode
	inode *lossyInode
}

func (i lossyInfo) Name() string       { return filepath.Base(i.name) }
func (i lossyInfo) Mode() fs.FileMode  { return i.mode }
func (i lossyInfo) IsDir() bool        { return i.mode.IsDir() }
func (i lossyInfo) ModTime() time.Time { return time.Time{} }
func (i lossyInfo) Sys() any           { return nil }
func (i lossyInfo) Size() int64 {
	if i.inode == nil {
		return 0
	}
	return int64(len(i.inode.live))
}

var (
	_ fileSystem = (*lossyDisk)(nil)
	_ file       = (*lossyFile)(nil)
)

// losePower trains a run on a lossy disk, with a power loss at every moment, and checks everything
// that each may leave. It returns the number of contents that were checked and what was wrong with
// them.
func losePower(d *lossyDisk, steps, saveEvery, mostLost int) (states int, violations []error) {
	run := &crashRun{files: d, dir: "run", saved: -1, mostLost: mostLost}
	d.before = func() {
		for _, after := range d.afterPowerLoss() {
			states++
			if err := run.check(after); err != nil {
				violations = append(violations, err)
			}
		}
	}
	step := must(run.resume())
	must(0, run.train(step, steps, saveEvery))
	return states, violations
}

func runDirs() []string { return []string{"run", filepath.Join("run", "checkpoints")} }

// 50 updates and 10 checkpoints, with a power loss before every single change and sync, and from
// each of the contents it may leave the run resumes without having forgotten anything.
func TestPowerLoss(t *testing.T) {
	states, violations := losePower(newLossyDisk(runDirs()...), 50, 5, 0)
	for _, err := range violations[:min(len(violations), 5)] {
		t.Error(err)
	}
	if states < 500 {
		t.Errorf("%d states were checked, expected more", states)
	}
	t.Logf("%d states, %d violations", states, len(violations))
}

// With a checkpoint after every step, each durable before the next event is written, a power loss at
// any moment costs one step at most.
func TestPowerLossCostsOneStep(t *testing.T) {
	states, violations := losePower(newLossyDisk(runDirs()...), 20, 1, 1)
	for _, err := range violations[:min(len(violations), 5)] {
		t.Error(err)
	}
	t.Logf("%d states, %d violations", states, len(violations))

	// The test can fail: a checkpoint after every other step, or one that is not synced, costs more.
	if _, violations := losePower(newLossyDisk(runDirs()...), 20, 2, 1); len(violations) == 0 {
		t.Error("with a checkpoint after every other step nothing was found")
	}
	unsynced := newLossyDisk(runDirs()...)
	unsynced.blindSyncDir = true
	if _, violations := losePower(unsynced, 3, 1, 1); len(violations) == 0 {
		t.Error("without syncs of directories nothing was found")
	}
}

// Two power losses, the second one while the run makes again what the first one cost: each costs one
// step at most.
func TestSecondPowerLossCostsOneStep(t *testing.T) {
	states := 0
	first := newLossyDisk(runDirs()...)
	run := &crashRun{files: first, dir: "run", saved: -1}
	first.before = func() {
		for i, second := range first.afterPowerLoss() {
			if i%3 != 0 && !slow.Asked() {
				continue
			}
			again := &crashRun{files: second, dir: "run", acknowledged: run.acknowledged, saved: run.saved, mostLost: 2}
			second.before = func() {
				for _, after := range second.afterPowerLoss() {
					states++
					if err := again.check(after); err != nil {
						t.Fatal(err)
					}
				}
			}
			step := must(again.resume())
			must(0, again.train(step, step+2, 1))
		}
	}
	step := must(run.resume())
	must(0, run.train(step, 4, 1))
	t.Logf("%d states", states)
}

// A power loss while a run recovers from an earlier one: wherever the first run was cut off.
func TestPowerLossDuringRecovery(t *testing.T) {
	states := 0
	first := newLossyDisk(runDirs()...)
	run := &crashRun{files: first, dir: "run", saved: -1}
	first.before = func() {
		for _, second := range first.afterPowerLoss() {
			again := &crashRun{files: second, dir: "run", acknowledged: run.acknowledged, saved: run.saved}
			second.before = func() {
				for _, after := range second.afterPowerLoss() {
					states++
					if err := again.check(after); err != nil {
						t.Fatal(err)
					}
				}
			}
			step := must(again.resume())
			must(0, again.train(step, step+1, 1))
		}
	}
	step := must(run.resume())
	must(0, run.train(step, 6, 3))
	t.Logf("%d states", states)
}

// The test can fail: without syncs of files, or of directories, it finds violations.
func TestPowerLossFindsMissingSyncs(t *testing.T) {
	for name, break_ := range map[string]func(*lossyDisk){
		"file":      func(d *lossyDisk) { d.blindSync = true },
		"directory": func(d *lossyDisk) { d.blindSyncDir = true },
	} {
		d := newLossyDisk(runDirs()...)
		break_(d)
		if _, violations := losePower(d, 3, 2, 0); len(violations) == 0 {
			t.Errorf("without syncs of the %s nothing was found", name)
		}
	}
}
