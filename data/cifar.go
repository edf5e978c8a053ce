package data

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dpsgd/internal/kernel"
)

// One record of CIFAR's binary versions, after https://www.cs.toronto.edu/~kriz/cifar.html: the
// label, of CIFAR-100 after that of a coarser kind, then 1,024 red, 1,024 green and 1,024 blue
// bytes, each plane in row-major order.
var cifarShape = Shape{Height: 32, Width: 32, Channels: 3}

const cifarPlane = 32 * 32

// parseCIFAR copies the labels and pixels of records, each of which begins with so many labels, to
// labels and pixels. It keeps the last label of a record, and turns planes (CHW) into interleaved
// channels (HWC).
func parseCIFAR(labels, pixels, records []byte, each int) {
	size := each + 3*cifarPlane
	for i := range labels {
		record, picture := records[i*size:(i+1)*size], pixels[i*3*cifarPlane:(i+1)*3*cifarPlane]
		labels[i] = record[each-1]
		planes := record[each:]
		red, green, blue := planes[:cifarPlane], planes[cifarPlane:][:cifarPlane], planes[2*cifarPlane:]
		for j := range red {
			pixel := picture[3*j : 3*j+3 : 3*j+3]
			pixel[0], pixel[1], pixel[2] = red[j], green[j], blue[j]
		}
	}
}

// cifarFiles are the files of a set in CIFAR's "binary version". They lie in a folder: packed in an
// archive, or unpacked beside the archive.
type cifarFiles struct {
	archive string   // file name
	folder  string   // of the members
	members []File   // the last one is the test set
	labels  int      // of a record
	others  []string // files of the archive to pass over
}

// starts returns the number of the first picture of each member and, behind them, of all pictures.
func (s *cifarFiles) starts() []int {
	starts := []int{0}
	for i, m := range s.members {
		starts = append(starts, starts[i]+int(m.Size)/(s.labels+3*cifarPlane))
	}
	return starts
}

// load reads the set from the unpacked members in folder or, if one is missing, from the archive.
func (s *cifarFiles) load(set *Dataset, folder string, _ uint64) (*Split, error) {
	archive := filepath.Join(folder, s.archive)
	starts := s.starts()
	n := starts[len(s.members)]
	labels, pixels := make([]byte, n), make([]byte, n*3*cifarPlane)
	put := func(i int, content []byte) error { // members write disjoint parts
		parseCIFAR(labels[starts[i]:starts[i+1]], pixels[starts[i]*3*cifarPlane:], content, s.labels)
		return nil
	}
	err := s.readMembers(filepath.Join(folder, s.folder), put)
	if errors.Is(err, ErrMissing) {
		err = s.readArchive(set.Name, archive, put)
	}
	if errors.Is(err, ErrMissing) {
		return nil, missing(set.Name, archive)
	}
	if err != nil {
		return nil, err
	}
	bounds := [3]int{0, starts[len(s.members)-1], n}
	return splitOf(set.Name, func(part int) (*Images, error) {
		from, to := bounds[part], bounds[part+1]
		return NewImages(set.Shape, set.Classes, labels[from:to], pixels[from*3*cifarPlane:to*3*cifarPlane])
	})
}

// take is a function for the verified content of member i. Several goroutines call it at once.
type take func(i int, content []byte) error

// verified calls put with the content of member i. It fails, naming what, if its checksum is wrong.
func (s *cifarFiles) verified(i int, what string, content []byte, put take) error {
	if err := verify(content, what, s.members[i].SHA256); err != nil {
		return err
	}
	return put(i, content)
}

// readMembers calls put with the content of each unpacked member in folder.
func (s *cifarFiles) readMembers(folder string, put take) error {
	return kernel.Each(len(s.members), func(i int) error {
		name := filepath.Join(folder, s.members[i].Name)
		f, err := OpenFile(name)
		if err != nil {
			return err
		}
		defer f.Close()
		content, err := readExactly(f, name, s.members[i].Size)
		if err != nil {
			return err
		}
		return s.verified(i, name, content, put)
	})
}

// readArchive calls put with the content of each member in the archive of the given name. Each must
// be there once, as a regular file. It passes over their folder and s.others; anything
// else in the archive is an error.
func (s *cifarFiles) readArchive(set, name string, put take) error {
	f, err := OpenFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, err := unpacking(f)
	if err != nil {
		return err
	}
	entries := tar.NewReader(unpacked)
	seen := make([]bool, len(s.members))
	failed := make([]error, len(s.members))
	var group sync.WaitGroup // unpacking is serial; the work on members goes beside it
	defer group.Wait()
	for {
		header, err := entries.Next()
		if err == io.EOF {
			break
		}
		i := -1
		if err == nil {
			i, err = s.member(set, header)
		}
		if err != nil {
			return fmt.Errorf("data: %w: archive %s: %w", ErrInvalid, name, err)
		}
		if i < 0 {
			continue
		}
		if seen[i] {
			return fmt.Errorf("data: %w: archive %s holds %s twice", ErrInvalid, name, header.Name)
		}
		seen[i] = true
		what := name + ": " + s.members[i].Name
		content, err := readExactly(entries, what, s.members[i].Size)
		if err != nil {
			return err
		}
		group.Go(func() { failed[i] = s.verified(i, what, content, put) })
	}
	if i := slices.Index(seen, false); i >= 0 {
		return fmt.Errorf("data: %w: archive %s does not hold %s", ErrInvalid, name, path.Join(s.folder, s.members[i].Name))
	}
	group.Wait()
	return cmp.Or(failed...)
}

