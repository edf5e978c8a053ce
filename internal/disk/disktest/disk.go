// Package disktest is a disk in memory for tests of what a power loss, a kill or a fault leaves.
package disktest

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A Disk is a file system in memory that knows which changes are durable.
//
// The model is that of ALICE (Pillai et al., OSDI 2014) for a file system that keeps no order: a
// write or truncation of a file that no sync of the file followed, and a change of names that no
// sync of the folder followed, may be there after a power loss or not, each independently of the
// others, and a write may be there in part.
//
// One goroutine at a time may use it, unless Before gives others their turn.
type Disk struct {
	// Before is called before each operation. If it returns an error, the operation fails with it,
	// and nothing happens but what op.Written says. It is nil where nothing fails.
	Before func(op *Operation) error
	// After is called after each operation, with its error; nil tells nobody.
	After func(op *Operation, err error)
	// Root returns the path on this disk of a path that a program has; nil where both are the same.
	Root func(path string) (string, error)

	BlindSync, BlindSyncDir, BlindLock bool // faults of the disk: syncs or locks that do nothing

	live, durable map[string]*inode // by path; a folder is an inode, too
	pending       []Change          // in the order in which they were made
}

// An Operation is one call of a program to the disk.
type Operation struct {
	Name    string // open, stat, list, mkdir, rename, link, remove, read, write, truncate, sync, sync folder, lock, unlock or close
	Path    string // as the program has it
	Changes bool   // whether it changes a file or names
	Bytes   int    // of a write
	Written int    // of these, how many are written although the operation fails
}

// ErrKilled is the error of an operation that a dead process does not make: nothing happens at all.
var ErrKilled = errors.New("the process is dead")

type inode struct {
	durable, live []byte
	folder        bool
	lock          *file // that holds it
}

// A Change is live and not durable: of the content of a file, or of names in a folder.
type Change struct {
	inode  *inode
	data   []byte
	offset int64
	cut    bool // to offset bytes

	folder string
	names  map[string]*inode // nil removes the name
}

// New returns a disk with these folders, and nothing else.
func New(folders ...string) *Disk {
	d := &Disk{live: map[string]*inode{}}
	for _, dir := range folders {
		for ; !isTop(dir); dir = filepath.Dir(dir) {
			d.live[dir] = &inode{folder: true}
		}
	}
	d.durable = maps.Clone(d.live)
	return d
}

// isTop reports whether a folder has no name: it is always there.
func isTop(dir string) bool { return filepath.Dir(dir) == dir }

// Bytes returns how many bytes the change writes.
func (c Change) Bytes() int { return len(c.data) }

// Torn returns the change with the first n of its bytes alone.
func (c Change) Torn(n int) Change {
	c.data = c.data[:n]
	return c
}

func (c Change) apply(content []byte) []byte {
	if c.cut {
		return slices.Clone(content[:min(int(c.offset), len(content))])
	}
	grown := make([]byte, max(len(content), int(c.offset)+len(c.data)))
	copy(grown, content)
	copy(grown[c.offset:], c.data)
	return grown
}

func (c Change) name(names map[string]*inode) {
	for name, i := range c.names {
		if i == nil {
			delete(names, name)
		} else {
			names[name] = i
		}
	}
}

// change makes a change that a power loss may undo until a sync.
func (d *Disk) change(c Change) {
	d.pending = append(d.pending, c)
	if c.inode != nil {
		c.inode.live = c.apply(c.inode.live)
	}
	c.name(d.live)
}

// sync makes the pending changes that match durable.
func (d *Disk) sync(match func(Change) bool) {
	d.pending = slices.DeleteFunc(d.pending, func(c Change) bool {
		if !match(c) {
			return false
		}
		if c.inode != nil {
			c.inode.durable = c.apply(c.inode.durable)
		}
		c.name(d.durable)
		return true
	})
}

// Pending returns the changes that a power loss may undo, in the order in which they were made.
func (d *Disk) Pending() []Change { return slices.Clone(d.pending) }

