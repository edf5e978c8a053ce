// Package store keeps computed rows in a file, so that runs on the same pictures compute them once.
//
// A file belongs to a fingerprint, the caller's hash of everything that the rows follow from: how
// they are computed, and of which data. [Open] returns rows only from a whole file of the same
// fingerprint; anything else is an error that says why, and a reason to compute them again.
//
// # What a file is
//
//	"dpsgd computed rows 1\n"
//	length of the header, 4 bytes
//	header, JSON: fingerprint, rows, columns, classes
//	labels, a byte for each row
//	checksum of all of that, 4 bytes
//	for every piece of rows: their values, 2 bytes each, and a checksum, 4 bytes
//
// Numbers are little-endian, values binary16, and a piece is as many rows as fit a mebibyte, but one
// at least. A checksum is the CRC-32C; that of a piece goes on from the one before it all and the
// number of the piece, so that pieces cannot change places or files. They tell of damage, not of
// forgery: who may write the file could as well write the pictures.
//
// # Privacy
//
// Rows computed of private pictures are as private as these. A file is made with permissions 0600,
// and nothing but the path, sizes and the fingerprint shows in an error.
package store
