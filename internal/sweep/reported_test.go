package sweep_test

import (
	"cmp"
	"errors"

	"dpsgd/internal/report"
	"dpsgd/internal/sweep"
)

func init() {
	nothing := errors.New("nothing is said of the sweep")
	sweep.EpsilonOfRuns = func(dir string) (float64, error) {
		list, err := report.Lines(dir)
		for _, r := range list {
			if r.Trials > 0 && r.Epsilon != nil {
				return *r.Epsilon, err
			}
		}
		return 0, cmp.Or(err, nothing)
	}
	sweep.EpsilonOfReport = func(dir string) (float64, error) {
		read, err := report.ReadSweep(dir, report.Request{Accountants: true})
		if err == nil && read.Composed == nil {
			err = nothing
		}
		if err != nil {
			return 0, err
		}
		return read.Composed.Epsilon, nil
	}
}
