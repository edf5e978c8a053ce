// Package patches measures how much each part of a picture looks like small patches of drawn
// pictures: features that nobody's data has shaped.
//
// A filter is a patch of a drawn picture after whitening. Its response at a position of a picture
// is its product with the patch there, which has been given mean 0 and variance 1 and whitened with
// the same matrix; how far responses are above a threshold, and how far below its negative, is
// averaged over the cells of a coarse grid. So Coates and Ng, "The Importance of Encoding Versus
// Training with Sparse Coding and Vector Quantization" (ICML 2011), with random patches as
// dictionary and the soft threshold as encoder. The features of a picture and of its mirror image
// are averaged, so that both have the same. (At scale 2, the mirror image is that of the half, from
// which a last column of an odd width is left out.)
//
// A [Patches] is a function of its options, the drawn pictures and a seed.
//
// # How it is fast
//
// The response of the mirrored picture to a filter is the response of the picture to the mirrored
// filter. A filter w is a part that is even under mirroring and one that is odd, w = e + o, and its
// mirror image e - o: two products of half a patch, with x + mirrored x and x - mirrored x, are
// the responses to both. That is the number of multiplications of one filter.
package patches
