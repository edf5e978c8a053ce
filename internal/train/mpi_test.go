//go:build mpi

package train

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/mpi"
	"dpsgd/internal/mpi/mpitest"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
)

// asRank is the variable that makes the test binary a rank, with all examples or some of its own.
const (
	asRank   = "DPSGD_TEST_RANK"
	withAll  = "all"
	withSome = "some"
)

// overMPI are samples and a configuration of which the bits of sums are compared, for a rank of a
// group or a process that is alone.
func overMPI(t *testing.T, g mpi.Group) (o Options, overrides []string, samples [][]int) {
	samples = [][]int{{}, {7}, {0, 1, 2, 5, 8, 13, 21, 34, 55, 89, 144, 233}, nil}
	for i := range tiny.Examples {
		samples[3] = append(samples[3], i)
	}
	o = Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples)}, RunsDir: t.TempDir()}, Group: g}
	overrides = []string{tiny.Convolutional, "performance.engine=ghost"}
	if os.Getenv(asRank) == withSome {
		parts := slices.Repeat([]int{3}, g.Size())
		parts[0] = tiny.Examples - 3*(g.Size()-1)
		o.Given, overrides = divided(t, o.Given, parts...)[g.Rank()], append(overrides, ownData...)
	}
	return o, overrides, samples
}

// said is what a process says of sums and of a run, line by line.
func said(t *testing.T, g mpi.Group) []string {
	o, overrides, samples := overMPI(t, g)
	c := tiny.Parse(t, overrides...)
	r := tiny.Must(prepare(c, o))(t)
	defer r.Pool.Close()
	var lines []string
	for step, sample := range samples {
		lines = append(lines, fmt.Sprintf("found sum %d %x", len(sample), sha256.Sum256(fmt.Append(nil, sumOf(t, r, step, sample)))))
	}
	r.dismiss(t)
	run := tiny.Must(Create(c, o))(t)
	defer run.Close()
	result := tiny.Must(run.Fit(context.Background()))(t)
	return append(lines, fmt.Sprintf("found run %s %d %v %v", result.Status, result.Steps, result.Epsilon, ledgerOf(t, run.Dir).Entries()))
}

// TestAsRank is what a rank does that the next test starts.
func TestAsRank(t *testing.T) {
	if os.Getenv(asRank) == "" {
		t.Skip("skipped: is for ranks that another test starts")
	}
	g := tiny.Must(mpi.Join())(t)
	if g.Rank() == 0 {
		for _, line := range said(t, g) {
			fmt.Println(line)
		}
	} else {
		o, _, _ := overMPI(t, g)
		for range 2 { // the sums, and the run
			tiny.Check(t, Follow(o))
		}
	}
	tiny.Check(t, g.Close())
}

// Under every MPI library, with 1, 2 and 4 ranks, and with 3 of which each has examples of its own:
// the sums of the same samples are those of one process, bit for bit, and a run has its events, its
// ledger and its ε.
func TestRanksOfMPIAreOneProcess(t *testing.T) {
	expected := said(t, nil)
	for _, l := range mpitest.Launchers(t) {
		for size, data := range map[int]string{1: withAll, 2: withAll, 3: withSome, 4: withAll} {
			c := l.Start(t.Context(), mpitest.Part{Ranks: size, Command: []string{os.Args[0], "-test.run", "^TestAsRank$"}})
			c.Env = append(c.Env, asRank+"="+data)
			text, err := c.CombinedOutput()
			var found []string
			for line := range strings.Lines(string(text)) {
				if at := strings.Index(line, "found "); at >= 0 {
					found = append(found, strings.TrimSpace(line[at:]))
				}
			}
			if err != nil || !slices.Equal(found, expected) {
				t.Errorf("%s, %d ranks: %v, found\n%q\nexpected\n%q\n%s", l.Name, size, err, found, expected, text)
			}
		}
	}
}
