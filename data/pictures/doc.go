// Package pictures reads files of pictures: which formats there are, what else lies beside them, and
// one file as the bytes of a declared size.
package pictures
