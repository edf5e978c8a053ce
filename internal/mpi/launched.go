package mpi

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// launcher is a program that starts the ranks of a job, known by what it says in the environment.
type launcher struct {
	name              string
	size, rank, local string // variables: how many ranks, which one this is, how many on this machine
}

// launchers are asked in this order: mpirun within a job of Slurm starts its own daemons by srun,
// whose variables the ranks inherit.
//
// Slurm's are those of a job step. A batch script and the tasks of a job array have others.
var launchers = []launcher{
	{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"MPICH's mpiexec", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
	{"Slurm's srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE"},
}

// Launched reports whether an MPI launcher started this process as one of several ranks, how many
// there are, and by which launcher.
func Launched() (size int, by string, ok bool) {
	l, size, ok := launchedBy(os.Getenv)
	return size, l.name, ok && size > 1
}

// OpenMPI reports whether only Open MPI's library can talk to the launcher, or whether that library
// never can. Both are false if that is not known.
func OpenMPI() (only, never bool) {
	l, _, ok := launchedBy(os.Getenv)
	return ok && l == launchers[0], ok && l == launchers[1] && os.Getenv("SLURM_STEP_NUM_TASKS") == ""
}

// launchedBy returns the launcher whose variables get finds, if any, and the number of ranks.
func launchedBy(get func(string) string) (by launcher, size int, ok bool) {
	for _, l := range launchers {
		size, err := strconv.Atoi(get(l.size))
		if err == nil && size > 0 && get(l.rank) != "" {
			return l, size, true
		}
	}
	return launcher{}, 0, false
}

// localRanks returns how many ranks of the job are on this machine, 1 where nobody says.
func localRanks(get func(string) string) int {
	l, size, ok := launchedBy(get)
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(get(l.local))
	if err != nil {
		n = tasksOf(get(l.local), get("SLURM_NODEID"))
	}
	return max(1, min(n, size))
}

// tasksOf returns the number of tasks of a node in Slurm's list, such as 2(x3),1 for four nodes.
func tasksOf(list, node string) int {
	at, err := strconv.Atoi(node)
	if err != nil {
		return 1
	}
	for part := range strings.SplitSeq(list, ",") {
		tasks, machines := 0, 1
		if n, _ := fmt.Sscanf(part, "%d(x%d)", &tasks, &machines); n == 0 {
			return 1
		}
		if at < machines {
			return tasks
		}
		at -= machines
	}
	return 1
}

// Threads returns how many threads this process takes for itself when nobody has chosen: its share
// of the cores that the ranks on this machine have together, and no more than it is bound to.
func Threads() int { return threads(os.Getenv, runtime.NumCPU(), launcherCores()) }

// threads computes [Threads] from the variables that get finds. own is how many cores this process
// may run on, shared how many its launcher may.
func threads(get func(string) string, own, shared int) int {
	// Slurm binds tasks to what they asked for, or leaves that to them. A script between srun and
	// this process is bound as this process is, and would be taken for a launcher with few cores.
	if asked, err := strconv.Atoi(get("SLURM_CPUS_PER_TASK")); err == nil && asked > 0 && get("SLURM_STEP_NUM_TASKS") != "" {
		return min(own, asked)
	}
	return max(1, min(own, max(own, shared)/localRanks(get)))
}