// AfterPowerLoss returns the disk, without its faults, as a power loss leaves it if only these of
// the pending changes were written. Everything on it is durable.
func (d *Disk) AfterPowerLoss(written []Change) *Disk {
	names, contents := maps.Clone(d.durable), map[*inode][]byte{}
	content := func(i *inode) []byte {
		if b, ok := contents[i]; ok {
			return b
		}
		return i.durable
	}
	for _, c := range written {
		if c.inode != nil {
			contents[c.inode] = c.apply(content(c.inode))
		}
		c.name(names)
	}
	after, copies := New(), map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(names)) { // a folder comes before what it holds
		if !after.isFolder(filepath.Dir(name)) {
			continue // it is lost with the name of the folder
		}
		i := names[name]
		if copies[i] == nil {
			copies[i] = &inode{durable: content(i), live: content(i), folder: i.folder}
		}
		after.live[name], after.durable[name] = copies[i], copies[i]
	}
	return after
}

// LosePower leaves what [Disk.AfterPowerLoss] does.
func (d *Disk) LosePower(written []Change) {
	after := d.AfterPowerLoss(written)
	d.live, d.durable, d.pending = after.live, after.durable, nil
}

// Unlock frees the locks of all files that were opened by a path that matches, as the end of a
// process does.
func (d *Disk) Unlock(match func(path string) bool) {
	for _, i := range d.live {
		if i.lock != nil && match(i.lock.path) {
			i.lock = nil
		}
	}
}

// Settled reports whether a power loss would change nothing.
func (d *Disk) Settled() bool {
	return maps.EqualFunc(d.live, d.durable, func(a, b *inode) bool { return a == b && bytes.Equal(a.live, a.durable) })
}

// Names returns the paths of everything on the disk, in their order.
func (d *Disk) Names() []string { return slices.Sorted(maps.Keys(d.live)) }

// Holds reports whether something has that path.
func (d *Disk) Holds(path string) bool { return d.missing(path) == nil }

// Content returns what a file holds; nil where there is none.
func (d *Disk) Content(path string) []byte {
	if i := d.live[path]; i != nil {
		return i.live
	}
	return nil
}

// Durable returns what a file holds after every power loss; nil where it may be gone.
func (d *Disk) Durable(path string) []byte {
	for dir := filepath.Dir(path); !isTop(dir); dir = filepath.Dir(dir) {
		if i := d.durable[dir]; i == nil || !i.folder {
			return nil
		}
	}
	if i := d.durable[path]; i != nil {
		return i.durable
	}
	return nil
}

// Put puts a new file in the place of whatever has that path, durably, as a person may.
func (d *Disk) Put(path string, content []byte) {
	d.Delete(path)
	d.names(path, &inode{durable: content, live: content})
}

// Overwrite gives the file with that path another content, durably, as a person may.
func (d *Disk) Overwrite(path string, content []byte) {
	i := d.live[path]
	i.live, i.durable = content, content
	d.pending = slices.DeleteFunc(d.pending, func(c Change) bool { return c.inode == i })
	d.names(path, i)
}

// Copy copies a folder with all that it holds, durably, as a person may.
func (d *Disk) Copy(from, to string) {
	for _, name := range d.Names() {
		if rest, ok := strings.CutPrefix(name+"/", from+"/"); ok {
			i := d.live[name]
			d.names(filepath.Join(to, rest), &inode{durable: i.live, live: i.live, folder: i.folder})
		}
	}
}

func (d *Disk) names(path string, i *inode) { d.live[path], d.durable[path] = i, i }

// Delete deletes a file, or a folder with all that it holds, durably, as a person may.
func (d *Disk) Delete(path string) {
	gone := func(name string) bool { return name == path || strings.HasPrefix(name, path+"/") }
	for _, names := range []map[string]*inode{d.live, d.durable} {
		maps.DeleteFunc(names, func(name string, _ *inode) bool { return gone(name) })
	}
	d.pending = slices.DeleteFunc(d.pending, func(c Change) bool {
		maps.DeleteFunc(c.names, func(name string, _ *inode) bool { return gone(name) })
		return c.inode == nil && len(c.names) == 0
	})
}

func (d *Disk) isFolder(path string) bool {
	i := d.live[path]
	return isTop(path) || i != nil && i.folder
}
