package pictures

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrMissing marks files or folders that are not there.
	ErrMissing = errors.New("missing")

	// ErrInvalid marks data that is there but is not what was declared.
	ErrInvalid = errors.New("invalid")
)

// Index holds the places of the pictures of one part of a data set, and their classes. It is safe
// for concurrent reading.
type Index struct {
	labels  []uint8
	names   []string // of the files; nil where nobody asked for them
	places  places
	buffers sync.Pool // of *[]byte: files as they are read
}

// places are the files of pictures, by their numbers.
type places interface {
	// read returns the bytes of the file of picture i, in the memory of buffer if they fit.
	read(buffer []byte, i int) ([]byte, error)
	// where says for messages which file picture i is.
	where(i int) string
}

// Part is one part of a data set, as [List] looks for it.
type Part struct {
	Folder  string   // of the whole data set
	Name    string   // train or test
	Classes []string // the names of the classes, in the order of their labels
	Names   bool     // whether [Index.Names] shall return the names of the files
}

// List returns the index of a part's pictures, in an order that does not depend on the machine. It
// lists shards if there are any in the folder, or else class folders. Files that it passes over are
// added to others.
func List(p Part, others Others) (*Index, error) {
	shards, err := p.shards()
	if err != nil {
		return nil, err
	}
	if shards != nil {
		return p.listShards(shards, others)
	}
	return p.listClasses(others)
}

// Len returns the number of pictures.
func (x *Index) Len() int { return len(x.labels) }

// Labels returns the classes of the pictures. The caller must not change them.
func (x *Index) Labels() []uint8 { return x.labels }

// Names returns the names of the pictures' files without folders; nil without [Part].Names.
func (x *Index) Names() []string { return x.names }

// Where says for messages which file picture i is, with its folder or shard.
func (x *Index) Where(i int) string { return x.places.where(i) }

// Read decodes picture i into dst, as [Decode] does. dst has exactly height·width·channels bytes.
func (x *Index) Read(dst []uint8, i int, size Size) error {
	buffer, _ := x.buffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	defer x.buffers.Put(buffer)
	file, err := x.places.read((*buffer)[:0], i)
	if err == nil {
		*buffer = file
		err = Decode(bytes.NewReader(file), MaxPixels, size, dst)
	}
	if err != nil {
		return fmt.Errorf("data: %w: picture %s: %w", ErrInvalid, x.Where(i), err)
	}
	return nil
}

// stamp is the size and the time of change of a file when it was listed.
type stamp struct{ size, changed int64 }

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime().UnixNano()} }

// check refuses an open file whose size or time has changed since it was listed: a training example
// must not change between two steps.
func (s stamp) check(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now := stampOf(info); now != s {
		return fmt.Errorf("it has changed since it was listed: found %d bytes of %v, expected %d of %v", now.size, time.Unix(0, now.changed), s.size, time.Unix(0, s.changed))
	}
	return nil
}

// readAt returns size bytes of f at an offset, in the memory of buffer if they fit.
func readAt(f *os.File, buffer []byte, offset int64, size int) ([]byte, error) {
	buffer = slices.Grow(buffer, size)[:size]
	if n, err := f.ReadAt(buffer, offset); n < size {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buffer, nil
}

// checkSize refuses a picture file of more than MaxBytes bytes.
func checkSize(bytes int64) error {
	if bytes > MaxBytes {
		return fmt.Errorf("%d bytes, expected at most %d", bytes, MaxBytes)
	}
	return nil
}

// readDir lists a folder in byte order of the names, without those that begin with a dot.
func readDir(folder, expected string) ([]fs.DirEntry, error) {
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(folder); err == nil {
			return nil, fmt.Errorf("data: %w: %s is a link to nothing (%s)", ErrMissing, folder, expected)
		}
		return nil, fmt.Errorf("data: %w: there is no folder %s (%s)", ErrMissing, folder, expected)
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("data: %w: %s is no folder (%s)", ErrInvalid, folder, expected)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("data: %w: %w", ErrMissing, err)
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }), nil
}

// follow returns the mode of an entry or, of a link, of what the link leads to; a link to nothing
// has its own mode. link is "a link to " for a link that was followed, for messages, and else "".
func follow(path string, e fs.DirEntry) (mode fs.FileMode, link string) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type(), ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return e.Type(), ""
	}
	return info.Mode(), "a link to "
}

// Quoted returns the names in quotes, separated by commas, for messages.
func Quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}

// Cache reads the pictures of an index and keeps those of the lowest numbers in memory, each from
// when it was first asked for. Nothing is ever evicted: with Poisson sampling and with reading one
// after the other, every picture is as likely to be next as any other, so that no rule for evicting
// would find a larger share of them in memory. Cache is safe for concurrent use, and the bytes that
// it hands out depend on the files alone.
type Cache struct {
	index   *Index
	size    Size
	values  int             // of one picture
	pixels  []uint8         // of the pictures that are kept
	state   []atomic.Uint32 // of each of these
	buffers sync.Pool       // of *[]uint8: pictures that are not kept
}

// The states of the memory for one picture.
const (
	empty = iota
	filling
	full
)

// NewCache returns a cache of the pictures of x in this size. It keeps as many as fit into bytes.
func NewCache(x *Index, size Size, bytes int64) *Cache {
	values := size.Height * size.Width * size.Channels
	kept := min(int64(x.Len()), bytes/int64(values))
	return &Cache{
		index: x, size: size, values: values, pixels: make([]uint8, kept*int64(values)), state: make([]atomic.Uint32, kept),
		buffers: sync.Pool{New: func() any { b := make([]uint8, values); return &b }},
	}
}

// View calls use with picture i: height·width·channels bytes in that order, which are valid until
// use returns and must not be changed. View fails if the picture cannot be read.
func (c *Cache) View(i int, use func(pixels []uint8)) error {
	if i < len(c.state) {
		place := c.pixels[i*c.values : (i+1)*c.values : (i+1)*c.values]
		if c.state[i].Load() == full {
			use(place)
			return nil
		}
		if c.state[i].CompareAndSwap(empty, filling) {
			if err := c.index.Read(place, i, c.size); err != nil {
				c.state[i].Store(empty)
				return err
			}
			c.state[i].Store(full)
			use(place)
			return nil
		}
	}
	buffer := c.buffers.Get().(*[]uint8)
	defer c.buffers.Put(buffer)
	if err := c.index.Read(*buffer, i, c.size); err != nil {
		return err
	}
	use(*buffer)
	return nil
}
