package main

import (
	"cmp"
	"strconv"
	"strings"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/sweep"

	"github.com/spf13/cobra"
)

// taskFlags holds the flags by which `train sweep` trains some trials as one task of several,
// collects what tasks have trained, or trains several trials at a time.
type taskFlags struct {
	trial, shard string
	Collect      bool
	Jobs         int
	given        func(flag string) bool // reports whether the command line has the flag, even if its value is ""
}

// Add adds the flags to c.
func (f *taskFlags) Add(c *cobra.Command) {
	f.given = c.Flags().Changed
	c.Flags().StringVar(&f.trial, "trial", "", "train the trial with this number alone, from 1, as one task of several; auto is the number of this task in its Slurm array or Kubernetes job")
	c.Flags().StringVar(&f.shard, "shard", "", "train the trials i, i+n, i+2n, … alone, given as i/n with i from 1 to n, or auto/n")
	c.Flags().BoolVar(&f.Collect, "collect", false, "gather what tasks have trained so far, and train nothing")
	c.Flags().IntVar(&f.Jobs, "jobs", 0, "train so many trials at a time, each on its share of the threads (default: what the file says, or 1)")
	c.Flags().IntVar(&f.Jobs, "parallel", 0, "the former name of --jobs")
	_ = c.Flags().MarkHidden("parallel") // is a flag
}

// Share returns the trials that --trial or --shard asks for, or nil without either. why names the
// environment variable, read by getenv, that gave their number, and its value; it is "" for none.
func (f *taskFlags) Share(getenv func(string) string) (share *sweep.Share, why string, err error) {
	trial, shard := f.given("trial"), f.given("shard")
	switch {
	case trial && shard, trial && f.Collect, shard && f.Collect:
		return nil, "", shell.Usagef("found several of --trial, --shard and --collect, expected one")
	case f.Jobs < 0:
		return nil, "", shell.Usagef("found --jobs %d, expected at least 1", f.Jobs)
	case f.Jobs > 1 && (trial || f.Collect):
		return nil, "", shell.Usagef("--jobs is given with --trial or --collect, expected a whole sweep or a --shard")
	case trial:
		number, why, err := numberOf("--trial", f.trial, getenv)
		return &sweep.Share{First: number}, why, err
	case shard:
		return f.shardOf(getenv)
	}
	return nil, "", nil
}

func (f *taskFlags) shardOf(getenv func(string) string) (*sweep.Share, string, error) {
	i, n, _ := strings.Cut(f.shard, "/")
	of, err := strconv.Atoi(n)
	if err != nil || of < 1 {
		return nil, "", shell.Usagef("--shard is %q, expected i/n, the part i of n from 1/n to n/n, or auto/n", f.shard)
	}
	first, why, err := numberOf("--shard", i, getenv)
	if err == nil && first > of {
		said := ""
		if why != "" {
			said = " (" + why + ")"
		}
		err = shell.Usagef("--shard is part %d of %d%s, expected one from 1 to %d", first, of, said, of)
	}
	return &sweep.Share{First: first, Every: of}, why, err
}

// numberOf returns the number from 1 that was given, or for "auto" that of the task; see Share.
func numberOf(flag, given string, getenv func(string) string) (number int, why string, err error) {
	if given == "auto" {
		return numberOfTask(flag, getenv)
	}
	number, err = strconv.Atoi(given)
	if err != nil || number < 1 {
		return 0, "", shell.Usagef("%s is %q, expected a number from 1, or auto", flag, given)
	}
	return number, "", nil
}

// Variables by which schedulers number the tasks of a job.
const (
	slurm      = "SLURM_ARRAY_TASK_ID"
	slurmFirst = "SLURM_ARRAY_TASK_MIN" // the least number of the array
	kubernetes = "JOB_COMPLETION_INDEX" // always counts from 0
)

// numberOfTask returns the number of this task, from 1, in a variable of Slurm or Kubernetes.
// People begin Slurm arrays at 0 or at 1, and a task cannot tell at which when a part of an array
// is submitted again. So a Slurm number is taken as it is, and all of an array from 0 is refused.
func numberOfTask(flag string, getenv func(string) string) (int, string, error) {
	id, index := getenv(slurm), getenv(kubernetes)
	name, value, from := slurm, id, 1
	if index != "" {
		name, value, from = kubernetes, index, 0
	}
	why := name + " is " + value
	number, err := strconv.Atoi(value)
	switch {
	case id != "" && index != "":
		return 0, "", shell.Usagef("%s is auto and found both %s and %s, expected one; give the number", flag, slurm, kubernetes)
	case value == "":
		return 0, "", shell.Usagef("%s is auto and found neither %s nor %s, expected one of them: the command is a task of a job array, or the number is given", flag, slurm, kubernetes)
	case err != nil || number < 0:
		return 0, "", shell.Usagef("%s is auto and %s, expected a number", flag, why)
	case from == 1 && (number == 0 || cmp.Or(getenv(slurmFirst), "1") == "0"):
		return 0, "", shell.Usagef("%s is auto and %s in an array that begins at 0, expected one that begins at 1, as in --array=1-12: trials and shards count from 1", flag, why)
	case from == 0:
		return number + 1, why + ", which counts from 0", nil
	}
	return number, why, nil
}
