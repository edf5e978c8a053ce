//go:build mpi

package mpi

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// chosen is the environment variable that names a library.
const chosen = "DPSGD_MPI"

// symbols are the functions of an MPI library that this package calls.
var symbols = []string{
	"MPI_Get_library_version", "MPI_Get_version", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Error_string",
	"MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_set_errhandler", "MPI_Type_size", "MPI_Alloc_mem",
	"MPI_Send", "MPI_Isend", "MPI_Request_free", "MPI_Recv", "MPI_Iprobe", "MPI_Test", "MPI_Ibcast", "MPI_Ireduce", "MPI_Ibarrier",
}

// library is an MPI library in the memory of this process.
type library struct {
	abi
	functions map[string]uintptr // the symbols
	file      string
	version   string // as it calls itself, such as Open MPI v4.1.4
}

// candidates lists the files that may be the library, the first choice first. A library that
// belongs to another launcher would take each rank for a job of its own.
func candidates() []string {
	if file := os.Getenv(chosen); file != "" {
		return []string{file}
	}
	others := []string{"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"}
	switch only, never := OpenMPI(); {
	case only:
		return []string{"libmpi.so.40"}
	case never:
		return others
	}
	return append(others, "libmpi.so.40")
}

// open returns the first library of candidates that can be loaded, with its interface.
func open() (*library, error) {
	quieten()
	var problems []string
	files := candidates()
	for _, file := range files {
		handle, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return load(handle, file)
		}
		problems = append(problems, err.Error())
	}
	advice := "install the one that belongs to the launcher, or name it with " + chosen + "=FILE"
	if os.Getenv(chosen) != "" {
		advice = "mend " + chosen
	}
	return nil, fmt.Errorf("mpi: found no MPI library (%s), expected %s: %s", strings.Join(problems, "; "), strings.Join(files, ", "), advice)
}

// quieten sets variables that libraries read when they are loaded, unless the user has set them.
// With these the libraries leave Go the signals that it needs: UCX and Open MPI would take SIGSEGV,
// of which Go makes a panic.
func quieten() {
	for name, value := range map[string]string{"UCX_ERROR_SIGNALS": "", "OMPI_MCA_opal_signal": "6"} {
		if _, set := os.LookupEnv(name); !set {
			_ = os.Setenv(name, value) // the names are ours
		}
	}
}

// load returns an open library with its functions and interface. It refuses MPI below 3.0.
func load(handle uintptr, file string) (*library, error) {
	l := &library{file: file, functions: map[string]uintptr{}}
	for _, name := range symbols {
		at, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, noSymbol(file, name)
		}
		l.functions[name] = at
	}
	l.version = l.describe()
	major, minor := l.standard()
	if major < 3 {
		return nil, fmt.Errorf("mpi: %s: found %s, which speaks MPI %d.%d, expected at least 3.0", file, l.version, major, minor)
	}
	var err error
	l.abi, err = abiOf(handle, file, l.version)
	return l, err
}

// noSymbol returns the error about a file that is no MPI library.
func noSymbol(file, name string) error {
	return fmt.Errorf("mpi: %s: found no symbol %s, expected an MPI library; choose another with %s=FILE", file, name, chosen)
}

// Library returns the MPI library that [Join] would use, as it calls itself, and its file.
func Library() (version, file string, err error) {
	l, err := open()
	if err != nil {
		return "", "", err
	}
	return l.version, l.file, nil
}

// longest is the length of a buffer for texts, at least MPI_MAX_LIBRARY_VERSION_STRING of every
// library.
const longest = 8192

// call calls a function of the library that returns an MPI error code. What arguments point to is
// on the heap by the line below: stacks of Go move.
//
//go:uintptrescapes
func (l *library) call(name string, arguments ...uintptr) error {
	code, _, _ := purego.SyscallN(l.functions[name], arguments...)
	if int32(code) == 0 {
		return nil
	}
	return fmt.Errorf("mpi: %s of %s: %s", name, l.version, l.text(int32(code)))
}

// text returns the library's text for an error code.
func (l *library) text(code int32) string {
	text, length := new([longest]byte), new(int32)
	if failed, _, _ := purego.SyscallN(l.functions["MPI_Error_string"], uintptr(code), uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(length))); int32(failed) != 0 {
		return fmt.Sprintf("error %d", code)
	}
	return strings.ReplaceAll(string(text[:*length]), "\n", "; ")
}

// describe returns the name and version by which the library calls itself.
func (l *library) describe() string {
	text, length := new([longest]byte), new(int32)
	if failed, _, _ := purego.SyscallN(l.functions["MPI_Get_library_version"], uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(length))); int32(failed) != 0 {
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
	purego.SyscallN(l.functions["MPI_Get_version"], uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	return int(*a), int(*b)
}

// abi holds the values of constants of an MPI library, as its header tells a C compiler.
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
	// openMPI has the values of mpi.h in Open MPI 4.1.4 and 5.0.11, without its handles, which are
	// addresses.
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
