package mpi

import "testing"

// The variables are those that the launchers of these versions set, as far as they matter here.
var environments = map[string]struct {
	set       map[string]string
	size      int // 0: not launched
	local     int
	openMPI   bool
	otherwise bool // than Open MPI
}{
	"alone": {local: 1},
	"Open MPI 4.1.4": {
		map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_RANK": "3"},
		4, 2, true, false,
	},
	"Open MPI within Slurm": {
		map[string]string{"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
			"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0", "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_NODEID": "0"},
		8, 4, true, false,
	},
	"MPICH 4.0.2":                      {map[string]string{"PMI_SIZE": "2", "PMI_RANK": "0", "MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "0"}, 2, 2, false, true},
	"one rank":                         {map[string]string{"PMI_SIZE": "1", "PMI_RANK": "0", "MPI_LOCALNRANKS": "1"}, 1, 1, false, true},
	"srun":                             {map[string]string{"SLURM_STEP_NUM_TASKS": "9", "SLURM_PROCID": "6", "SLURM_NTASKS": "9", "SLURM_STEP_TASKS_PER_NODE": "2(x3),3", "SLURM_NODEID": "3"}, 9, 3, false, false},
	"srun, a full machine":             {map[string]string{"SLURM_STEP_NUM_TASKS": "7", "SLURM_PROCID": "4", "SLURM_STEP_TASKS_PER_NODE": "2(x3),1", "SLURM_NODEID": "2"}, 7, 2, false, false},
	"srun --mpi=pmi2":                  {map[string]string{"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0", "PMI_SIZE": "2", "PMI_RANK": "0"}, 2, 1, false, false},
	"a batch script of Slurm":          {map[string]string{"SLURM_NTASKS": "16", "SLURM_PROCID": "0", "SLURM_TASKS_PER_NODE": "16", "SLURM_NODEID": "0"}, 0, 1, false, false},
	"a task of a job array":            {map[string]string{"SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "12"}, 0, 1, false, false},
	"nonsense":                         {map[string]string{"PMI_SIZE": "many", "PMI_RANK": "0"}, 0, 1, false, false},
	"a variable that somebody has set": {map[string]string{"PMI_SIZE": "3"}, 0, 1, false, false},
}

func TestLaunched(t *testing.T) {
	for name, e := range environments {
		t.Run(name, func(t *testing.T) {
			for _, l := range launchers {
				for _, v := range []string{l.size, l.rank, l.local} {
					t.Setenv(v, "")
				}
			}
			t.Setenv("SLURM_NODEID", "")
			for variable, value := range e.set {
				t.Setenv(variable, value)
			}
			size, by, ok := Launched()
			if ok != (e.size > 1) || ok && (size != e.size || by == "") {
				t.Errorf("found %d ranks of %q, %v, expected %d", size, by, ok, e.size)
			}
			if only, never := OpenMPI(); only != e.openMPI || never != e.otherwise {
				t.Errorf("found that it is only for Open MPI: %v, never: %v", only, never)
			}
			if got := localRanks(getter(e.set)); got != e.local {
				t.Errorf("found %d ranks on this machine, expected %d", got, e.local)
			}
		})
	}
}

func getter(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

func TestThreads(t *testing.T) {
	four := map[string]string{"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
	slurm := map[string]string{"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0", "SLURM_CPUS_PER_TASK": "8", "SLURM_STEP_TASKS_PER_NODE": "4", "SLURM_NODEID": "0"}
	for name, c := range map[string]struct {
		set               map[string]string
		own, shared, want int
	}{
		"alone":                                {nil, 16, 16, 16},
		"alone, where nobody knows":            {nil, 16, 0, 16},
		"alone, bound":                         {nil, 2, 16, 2},
		"not bound":                            {four, 64, 64, 16},
		"bound to a core":                      {four, 1, 64, 1},
		"bound to one of two sockets, of four": {four, 32, 64, 16},
		"bound to four cores":                  {four, 4, 64, 4},
		"in a container of four cores":         {four, 4, 4, 1},
		"more ranks than cores":                {four, 2, 2, 1},
		"cores for each task":                  {slurm, 8, 8, 8},
		"cores for each task, not bound":       {slurm, 64, 64, 8},
	} {
		if got := threads(getter(c.set), c.own, c.shared); got != c.want {
			t.Errorf("%s: found %d threads, expected %d", name, got, c.want)
		}
	}
}
