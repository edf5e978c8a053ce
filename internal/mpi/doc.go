// Package mpi makes one group of the processes that carry out a run together: the ranks of an MPI job.
//
// Rank 0 decides; the others follow. So there are two ways to talk: what rank 0 says, all hear
// ([Group.Broadcast]), and what all count, rank 0 adds up ([Group.Reduce]). What is added up are
// integers, and so the sum does not depend on how many ranks there are, nor on the order.
//
// [Join] talks by an MPI library that it opens when the program runs: Open MPI, MPICH and what shares
// its binary interface, or any library with the standard interface of MPI 5. It needs no C compiler,
// and the program no library until it joins. A program that can open libraries is not static, and so
// the files that do have the build tag mpi.
package mpi
