// Package encoder computes maps of a small network that was learnt from pictures that a program
// drew, nobody's data, and averages them over a few cells.
//
//	picture ─► black around, mirror image ─► stem, 3 blocks (64, 128, 256 maps) ─► means over 2×2 cells
//
// The network tells drawn pictures apart whatever their colours, crops and holes are. What it
// learnt carries over to photographs, as Baradad et al. found ("Learning to See by Looking at
// Noise", NeurIPS 2021). learn_encoder.py in this folder drew the pictures and learnt the weights,
// which are part of the program: [SHA256]. It also took the patches of [Dictionary] from them.
package encoder
