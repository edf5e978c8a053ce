// Package data holds labelled examples: pictures, rows of numbers, texts, or features of pictures
// ([Features]). They lie in memory or, pictures only, in files ([Stored]). A training step gets them
// by index, sampled and normalised with public constants.
//
// # Where examples come from
//
// [Load] reads what a [Spec] names into two of [Set]:
//
//   - a data set that has a name, one of [Datasets]: "digits", drawn from a seed; "mnist" and
//     "fashion-mnist", IDX files packed with gzip or plain; "cifar-10" and "cifar-100", the "binary version", as
//     the packed archive or unpacked.
//   - a folder of a person's own pictures (Spec.Folder), which package pictures lists.
//   - a table of a person's own, train.csv and test.csv (Spec.Table).
//   - vectors of features that another program computed (Spec.Vectors), from files that package
//     vectors reads.
//
// The named sets are the published ones and nothing else: size and SHA-256 of every unpacked file
// are checked whenever they are read. [Fetch] downloads them. Without Spec.Dir the files are looked
// for in [DefaultDir]:
//
//	<dir>/mnist/train-images-idx3-ubyte.gz          (and three more; or without .gz)
//	<dir>/fashion-mnist/train-images-idx3-ubyte.gz  (and three more; or without .gz)
//	<dir>/cifar-10/cifar-10-binary.tar.gz           (or cifar-10-batches-bin/*.bin)
//	<dir>/cifar-100/cifar-100-binary.tar.gz         (or cifar-100-binary/*.bin)
//
// To add one, declare a [Dataset] in a file of its own and put it into the table in dataset.go, or
// [Register] it from another package.
//
// # What stays public
//
// No description of the data is computed from the examples: class names, size, channels and
// columns are declared by the caller or fixed by the named set, [Normalisation] holds constants
// from the configuration, and a label that was not declared is an error at reading, never a new
// class. The number of examples is public. The members of a batch are secret: they are arguments and
// results here, never part of a message. A message about a broken file names the place, never the
// value there.
//
// # How batches are drawn
//
// [Poisson] is the sampler that the privacy accounting assumes, and states its guarantee. There is
// no shuffling, no fixed batch size, no class balancing and no weight: each of those would need
// another accountant.
//
// # How pictures are varied
//
// An [Augmentation] says how many [Views] of each picture a step takes. The gradients of the views
// of one example are averaged before they are clipped (De et al., arXiv:2204.13650, section 3.2),
// so that an example contributes one gradient, however many views it has, and the privacy of a step
// does not change.
//
// [Views.Write] is a function of the picture and of (key, step, example, view) alone. The key is
// drawn when training starts and never stored: a run that goes on draws views that are independent
// of the earlier ones, as it does with batches, noise and dropout.
//
// # How clients get their examples
//
// A [ClientSplit] spreads the examples of a data set over the clients of a federated run: phones,
// hospitals, people, each with examples of its own. A real federation is born with its split. Here
// one is drawn from a public seed, so that a simulation can be repeated, and the skewed one is
// drawn by the labels of the training examples. Both are an artefact of simulating: which example
// belongs to which client counts as given, like the examples themselves, and no guarantee of a run
// covers what the split alone would tell.
package data
