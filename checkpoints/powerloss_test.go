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
	before        func()          // called before every change and every sync
	blindSync     bool            // a broken twin: syncs of files do nothing
	blindSyncDir  bool            // a broken twin: syncs of directories do nothing
	failSync      bool            // syncs of files fail, and what was to be synced counts as written from then on
	dirs          map[string]bool // that were there before, durably
}

type lossyInode struct {
	durable, live []byte
	locked        bool
	isDir         bool
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
		if !d.reaches(names, filepath.Dir(name)) {
			continue // what lies in a folder is lost with its name
		}
		inode := &lossyInode{durable: content(i), live: content(i), isDir: i.isDir}
		s.durable[name], s.live[name] = inode, inode
	}
	return s
}

// reaches reports whether a folder is there, with all above it, if the file system has these names.
func (d *lossyDisk) reaches(names map[string]*lossyInode, dir string) bool {
	for ; dir != "."; dir = filepath.Dir(dir) {
		if !d.dirs[dir] && (names[dir] == nil || !names[dir].isDir) {
			return false
		}
	}
	return true
}

func (d *lossyDisk) OpenFile(name string, flag int, _ fs.FileMode) (file, error) {
	inode := d.live[name]
	switch {
	case inode == nil && (flag&os.O_CREATE == 0 || !d.reaches(d.live, filepath.Dir(name))):
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

func (d *lossyDisk) Link(oldName, newName string) error {
	d.change(lossyChange{dir: filepath.Dir(newName), names: map[string]*lossyInode{newName: d.live[oldName]}})
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
	if inode := d.live[name]; inode != nil && inode.isDir {
		return lossyInfo{name: name, mode: fs.ModeDir}, nil
	} else if inode != nil {
		return lossyInfo{name: name, inode: inode}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

func (d *lossyDisk) Stat(name string) (fs.FileInfo, error) { return d.Lstat(name) }
func (d *lossyDisk) SameFile(a, b fs.FileInfo) bool {
	return a.(lossyInfo).inode == b.(lossyInfo).inode
}
func (d *lossyDisk) Mkdir(name string, _ fs.FileMode) error {
	if _, err := d.Lstat(name); err == nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	d.change(lossyChange{dir: filepath.Dir(name), names: map[string]*lossyInode{name: {isDir: true}}})
	return nil
}

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
	if f.disk.failSync {
		f.disk.pending = slices.DeleteFunc(f.disk.pending, func(c lossyChange) bool { return c.inode == f.inode })
		return errors.New("the disk is not there")
	}
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

// aRun is a run on a lossy disk with its folders.
func aRun(together func(a, b func() error) error, mostLost int) (*crashRun, *lossyDisk) {
	dir := filepath.Join("runs", "one")
	d := newLossyDisk("runs", dir, filepath.Join(dir, "checkpoints"))
	return &crashRun{files: d, dir: dir, saved: -1, mostLost: mostLost, together: together}, d
}

// losePower trains a run on a lossy disk, with a power loss at every moment, and checks everything
// that each may leave. It returns the number of contents that were checked and what was wrong with
// them.
func losePower(run *crashRun, d *lossyDisk, steps, saveEvery int) (states int, violations []error) {
	d.before = func() {
		for _, after := range d.afterPowerLoss() {
			states++
			if err := run.check(after); err != nil {
				violations = append(violations, err)
			}
		}
	}
	step := must(run.resume())
	must(0, run.train(step, step+steps, saveEvery))
	return states, violations
}

// With a power loss before every single change and sync, and from each of the contents it may
// leave, the run resumes without having forgotten anything. With a checkpoint after every step,
// each durable before the next event is written, that costs one step at most.
func TestPowerLoss(t *testing.T) {
	for _, test := range []struct {
		together                           func(a, b func() error) error
		steps, saveEvery, mostLost, states int
	}{
		{nil, 50, 5, 0, 500}, {nil, 20, 1, 1, 200}, {orders["the run first"], 10, 0, 0, 100}, {orders["its data first"], 10, 0, 0, 100},
	} {
		run, d := aRun(test.together, test.mostLost)
		states, violations := losePower(run, d, test.steps, test.saveEvery)
		for _, err := range violations[:min(len(violations), 5)] {
			t.Errorf("%d steps: %v", test.steps, err)
		}
		if states < test.states {
			t.Errorf("%d steps: %d states were checked, expected more", test.steps, states)
		}
	}
}

// The test can fail: without syncs of files, or of directories, and with a checkpoint after every
// other step where one step may be lost, it finds violations.
func TestPowerLossFindsViolations(t *testing.T) {
	for name, broken := range map[string]struct {
		together                   func(a, b func() error) error
		steps, saveEvery, mostLost int
		blindSync, blindSyncDir    bool
	}{
		"no sync of files":                {nil, 3, 2, 0, true, false},
		"no sync of directories":          {nil, 3, 2, 0, false, true},
		"no sync of directories, a step":  {nil, 3, 1, 1, false, true},
		"too few checkpoints":             {nil, 20, 2, 1, false, false},
		"two ledgers, no sync of files":   {inOrder, 1, 0, 0, true, false},
		"two ledgers, none of their name": {inOrder, 1, 0, 0, false, true},
	} {
		run, d := aRun(broken.together, broken.mostLost)
		d.blindSync, d.blindSyncDir = broken.blindSync, broken.blindSyncDir
		if _, violations := losePower(run, d, broken.steps, broken.saveEvery); len(violations) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// A line whose sync failed is in the file, for as long as the system runs: it counts, and the next
// append makes it durable. Linux would not: after a failed sync it takes the line for written.
func TestLineIsWrittenAgainAfterAFailedSync(t *testing.T) {
	d := newLossyDisk("one")
	path := filepath.Join("one", "ledger.jsonl")
	j := must(createJournal(d, path, ""))
	must(0, j.Append(1, event(1.1)))
	d.failSync = true
	wantError(t, j.Append(2, event(1.1)), ErrJournalFailed)
	d.failSync = false
	must(0, j.Close())
	again := must(openJournal(d, path))
	must(0, again.Append(3, event(1.1)))
	for _, after := range d.afterPowerLoss() {
		found, err := openJournal(after, path)
		if err != nil || found.Len() != 3 {
			t.Errorf("found error %v after a power loss, expected all 3 entries", err)
		}
	}
}

// A run is not lost with the names of the folders that were made for it, as it would be if that of
// all runs had no sync. (Whoever creates a ledger syncs the name of the folder that it lies in, too.)
func TestPowerLossOfNewFolders(t *testing.T) {
	blind := func(files fileSystem, dir string) error { return files.Mkdir(dir, dirPerm) }
	for name, test := range map[string]struct {
		parent, own func(files fileSystem, dir string) error
		lost        bool // a run without a ledger of its data
	}{
		"both are synced": {makeDir, newDir, false},
		"the run's alone": {blind, newDir, true},
		"that of all":     {makeDir, blind, false},
	} {
		for order, together := range map[string]func(a, b func() error) error{"alone": nil, "first": inOrder, "last": orders["its data first"]} {
			d := newLossyDisk("here")
			run := &crashRun{files: d, dir: filepath.Join("here", "new", "runs", "one"), saved: -1, together: together}
			must(0, makeDir(d, filepath.Join("here", "new")))
			must(0, errors.Join(test.parent(d, filepath.Dir(run.dir)), test.own(d, run.dir)))
			if _, violations := losePower(run, d, 2, 0); (len(violations) > 0) != (test.lost && together == nil) {
				t.Errorf("%s, %s: found %d violations, expected some: %v", name, order, len(violations), test.lost && together == nil)
			}
		}
	}
}

// A second power loss while the run recovers from the first one, wherever that cut it off, and
// makes again what it cost: each costs one step at most.
func TestSecondPowerLoss(t *testing.T) {
	for name, test := range map[string]struct {
		together                          func(a, b func() error) error
		steps, saveEvery, again, mostLost int
		stride                            int // of the contents that are gone on with
	}{
		"recovery":       {nil, 6, 3, 1, 0, 1},
		"a step is lost": {nil, 4, 1, 2, 2, 3},
		"the run first":  {orders["the run first"], 2, 0, 1, 0, 3},
		"its data first": {orders["its data first"], 2, 0, 1, 0, 3},
	} {
		run, first := aRun(test.together, 0)
		first.before = func() {
			for i, second := range first.afterPowerLoss() {
				if i%test.stride != 0 && !slow.Asked() {
					continue
				}
				again := &crashRun{files: second, dir: run.dir, together: test.together, acknowledged: run.acknowledged, saved: run.saved, mostLost: test.mostLost}
				if _, violations := losePower(again, second, test.again, min(test.saveEvery, 1)); len(violations) > 0 {
					t.Fatalf("%s: %v", name, violations[0])
				}
			}
		}
		step := must(run.resume())
		must(0, run.train(step, test.steps, test.saveEvery))
	}
}
