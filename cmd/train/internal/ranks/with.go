//go:build mpi

package ranks

import (
	"os"

	"dpsgd/internal/mpi"
)

// Join is the group that this process was started in, or nil where it was started alone.
func Join() (mpi.Group, error) {
	if _, _, ok := mpi.Launched(); ok || os.Getenv("DPSGD_MPI") != "" {
		return mpi.Join()
	}
	return nil, nil
}

// Library is what `train version` says about MPI.
func Library() string {
	version, file, err := mpi.Library()
	if err != nil {
		return "no MPI library found"
	}
	return version + " (" + file + ")"
}
