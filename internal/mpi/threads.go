package mpi

import (
	"os"
	"runtime"
	"strconv"
)

// Threads returns how many threads this process takes for itself when nobody has chosen: its share
// of the cores that the ranks on this machine have together, and no more than it is bound to.
func Threads() int {
	return threads(os.Getenv, runtime.NumCPU(), launcherCores())
}

// threads computes Threads from own cores, those that this process may run on, and shared ones,
// those that its launcher may.
func threads(get func(string) string, own, shared int) int {
	// Slurm binds tasks to what they asked for, or leaves that to them. A script between srun and
	// this process is bound as this process is, and would be taken for a launcher with few cores.
	if asked, err := strconv.Atoi(get("SLURM_CPUS_PER_TASK")); err == nil && asked > 0 && get("SLURM_STEP_NUM_TASKS") != "" {
		return min(own, asked)
	}
	return max(1, min(own, max(own, shared)/localRanks(get)))
}
