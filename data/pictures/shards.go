package pictures

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"dpsgd/internal/kernel"
)

// shardName matches the names of tar files with pictures: train.tar, train-000017.tar.
var shardName = regexp.MustCompile(`^(train|test)([-_.].*)?\.tar$`)

// packed matches names of packed tar files, which have to be unpacked up to a picture to read it.
var packed = regexp.MustCompile(`(?i)\.(tgz|tbz2?|txz|tzst|tar\.[a-z0-9]+)$`)

// shards returns the tar files of a part, in byte order of their names. It returns nil if the
// folder has no tar files, and fails if it has those of the other part alone, or class folders too.
func (p Part) shards() ([]string, error) {
	entries, err := readDir(p.Folder, "expected a folder with train and test")
	if err != nil {
		return nil, err
	}
	found, any := []string{}, false
	var folders []string
	for _, e := range entries {
		path := filepath.Join(p.Folder, e.Name())
		mode, _ := follow(path, e)
		name := shardName.FindStringSubmatch(e.Name())
		switch {
		case mode.IsDir() && (e.Name() == "train" || e.Name() == "test"):
			folders = append(folders, path)
			continue
		case mode.IsDir():
			continue
		case packed.MatchString(e.Name()):
			return nil, fmt.Errorf("data: %w: %s is packed, expected a plain .tar, of which any picture can be read alone; pictures are packed already", ErrInvalid, path)
		case name == nil && strings.HasSuffix(e.Name(), ".tar"):
			return nil, fmt.Errorf("data: %w: found the shard %s, expected names that begin with train or test, such as train-000000.tar", ErrInvalid, path)
		case name == nil:
			continue
		}
		any = true
		if name[1] == p.Name {
			found = append(found, path)
		}
	}
	switch {
	case !any:
		return nil, nil
	case len(folders) > 0:
		return nil, fmt.Errorf("data: %w: %s has both tar files and the folder %s, expected one of the two", ErrInvalid, p.Folder, folders[0])
	case len(found) == 0:
		return nil, fmt.Errorf("data: %w: %s has no shard of the part %s, expected %s-….tar", ErrMissing, p.Folder, p.Name, p.Name)
	}
	return found, nil
}

// mostOpen is the most shards that are held open. If there are more, each read opens its shard.
const mostOpen = 512

// shards are pictures in tar files. There may be tens of millions of pictures: with the label in
// [Index], each takes 13 bytes of memory.
type shards struct {
	paths   []string
	stamps  []stamp
	open    []*os.File // nil where there are too many
	firsts  []int      // the number of the first picture of each shard
	offsets []int64    // of each picture in its shard
	sizes   []uint32
}

// listShards returns the index of the pictures in the shards at paths. It reads their headers,
// several shards at a time, and adds the files that it passes over to others.
func (p Part) listShards(paths []string, others Others) (*Index, error) {
	numbers, err := numbersOf(p.Classes)
	if err != nil {
		return nil, err
	}
	lists := make([]*shardList, len(paths))
	err = kernel.Each(len(paths), func(i int) (err error) {
		lists[i], err = listShard(paths[i], numbers, p.Names)
		return err
	})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, l := range lists {
		n += len(l.labels)
	}
	if n == 0 {
		return nil, fmt.Errorf("data: %w: the shards of the part %s in %s hold no picture, expected %s", ErrMissing, p.Name, p.Folder, Extensions())
	}
	x, all := &Index{labels: make([]uint8, 0, n)}, &shards{paths: paths, offsets: make([]int64, 0, n), sizes: make([]uint32, 0, n)}
	for i, l := range lists {
		all.stamps, all.firsts = append(all.stamps, l.stamp), append(all.firsts, len(x.labels))
		x.labels, x.names = append(x.labels, l.labels...), append(x.names, l.names...)
		all.offsets, all.sizes = append(all.offsets, l.offsets...), append(all.sizes, l.sizes...)
		others.Join(l.others)
		lists[i] = nil
	}
	x.places = all
	return x, all.openAll()
}

// openAll opens the shards, unless there are more than mostOpen. The garbage collector closes them.
func (s *shards) openAll() error {
	if len(s.paths) > mostOpen {
		return nil
	}
	for i, path := range s.paths {
		f, err := os.Open(path)
		if err == nil {
			s.open = append(s.open, f)
			err = s.stamps[i].check(f)
		}
		if err != nil {
			return fmt.Errorf("data: %w: shard %s: %w", ErrInvalid, path, err)
		}
	}
	return nil
}

// shard returns the number of the shard that holds picture i.
func (s *shards) shard(i int) int { return sort.SearchInts(s.firsts, i+1) - 1 }

// file returns an open shard and done, to be called after use. It fails if the shard has changed.
func (s *shards) file(shard int) (f *os.File, done func(), err error) {
	done = func() {}
	if s.open != nil {
		f = s.open[shard]
	} else {
		if f, err = os.Open(s.paths[shard]); err != nil {
			return nil, done, err
		}
		done = func() { f.Close() }
	}
	return f, done, s.stamps[shard].check(f)
}

func (s *shards) read(buffer []byte, i int) ([]byte, error) {
	f, done, err := s.file(s.shard(i))
	defer done()
	if err != nil {
		return nil, err
	}
	return readAt(f, buffer, s.offsets[i], int(s.sizes[i]))
}

// where returns member, shard and offset of picture i. The member's name comes from the header, in
// the block before the picture; of a long name that has the first hundred bytes.
func (s *shards) where(i int) string {
	shard, member := s.shard(i), "a picture"
	if f, done, err := s.file(shard); err == nil {
		if header, err := tar.NewReader(io.NewSectionReader(f, s.offsets[i]-blockSize, blockSize)).Next(); err == nil {
			member = header.Name
		}
		done()
	}
	return fmt.Sprintf("%s in shard %s, at byte %d", member, s.paths[shard], s.offsets[i])
}

// numbersOf returns the number of each class by what a .cls file may hold, its name or its number.
// It refuses a name that is the number of another class.
func numbersOf(classes []string) (map[string]uint8, error) {
	numbers := map[string]uint8{}
	for i := range classes {
		numbers[fmt.Sprint(i)] = uint8(i)
	}
	for i, class := range classes {
		if other, taken := numbers[class]; taken && int(other) != i {
			return nil, fmt.Errorf("data: %w: the class %q is declared as number %d, expected names that are no number of another class, because the classes in shards are names or numbers", ErrInvalid, class, i)
		}
		numbers[class] = uint8(i)
	}
	return numbers, nil
}
