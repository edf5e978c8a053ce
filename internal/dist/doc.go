// Package dist turns built programs into what people install: archives, Python wheels, Debian
// packages, a Homebrew formula and the checksums of them all.
//
// Everything is written by the standard library alone, so that any system with Go can make the
// packages of every other one, and the same files at the same version give the same bytes: entries
// are sorted, and the one time in them is that of the commit.
package dist
