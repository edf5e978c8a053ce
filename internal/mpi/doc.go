// Package mpi makes one group of the processes that carry out a run together, the ranks of an MPI
// job.
//
// Rank 0 decides; the others follow. So there are two ways to talk: all hear what rank 0 says
// ([Group.Broadcast]), and rank 0 adds up what all have ([Group.Reduce]). The summands are
// integers, so the sum depends neither on the number of ranks nor on the order.
//
// [Join] uses an MPI library that it opens when the program runs: Open MPI, MPICH or one with the
// same binary interface, or one with the standard interface of MPI 5. It needs no C compiler, and
// the program needs no library until it joins. A program that can open libraries is not static, so
// the files that open them have the build tag mpi.
package mpi
