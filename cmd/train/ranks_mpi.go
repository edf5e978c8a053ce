//go:build mpi

package main

import (
	"os"

	"dpsgd/internal/mpi"
)

// joinGroup returns the group that this process was started in, or nil where it was started alone.
func joinGroup() (mpi.Group, error) {
	if _, _, ok := mpi.Launched(); ok || os.Getenv("DPSGD_MPI") != "" {
		return mpi.Join()
	}
	return nil, nil
}

// mpiLibrary returns version and file of the MPI library, or says that none was found.
func mpiLibrary() string {
	version, file, err := mpi.Library()
	if err != nil {
		return "no MPI library found"
	}
	return version + " (" + file + ")"
}
