// Package features computes public features of pictures: fixed functions of one picture each, which
// a small network then learns from privately.
//
// A [Recipe] names a transform of the table [Transforms] and how its results are evened out. What
// either of them has to learn it learns from pictures that the program draws itself
// ([dpsgd/features/drawn]), nobody's data: row i of the result is a function of picture i, of the
// recipe, and of nothing else. So features cost no privacy, and one person's picture changes one
// row.
//
//	pictures ─► transform ─► flattening ─► rows of unit norm, 16 bits a value, kept in a cache
//
// Rows are as private as the pictures they are made of. The cache is readable by its owner alone.
package features
