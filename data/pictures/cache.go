package pictures

import (
	"sync"
	"sync/atomic"
)

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
