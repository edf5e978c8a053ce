package data

import "strings"

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
