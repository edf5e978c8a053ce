// Package data holds labelled pictures in memory and hands them to a training
// step: by index, drawn by Poisson sampling, normalised with public constants.
//
// # Where pictures come from
//
// [Load] reads one of four kinds of set, named by a [Spec]:
//
//   - "digits": 28×28 grey digits that the program draws itself, from a seed.
//     They need no file and no network.
//   - "mnist" and "fashion-mnist": IDX files, packed with gzip or plain.
//   - "cifar-10": the "binary version", as the packed archive or unpacked.
//   - a folder of a person's own pictures (Spec.Folder).
//
// The named sets are the published ones and nothing else: structure, sizes,
// labels and the SHA-256 of every unpacked file are checked at each start.
// [Fetch] downloads them. Without Spec.Dir the files are looked for in
// [DefaultDir]:
//
//	<dir>/mnist/train-images-idx3-ubyte.gz          (and three more; or without .gz)
//	<dir>/fashion-mnist/train-images-idx3-ubyte.gz  (and three more; or without .gz)
//	<dir>/cifar-10/cifar-10-binary.tar.gz           (or cifar-10-batches-bin/*.bin)
//
// # What stays public
//
// Nothing that leaves this package is computed from the pictures: class names,
// size and channels are declared by the caller or fixed by the named set,
// [Normalisation] holds constants from the configuration, and a label that was
// not declared is an error at reading, never a new class. The number of
// pictures and the members of a batch are secrets of the training set: they
// are arguments and results here, never part of a message about training.
//
// # How batches are drawn
//
// [Poisson] is the sampler that the privacy accounting assumes: every record
// joins every batch independently, with the same probability. Its doc comment
// states the guarantee. There is no shuffling, no fixed batch size, no class
// balancing and no weight: each of those would need another accountant.
package data
