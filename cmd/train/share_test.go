package main

import (
	"strings"
	"testing"

	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"

	"github.com/spf13/cobra"
)

// What a task trains follows from its flags and from what its scheduler says; whatever could be meant
// in two ways is refused.
func TestShare(t *testing.T) {
	one, shard := func(n int) *sweep.Share { return &sweep.Share{First: n} }, func(i, n int) *sweep.Share { return &sweep.Share{First: i, Every: n} }
	for _, test := range []struct {
		args, environment string
		want              *sweep.Share
		says              string // of the reason or the error
	}{
		{"", "", nil, ""},
		{"", "SLURM_ARRAY_TASK_ID=3", nil, ""},
		{"--jobs 3", "", nil, ""},
		{"--parallel 3", "", nil, ""},
		{"--collect", "JOB_COMPLETION_INDEX=3", nil, ""},
		{"--trial 3", "SLURM_ARRAY_TASK_ID=7", one(3), ""},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1", one(7), "SLURM_ARRAY_TASK_ID is 7"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=3", one(7), ""}, // a part of an array again
		{"--trial auto", "JOB_COMPLETION_INDEX=0", one(1), "which counts from 0"},
		{"--trial auto", "JOB_COMPLETION_INDEX=11", one(12), ""},
		{"--shard 4/4", "", shard(4, 4), ""},
		{"--shard auto/4 --jobs 2", "SLURM_ARRAY_TASK_ID=2", shard(2, 4), ""},
		{"--shard auto/4", "JOB_COMPLETION_INDEX=3", shard(4, 4), ""},

		{"--trial 0", "", nil, "expected a number from 1, or auto"},
		{"--trial x", "", nil, "expected a number from 1"},
		{"--trial=", "", nil, "expected a number from 1"}, // of a variable that is not set
		{"--shard=", "", nil, "expected i/n"},
		{"--trial auto", "", nil, "expected one of them"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=0", nil, "begins at 0"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=0", nil, "begins at 0"},
		{"--trial auto", "SLURM_ARRAY_TASK_ID=5 JOB_COMPLETION_INDEX=5", nil, "found both"},
		{"--trial auto", "JOB_COMPLETION_INDEX=x", nil, "expected a number"},
		{"--shard 0/4", "", nil, "expected a number from 1"},
		{"--shard 5/4", "", nil, "expected one from 1 to 4"},
		{"--shard auto/4", "JOB_COMPLETION_INDEX=4", nil, "(JOB_COMPLETION_INDEX is 4, which counts from 0), expected one from 1 to 4"},
		{"--shard 3", "", nil, "expected i/n"},
		{"--shard 1/0", "", nil, "expected i/n"},
		{"--trial 1 --collect", "", nil, "expected one"},
		{"--trial 1 --jobs 2", "", nil, "--jobs is given with --trial"},
		{"--jobs=-1", "", nil, "expected a whole number of trials"},
	} {
		var f taskFlags
		c := &cobra.Command{}
		f.Add(c)
		tiny.Check(t, c.ParseFlags(strings.Fields(test.args)))
		got, why, err := f.Share(func(name string) string {
			for _, v := range strings.Fields(test.environment) {
				if value, is := strings.CutPrefix(v, name+"="); is {
					return value
				}
			}
			return ""
		})
		if err != nil {
			got, why = nil, err.Error()
		}
		if same := got == test.want || got != nil && test.want != nil && *got == *test.want; !same || !strings.Contains(why, test.says) {
			t.Errorf("%q in %q: found %+v and %q, expected %+v and %q", test.args, test.environment, got, why, test.want, test.says)
		}
	}
}
