package ranks

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/mpi"
	"dpsgd/internal/train"
)

// patience is the variable with the time that rank 0 waits at least for another one, as in 5m.
const patience = "DPSGD_PATIENCE"

// Together carries out one run on all ranks that a launcher has started: lead on rank 0, with o for the
// group, or on a process that is alone. The other ranks do what rank 0 says with the data that o says
// where to find, and print nothing unless they fail.
func Together(a *shell.App, o train.Options, lead func(train.Options) error) error {
	g, err := Join()
	if err != nil {
		return err
	}
	if g == nil {
		return lead(o)
	}
	o.Group = g
	runtime.GOMAXPROCS(mpi.Threads())
	a.IsRank(g.Rank())
	if g.Rank() > 0 {
		err = train.Follow(o)
	} else if o.Patience, err = patienceOf(os.Getenv(patience)); err == nil {
		err = lead(o)
	}
	if err == nil || errors.As(err, new(shell.Interrupted)) {
		return errors.Join(err, g.Close())
	}
	g.Abort(a.Fail(err)) // says what went wrong before all ranks end
	return err
}

// patienceOf reads a time; 0 for none.
func patienceOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, shell.Usagef("%s is %q, expected a time such as 5m", patience, text)
	}
	return d, nil
}

// Single refuses a group for a run that one process carries out.
func Single(g mpi.Group, what string) error {
	if g == nil || g.Size() == 1 {
		return nil
	}
	return shell.Usagef("found %d ranks for %s, expected one process: start it without a launcher", g.Size(), what)
}

// Numbers says which process is which rank, because some launchers name the one, and people the other.
func Numbers(processes []int64) string {
	const most = 8
	named := make([]string, min(len(processes), most))
	for rank := range named {
		named[rank] = fmt.Sprintf("rank %d = %d", rank, processes[rank])
	}
	if len(processes) > most {
		named = append(named, "…")
	}
	return fmt.Sprintf("%d processes: %s", len(processes), strings.Join(named, ", "))
}
