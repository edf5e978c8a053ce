// Package features computes public features of pictures: fixed functions of one picture each, which
// a small network then learns from privately.
//
// A [Recipe] names a transform of the table [Transforms] and how its results are evened out
// (flattened). Transform and flattening learn only from pictures that the program draws itself
// ([Drawings]), nobody's data: row i of the result is a function of picture i and the recipe alone. So features cost no privacy, and one person's picture
// changes one row.
//
//	pictures ─► transform ─► flattening ─► rows of unit norm, 16 bits a value, kept in a cache
//
// Rows are as private as the pictures they are made of. The cache is readable by its owner alone.
//
// # The file of a cache
//
// A file belongs to a fingerprint: a hash of everything that the rows follow from, how they are
// computed and of which data. Rows are taken only from a whole file of the same fingerprint;
// anything else is a reason to compute them again.
//
//	"dpsgd computed rows 1\n"
//	length of the header, 4 bytes
//	header, JSON: fingerprint, rows, columns, classes
//	labels, a byte for each row
//	checksum of all of that, 4 bytes
//	for every piece of rows: their values, 2 bytes each, and a checksum, 4 bytes
//
// Numbers are little-endian, values binary16, and a piece is as many rows as fit a mebibyte, but
// one at least. Checksums are CRC-32C. That of a piece also covers the checksum before all pieces
// and the number of the piece, so that pieces cannot change places or files. Checksums show damage,
// not forgery: who may write the file could as well write the pictures. Files have permissions
// 0600.
package features
