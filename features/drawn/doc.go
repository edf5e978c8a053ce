// Package drawn draws pictures from a seed: material that statistics, dictionaries of patches and
// principal directions can be learnt from without anybody's data, so that they are public.
//
//   - Leaves are dead leaves: discs, rectangles and triangles of all sizes that cover one another,
//     some with gratings, on a ground of coloured noise. They have edges, textures and correlations
//     at many scales, as photographs do (Lee, Mumford, Huang, "Occlusion Models for Natural
//     Images", IJCV 41, 2001; that features learnt from them carry over to photographs: Baradad et
//     al., "Learning to See by Looking at Noise", NeurIPS 2021).
//   - Silhouettes are grey leaves inside a smooth blob, on black, as things on an empty ground.
//   - Strokes are up to three thick curves, as handwriting.
//
// What is drawn is a function of kind, shape, seed and [Version] alone, picture i also of i: the
// first pictures of a large set are those of a small one. It does not depend on the number of
// threads. Processors that fuse multiplications with additions may differ from others in the last
// bits of some pixels.
//
// The package reads no data, and stands below the packages that do.
package drawn
