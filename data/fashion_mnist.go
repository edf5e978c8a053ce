package data

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
