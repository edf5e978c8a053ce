package data

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
