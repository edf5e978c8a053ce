// Package mpi makes a group of the ranks that an MPI launcher has started, by an MPI library that it
// opens when the program runs: Open MPI, MPICH and what shares its binary interface, or any library
// with the standard interface of MPI 5. It needs no C compiler, and the program no library until it
// joins.
//
// A program that can open libraries is not static, and so everything but this page has the build tag
// mpi.
package mpi
