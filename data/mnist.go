package data

import (
	"errors"
	"path/filepath"
	"slices"

	"dpsgd/internal/kernel"
)

var mnist = Dataset{
	Name: "mnist", Doc: "handwritten digits",
	Shape: Shape{28, 28, 1}, Classes: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
	Train: 60000, Test: 10000,
	Load: mnistFiles.load, Verified: mnistFiles[:],
	Files: []File{
		{"train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
		{"train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
		{"t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
		{"t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
	},
	Mirrors: []string{
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
	},
}

var mnistFiles = &idxFiles{
	{"train-images-idx3-ubyte", 47040016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
	{"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
	{"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
	{"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}

var fashionMNIST = Dataset{
	Name: "fashion-mnist", Doc: "pieces of clothing", Aliases: []string{"fmnist"},
	Shape:   Shape{28, 28, 1},
	Classes: []string{"t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"},
	Train:   60000, Test: 10000,
	Load: fashionMNISTFiles.load, Verified: fashionMNISTFiles[:],
	Files: []File{
		{"train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
		{"train-labels-idx1-ubyte.gz", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
		{"t10k-images-idx3-ubyte.gz", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
		{"t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
	},
	Mirrors: []string{
		// The first offers no TLS; the pinned checksum protects the download.
		"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
	},
}

var fashionMNISTFiles = &idxFiles{
	{"train-images-idx3-ubyte", 47040016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
	{"train-labels-idx1-ubyte", 60008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
	{"t10k-images-idx3-ubyte", 7840016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
	{"t10k-labels-idx1-ubyte", 10008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
}

// idxFiles are the four files of a set of the MNIST family, unpacked: pictures and labels to train
// on, pictures and labels to test with. They have the IDX format of
// http://yann.lecun.com/exdb/mnist/: a header, then the values, bytes in row-major order. The
// header is not parsed, because the checksum of the file covers it.
type idxFiles [4]File

// Bytes of a header: two zeros, the type of the values, the number of dimensions, and each in four
// bytes.
const (
	idxImagesHeader = 4 + 3*4 // pictures, rows, columns
	idxLabelsHeader = 4 + 4
)

// load reads and verifies the four files, packed with gzip or plain.
func (s *idxFiles) load(set *Dataset, folder string, _ uint64) (*Split, error) {
	var contents [len(s)][]byte
	err := kernel.Each(len(s), func(i int) (err error) {
		contents[i], err = readPacked(folder, s[i])
		return err
	})
	if errors.Is(err, ErrMissing) {
		first := slices.IndexFunc(contents[:], func(content []byte) bool { return content == nil })
		return nil, missing(set.Name, filepath.Join(folder, s[first].Name+".gz"))
	}
	if err != nil {
		return nil, err
	}
	return splitOf(set.Name, func(part int) (*Images, error) {
		return NewImages(set.Shape, set.Classes, contents[2*part+1][idxLabelsHeader:], contents[2*part][idxImagesHeader:])
	})
}
