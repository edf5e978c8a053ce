package run_test

import (
	"context"
	"path"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/slow"
	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// A grid is the sweep of a simulated history: two trials, which train a real network on three
// pictures.
type grid struct {
	file   *configs.Sweep
	source setup.Request
}

func newGrid(t *testing.T, settings string) *grid {
	t.Helper()
	dir := t.TempDir()
	tiny.Write(t, filepath.Join(dir, "base.yaml"), simulatedConfig+"performance: {threads: 1}\n")
	file := "name: grid\nbase: base.yaml\nset: {training.steps: 3" + settings + "}\ngrid: {optimizer.learning_rate: [0.5, 1]}\n"
	return &grid{tiny.Must(configs.ParseSweep(filepath.Join(dir, "grid.yaml"), []byte(file)))(t), setup.Request{Given: tiny.Source(t, 3)}}
}

// trial returns what the world knows of a trial.
func (s *simulation) trial(name string) *simulated {
	for _, r := range s.runs {
		if r.name == name {
			return r
		}
	}
	r := &simulated{name: name}
	s.runs = append(s.runs, r)
	return r
}

// carryOut carries out the sweep in process p: as one process for all trials, as the task of that
// number from 1, or collects what tasks have made.
func (s *simulation) carryOut(p *process, what string, task int) error {
	o := sweep.Options{Request: s.grid.source, RunsDir: p.at(registry)}
	o.Watcher.TrialStepped = func(t sweep.TrialOverview, _ train.Progress) { s.stepped(path.Join("grid", t.Name)) }
	switch what {
	case "task":
		_, err := sweep.RunTask(context.Background(), s.grid.file, sweep.Share{First: task}, o)
		return err
	case "collect":
		_, err := sweep.Collect(context.Background(), s.grid.file, o)
		return err
	}
	r, err := sweep.Run(context.Background(), s.grid.file, o)
	if err == nil && r.Status == run.Done {
		s.swept(r)
	}
	return err
}

// stepped counts a step of a trial, and holds it against the disk.
func (s *simulation) stepped(name string) {
	r := s.trial(name)
	r.released++
	if own := s.Durable(path.Join(registry, name, folder.Ledger)); entriesIn(own) < r.released {
		s.violated("%s has made %d steps while its ledger has %d durable entries", name, r.released, entriesIn(own))
	}
}

// swept holds a sweep that says that it is done against the disk.
func (s *simulation) swept(r sweep.Result) {
	names := []string{path.Join("grid", folder.Rows), path.Join("grid", folder.Sweep)}
	for _, row := range r.Rows {
		for _, name := range []string{folder.Config, folder.Plan, folder.Ledger, folder.StatementData} {
			names = append(names, path.Join("grid", row.Trial, name))
		}
	}
	for _, name := range names {
		if s.Durable(path.Join(registry, name)) == nil {
			s.violated("the sweep ended as done without a durable %s", name)
		}
	}
	if r.Finished != 2 || len(r.Rows) != 2 {
		s.violated("the sweep ended as done with %d of 2 results", r.Finished)
	}
}

// sweeping makes happen what the seed decides to the sweep.
func sweeping(s *simulation) {
	s.budget = 1000
	for range 1 + s.rand.IntN(4) {
		for range 1 + s.rand.IntN(3) {
			p := s.process(fault{kind: faultKinds[s.rand.IntN(len(faultKinds))], at: s.rand.IntN(1 << (3 + s.rand.IntN(9))), most: 1 + s.rand.IntN(40)}, false)
			what, task := []string{"sweep", "task", "task", "collect"}[s.rand.IntN(4)], 1+s.rand.IntN(2)
			s.begin(p, nil, what, func() error { return s.carryOut(p, what, task) })
		}
		s.schedule(func() bool { return s.working == 0 })
		if s.rand.IntN(6) == 0 {
			s.losePower()
		}
		s.look()
	}
}

// The invariants of [TestSimulation] hold for sweeps too, by one process and by tasks, which train
// for real; and a sweep comes to its end whatever happened.
func TestSimulatedSweeps(t *testing.T) {
	lives, given, lived := slow.Number(t, "DPSGD_SWEEP_LIVES", 30, 1000), newSetting(t), 0
	grids := []*grid{newGrid(t, ""), newGrid(t, ", run.checkpoint_every: 1"), newGrid(t, ", data.limit.epsilon: 14, data.limit.delta: 1e-3")}
	// Few lives begin where trials are soon killed and gone on with.
	for seed := uint64(slow.Number(t, "DPSGD_SEED", 20, 1)); lived < lives; seed++ {
		s := given.simulate(t, seed, func(s *simulation) {
			if s.grid = grids[s.rand.IntN(len(grids))]; s.grid == grids[2] {
				s.config.Data.Limit = configs.Limit{Epsilon: 14, Delta: limitDelta}
			}
			sweeping(s)
		})
		lived += s.lives
		s.check(t, seed, lived)
	}
	t.Logf("%d lives without a violation", lived)
}
