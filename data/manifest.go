package data

// Checksums, sizes and mirrors of the published sets. The checksums of the packed
// IDX files and of all unpacked files agree with the md5 or sha1 that the
// authors and independent loaders publish; the SHA-256 were taken from files that
// match those.

// file is something with a known size and content.
type file struct {
	name   string
	size   int64
	sha256 string
}

// idxSet is a set of the MNIST family: four IDX files, packed with gzip.
type idxSet struct {
	name    string
	classes []string
	shape   Shape

	trainImages, trainLabels, testImages, testLabels file

	packed  []file
	mirrors []string // tried in this order; a file name is appended
}

var mnist = idxSet{
	name:        "mnist",
	classes:     []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
	shape:       Shape{28, 28, 1},
	trainImages: file{"train-images-idx3-ubyte", 47040016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
	trainLabels: file{"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
	testImages:  file{"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
	testLabels:  file{"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
	packed: []file{
		{"train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
		{"train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
		{"t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
		{"t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
	},
	mirrors: []string{
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
	},
}

var fashionMNIST = idxSet{
	name:        "fashion-mnist",
	classes:     []string{"t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"},
	shape:       Shape{28, 28, 1},
	trainImages: file{"train-images-idx3-ubyte", 47040016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
	trainLabels: file{"train-labels-idx1-ubyte", 60008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
	testImages:  file{"t10k-images-idx3-ubyte", 7840016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
	testLabels:  file{"t10k-labels-idx1-ubyte", 10008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
	packed: []file{
		{"train-images-idx3-ubyte.gz", 26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
		{"train-labels-idx1-ubyte.gz", 29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
		{"t10k-images-idx3-ubyte.gz", 4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
		{"t10k-labels-idx1-ubyte.gz", 5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
	},
	mirrors: []string{
		// The first offers no TLS; the pinned checksum is what protects the download.
		"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
	},
}

// cifarSet is CIFAR-10 in its "binary version".
type cifarSet struct {
	name    string
	classes []string
	folder  string // of the members, in the archive and beside it
	train   []file
	test    file
	archive string // file name
	size    int64  // of the archive at the mirrors
	mirrors []string
}

// The SHA-256 of the published archive is not known to us, so the checksums of its
// members stand for it. Archives that were packed again are welcome on disk.
var cifar10 = cifarSet{
	name:    "cifar-10",
	classes: []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
	folder:  "cifar-10-batches-bin",
	train: []file{
		{"data_batch_1.bin", 30730000, "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
		{"data_batch_2.bin", 30730000, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
		{"data_batch_3.bin", 30730000, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
		{"data_batch_4.bin", 30730000, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
		{"data_batch_5.bin", 30730000, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
	},
	test:    file{"test_batch.bin", 30730000, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
	archive: "cifar-10-binary.tar.gz",
	size:    170052171,
	mirrors: []string{"https://www.cs.toronto.edu/~kriz/"},
}