// member returns the index of the member that an archive entry is, −1 for an entry to pass over, or
// an error for an entry that does not belong there.
func (s *cifarFiles) member(set string, h *tar.Header) (int, error) {
	const small = 1 << 16 // bytes of an entry that is passed over
	if h.Typeflag == tar.TypeDir && path.Clean(h.Name) == s.folder {
		return -1, nil
	}
	if h.Typeflag != tar.TypeReg {
		return 0, fmt.Errorf("entry %q is of type %q, expected regular files", h.Name, h.Typeflag)
	}
	for i, f := range s.members {
		if h.Name == path.Join(s.folder, f.Name) {
			return i, nil
		}
	}
	for _, other := range s.others {
		if h.Name == path.Join(s.folder, other) && h.Size <= small {
			return -1, nil
		}
	}
	return 0, fmt.Errorf("entry %q of %d bytes is not a part of %s", h.Name, h.Size, set)
}

// unpack verifies an archive's members and writes each into their folder, whole or not at all.
func (s *cifarFiles) unpack(set *Dataset, archive string, root *os.Root) error {
	if err := root.Mkdir(s.folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("data: %w", err)
	}
	folder, err := root.OpenRoot(s.folder)
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	defer folder.Close()
	return s.readArchive(set.Name, archive, func(i int, content []byte) error {
		return writeWhole(folder, s.members[i].Name, content)
	})
}

// writeWhole writes content to the file name in folder. Afterwards the new content is there whole,
// or the file is as it was, unless the power fails.
func writeWhole(folder *os.Root, name string, content []byte) error {
	part := name + ".part"
	err := folder.Remove(part)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = folder.WriteFile(part, content, 0o644)
	}
	if err == nil {
		err = folder.Rename(part, name)
	}
	if err != nil {
		return fmt.Errorf("data: %s: %w", filepath.Join(folder.Name(), name), err)
	}
	return nil
}

var cifar10 = Dataset{
	Name: "cifar-10", Doc: "animals and vehicles", Aliases: []string{"cifar"},
	Shape:   cifarShape,
	Classes: []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
	Train:   50000, Test: 10000,
	Load: cifar10Files.load, Verified: cifar10Files.members,
	Unpack:  cifar10Files.unpack,
	Files:   []File{{Name: cifar10Files.archive, Size: 170052171}},
	Mirrors: []string{"https://www.cs.toronto.edu/~kriz/"},
}

// The SHA-256 of the published archive is not known to us, so the checksums of its
// members stand for it. Archives that were packed again are welcome on disk.
var cifar10Files = &cifarFiles{
	archive: "cifar-10-binary.tar.gz",
	folder:  "cifar-10-batches-bin",
	labels:  1, others: []string{"batches.meta.txt", "readme.html"},
	members: []File{
		{"data_batch_1.bin", 30730000, "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
		{"data_batch_2.bin", 30730000, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
		{"data_batch_3.bin", 30730000, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
		{"data_batch_4.bin", 30730000, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
		{"data_batch_5.bin", 30730000, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
		{"test_batch.bin", 30730000, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
	},
}

var cifar100 = Dataset{
	Name: "cifar-100", Doc: "things and beings of 100 kinds", Aliases: []string{"cifar100"},
	Shape: cifarShape,
	Classes: strings.Fields(`
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly
camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile
cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp
lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom
oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake
spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor
train trout tulip turtle wardrobe whale willow_tree wolf woman worm`),
	Train: 50000, Test: 10000,
	Load: cifar100Files.load, Verified: cifar100Files.members,
	Unpack:  cifar100Files.unpack,
	Files:   []File{{Name: cifar100Files.archive, Size: 168513733}},
	Mirrors: cifar10.Mirrors,
}

// An independent loader of the set publishes these checksums (torchvision for Ruby).
var cifar100Files = &cifarFiles{
	archive: "cifar-100-binary.tar.gz",
	folder:  "cifar-100-binary",
	labels:  2, others: []string{"coarse_label_names.txt", "fine_label_names.txt"},
	members: []File{
		{"train.bin", 50000 * 3074, "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
		{"test.bin", 10000 * 3074, "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
	},
}
