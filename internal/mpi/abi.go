//go:build mpi

package mpi

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"
)

// abi holds the values of the constants of an MPI library that this package uses, as its header
// tells a C compiler.
type abi struct {
	name string
	// Handles.
	comm, sum, int64s, bytes, errorsReturn, noInfo uintptr
	// Others. A library with too low a level of threads is noticed, because levels grow.
	inPlace, ignoreStatus, anySource, funneled uintptr
}

const (
	minus1 = ^uintptr(0)
	minus2 = ^uintptr(1)
)

var (
	// mpich has the values of mpi.h in MPICH 4.0.2, 4.3.2 and 5.0.2: https://www.mpich.org/abi.
	mpich = abi{
		name: "MPICH",
		comm: 0x44000000, sum: 0x58000003, int64s: 0x4c00083a, bytes: 0x4c00010d,
		errorsReturn: 0x54000001, noInfo: 0x1c000000,
		inPlace: minus1, ignoreStatus: 1, anySource: minus2, funneled: 1,
	}
	// standard has the values of the MPI standard, version 5.0, chapter 20 and appendix A.
	standard = abi{
		name: "standard",
		comm: 0x101, sum: 0x21, int64s: 0x258, bytes: 0x247,
		errorsReturn: 0x143, noInfo: 0x130,
		inPlace: 1, ignoreStatus: 0, anySource: minus1, funneled: 1024,
	}
	// openMPI has the values of mpi.h in Open MPI 4.1.4 and 5.0.11, but for handles: addresses.
	openMPI = abi{
		name:    "Open MPI",
		inPlace: 1, ignoreStatus: 0, anySource: minus1, funneled: 1,
	}
)

// abiOf returns the interface of a library, recognised by the name of its file, then by its
// symbols, then by its version. It refuses an unknown one: wrong handles would end the process.
func abiOf(handle uintptr, file, version string) (abi, error) {
	if strings.Contains(filepath.Base(file), "mpi_abi") {
		return standard, nil
	}
	if _, err := purego.Dlsym(handle, "ompi_mpi_comm_world"); err == nil {
		return openMPIHandles(handle, file)
	}
	for _, known := range []string{"MPICH", "Intel", "MVAPICH", "CRAY"} {
		if strings.Contains(version, known) {
			return mpich, nil
		}
	}
	return abi{}, fmt.Errorf("mpi: %s: found %q, expected Open MPI, MPICH or a libmpi_abi; choose another library with DPSGD_MPI=FILE", file, version)
}

// openMPIHandles returns openMPI with the addresses that this library uses as handles.
func openMPIHandles(handle uintptr, file string) (abi, error) {
	a := openMPI
	for name, at := range map[string]*uintptr{
		"ompi_mpi_comm_world": &a.comm, "ompi_mpi_op_sum": &a.sum, "ompi_mpi_int64_t": &a.int64s, "ompi_mpi_byte": &a.bytes,
		"ompi_mpi_errors_return": &a.errorsReturn, "ompi_mpi_info_null": &a.noInfo,
	} {
		var err error
		if *at, err = purego.Dlsym(handle, name); err != nil {
			return a, noSymbol(file, name)
		}
	}
	return a, nil
}
