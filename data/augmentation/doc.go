// Package augmentation makes random views of training pictures.
//
// A [Recipe] says how many views of each picture a step takes, and what is done to them at random.
// The gradients of the views of one example are averaged before they are clipped (De et al.,
// arXiv:2204.13650, section 3.2), so that an example contributes one gradient, however many
// views it has, and the privacy of a step does not change.
//
// # What a view depends on
//
// [Views.Write] is a function of the picture and of (key, step, example, view) alone. The key is
// drawn when training starts and never stored: a run that goes on draws views that are independent
// of the earlier ones, as it does with batches, noise and dropout. Which other examples are in the
// batch, their order, how many are computed at once, and on how many threads, change nothing.
package augmentation
