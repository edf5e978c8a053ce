//go:build mpi

package mpi

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// longest is at least MPI_MAX_LIBRARY_VERSION_STRING of every library.
const longest = 8192

// call calls a function of the library that returns an MPI error code. What arguments point to is on
// the heap by the line below: stacks of Go move.
//
//go:uintptrescapes
func (l *library) call(name string, function uintptr, arguments ...uintptr) error {
	code, _, _ := purego.SyscallN(function, arguments...)
	if int32(code) == 0 {
		return nil
	}
	return fmt.Errorf("mpi: %s of %s: %s", name, l.version, l.text(int32(code)))
}

// text returns the library's text for an error code.
func (l *library) text(code int32) string {
	text, length := new([longest]byte), new(int32)
	if failed, _, _ := purego.SyscallN(l.errorString, uintptr(code), uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(length))); int32(failed) != 0 {
		return fmt.Sprintf("error %d", code)
	}
	return strings.ReplaceAll(string(text[:*length]), "\n", "; ")
}

// describe returns the library's name and version, the first part of what it says about itself.
func (l *library) describe() string {
	text, length := new([longest]byte), new(int32)
	if failed, _, _ := purego.SyscallN(l.libraryVersion, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(length))); int32(failed) != 0 {
		return "an unknown version"
	}
	all := bytes.TrimRight(text[:*length], "\x00")
	if end := bytes.IndexAny(all, ",\n"); end >= 0 {
		all = all[:end]
	}
	return strings.Join(strings.Fields(strings.Replace(string(all), "Version:", "", 1)), " ")
}

// standard returns the version of the MPI standard that the library follows.
func (l *library) standard() (major, minor int) {
	a, b := new(int32), new(int32)
	purego.SyscallN(l.functions.version, uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	return int(*a), int(*b)
}
