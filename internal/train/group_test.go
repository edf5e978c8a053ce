package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/mpi"
	"dpsgd/internal/mpi/mpitest"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

// together runs lead as rank 0 of so many ranks in this process, whose others follow, and returns
// what the others ended with.
func together(t *testing.T, size int, source *data.Split, lead func(mpi.Group)) []error {
	t.Helper()
	return apart(t, ranksOf(size, source), lead)
}

// apart is together with data of its own for each rank.
func apart(t *testing.T, sources []*data.Split, lead func(mpi.Group)) []error {
	t.Helper()
	members, errs := mpitest.Local(len(sources)), make([]error, len(sources))
	var others sync.WaitGroup
	for _, g := range members[1:] {
		others.Go(func() {
			if errs[g.Rank()] = Follow(Options{Options: run.Options{Request: setup.Request{Given: sources[g.Rank()]}, RunsDir: t.TempDir()}, Group: g}); errs[g.Rank()] != nil {
				g.Abort(1)
			}
		})
	}
	lead(members[0])
	others.Wait()
	return errs[1:]
}

// sumOf is the sum that a run adds up of a sample, alone or with the ranks of its group.
func sumOf(t *testing.T, r *Run, step int, sample []int) []int64 {
	t.Helper()
	sum, err := clip.NewSum(r.plan.Policy, r.records.Coordinates(), r.Pool)
	tiny.Check(t, err)
	sum.Refine(r.plan.Room())
	r.plan.begin(step)
	if r.together.leader == nil {
		err = release.AddUp(sum, sample, r.records.AtStep(step))
	} else if err = r.together.leader.Share(step, sample); err == nil {
		err = release.AddPart(sum, sample, r.records.AtStep(step), r.together.leader)
	}
	tiny.Check(t, err)
	values := make([]int64, sum.Dim())
	sum.Release(func(integers clip.Integers, _ clip.Lattice) { integers(values, 0) })
	return values
}

// However many ranks add up a sample, its sum is that of one process, bit for bit: with every
// policy, of examples, of features less their private mean, of clients; of no record, of fewer
// records than ranks, of all; at the parameters of the step. Ranks whose part is empty take part.
func TestRanksAddUpTheSumOfOne(t *testing.T) {
	for _, overrides := range [][]string{
		{tiny.Convolutional, "performance.engine=ghost"},
		{tiny.Convolutional, "performance.engine=ghost", "privacy.clipping=per_layer", "privacy.clip_norm=0.05"},
		{"performance.engine=ghost", "privacy.clipping=adaptive"},
		{"performance.engine=ghost", "privacy.clip_schedule=linear", "privacy.clip_final_factor=0.4"},
		append(tiny.Features, "performance.engine=ghost"),
		{"federated.clients=60", "training.batch_size=20", "privacy.delta=1e-3"},
		append(bands, "performance.engine=ghost"), // on a coarser lattice
	} {
		c := tiny.Parse(t, overrides...)
		o := options(t)
		if c.Features.Any() {
			o.Given = tiny.Large(t)
		}
		alone := tiny.Must(prepare(c, o))(t)
		defer alone.Pool.Close()
		setMean(t, alone)
		start := slices.Clone(alone.Model.Values)
		sizes := []int{1, 2, 4, 7}
		if c.Features.Any() {
			sizes = []int{3} // each rank computes them
		}
		for _, size := range sizes {
			errs := together(t, size, o.Given, func(g mpi.Group) {
				o := o
				o.Group = g
				r := tiny.Must(prepare(c, o))(t)
				defer r.Pool.Close()
				setMean(t, r)
				for step, sample := range samplesOf(r.plan.Records) {
					for i, v := range start {
						moved := v + 0.01*float32(step*(1+i%5))
						r.Model.Values[i], alone.Model.Values[i] = moved, moved
					}
					if counting := r.counting(); counting != nil {
						norm := 0.2 + 0.7*float64(step) // among the norms of the gradients, where it decides what is added
						tiny.Check(t, errors.Join(counting.Restore(norm), alone.counting().Restore(norm)))
					}
					if !slices.Equal(sumOf(t, r, step, sample), sumOf(t, alone, step, sample)) {
						t.Errorf("%q: %d ranks add up another sum of %d records than one", overrides, size, len(sample))
					}
				}
				r.dismiss(t)
			})
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		}
	}
}

// ownData are overrides for pictures that each rank has of its own.
var ownData = []string{"data.folder=stripes", "data.classes=[top, middle, bottom]", "data.size=6", "data.channels=1", "performance.data_per_rank=true"}

// divided is a split in parts of so many training examples, for one rank each.
func divided(t *testing.T, source *data.Split, parts ...int) (own []*data.Split) {
	t.Helper()
	from := 0
	for _, n := range parts {
		indices := make([]int, n)
		for i := range indices {
			indices[i] = from + i
		}
		own = append(own, &data.Split{Name: source.Name, Train: data.Select(indices, source.Train), Test: source.Test})
		from += n
	}
	return own
}

// Ranks with examples of their own add up the sum of a process that has all of them, bit for bit,
// and the run is one on all: its plan, its ledger, its ε, its entry in the ledger of data.
func TestRanksWithDataOfTheirOwn(t *testing.T) {
	o := options(t)
	c := tiny.Parse(t, append(ownData, "performance.engine=ghost")...)
	parts := divided(t, o.Given, 100, 3, tiny.Examples-103)
	alone := tiny.Must(prepare(c, o))(t)
	defer alone.Pool.Close()
	errs := apart(t, parts, func(g mpi.Group) {
		r := tiny.Must(prepare(c, Options{Options: run.Options{Request: setup.Request{Given: parts[0]}, RunsDir: o.RunsDir}, Group: g}))(t)
		defer r.Pool.Close()
		copy(r.Model.Values, alone.Model.Values)
		if r.plan.Records != tiny.Examples || r.PlanHash != alone.PlanHash {
			t.Errorf("found a plan for %d records, expected that for %d", r.plan.Records, tiny.Examples)
		}
		for step, sample := range append(samplesOf(tiny.Examples), []int{100, 101, 102}, []int{99, 103}) {
			if !slices.Equal(sumOf(t, r, step, sample), sumOf(t, alone, step, sample)) {
				t.Errorf("ranks add up another sum of %v than one", sample)
			}
		}
		r.dismiss(t)
	})
	tiny.Check(t, errors.Join(errs...))
	whole := train(t, o)
	result := ofGroup(t, parts, o, func(o Options) (*Run, error) { return Create(c, o) }, fit)
	if found, expected := ledgerOf(t, result.Run).Entries(), ledgerOf(t, whole.Run).Entries(); !slices.Equal(found, expected) || result.Epsilon != whole.Epsilon {
		t.Errorf("found the ledger %v and ε = %v, expected %v and %v", found, result.Epsilon, expected, whole.Epsilon)
	}
	info, err := books.ReadDatasets(o.RunsDir)
	if err != nil || len(info.Members) != 2 || info.Members[0].Data.Examples != tiny.Examples || info.Members[1].Data.Examples != tiny.Examples {
		t.Errorf("found %+v (%v), expected two runs on %d examples", info.Members, err, tiny.Examples)
	}
	// With another division of the same examples it goes on, and without some of them it does not.
	open(t, result.Run, o).Close()
	if _, err := Open(result.Run, Options{Options: run.Options{Request: setup.Request{Given: parts[2]}, RunsDir: o.RunsDir}}); err == nil || !strings.Contains(err.Error(), "examples") {
		t.Errorf("one process that has some of the examples: found the error %v, expected one about their number", err)
	}
}

// Examples that two ranks have would contribute twice, and records on several ranks would be
// bounded on each: such runs are refused before anything is written.
func TestDataOfTheirOwnRefused(t *testing.T) {
	source := tiny.Source(t, tiny.Examples)
	half := divided(t, source, 150, 150)
	for name, c := range map[string]struct {
		sources   []*data.Split
		overrides []string
		want      string
	}{
		"all on each":   {[]*data.Split{source, source}, nil, "the same training example on rank 0 and rank 1"},
		"some on two":   {[]*data.Split{half[0], half[1], divided(t, source, 5)[0]}, nil, "the same training example on rank 0 and rank 2"},
		"clients":       {half, []string{"federated.clients=60", "training.batch_size=20", "privacy.delta=1e-3"}, "data_per_rank"},
		"features":      {half, tiny.Features, "data_per_rank"},
		"turns":         {half, []string{"training.sampling=cyclic"}, "data_per_rank"},
		"persons":       {half, []string{"privacy.unit=person", "data.group=prefix", "privacy.delta=1e-3"}, "data_per_rank"},
		"another shape": {[]*data.Split{half[0], {Name: "stripes", Train: tiny.Large(t).Train, Test: source.Test}}, nil, "coordinates"},
	} {
		o := Options{Options: run.Options{Request: setup.Request{Given: c.sources[0]}, RunsDir: filepath.Join(t.TempDir(), "runs")}}
		var found error
		errs := apart(t, c.sources, func(g mpi.Group) {
			o.Group = g
			var r *Run
			if r, found = Create(tiny.Parse(t, append(slices.Clone(ownData), c.overrides...)...), o); found == nil {
				r.Close()
			}
			g.Abort(1)
		})
		if err := errors.Join(append(errs, found)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: found the error %v, expected one with %q", name, err, c.want)
		}
		if _, err := os.Stat(o.RunsDir); err == nil && len(tiny.Snapshot(t, o.RunsDir)) > 1 {
			t.Errorf("%s: found %v, expected nothing written", name, tiny.Snapshot(t, o.RunsDir))
		}
	}
}

// samplesOf are samples of so many records.
func samplesOf(records int) [][]int {
	all := make([]int, records)
	for i := range all {
		all[i] = i
	}
	return [][]int{{}, {7}, {3, records - 1}, all, {0, 1, 2, 5, 8, 13, 21, 34, 55}}
}

// dismiss lets the other ranks go, where there are any.
func (r *Run) dismiss(t *testing.T) {
	t.Helper()
	if r.together.leader != nil {
		tiny.Check(t, r.together.leader.Dismiss())
	}
}

// setMean has a run subtract a mean of features that was released before, where it has one.
func setMean(t *testing.T, r *Run) {
	t.Helper()
	if r.plan.Mean == nil {
		return
	}
	r.features.mean = make([]float32, r.Examples.Train.Shape().Values())
	for i := range r.features.mean {
		r.features.mean[i] = 0.01 * float32(1+i%7)
	}
	tiny.Check(t, errors.Join(r.centre(), r.centre())) // the second time does nothing
}

// ofGroup has a rank for each of the sources carry out a run, of which fit is what rank 0 does.
func ofGroup(t *testing.T, sources []*data.Split, o Options, start func(Options) (*Run, error), fit func(testing.TB, *Run) Result) (result Result) {
	t.Helper()
	errs := apart(t, sources, func(g mpi.Group) {
		o.Group, o.Given = g, sources[0]
		result = fit(t, tiny.Must(start(o))(t))
	})
	tiny.Check(t, errors.Join(errs...))
	return result
}

// ranksOf are the sources of so many ranks that all have the same data.
func ranksOf(size int, source *data.Split) []*data.Split {
	return slices.Repeat([]*data.Split{source}, size)
}

// variance is that of the noise of a run on examples without a gradient, over the claimed one, with
// the number of its draws.
func variance(t *testing.T, size int) (ratio float64, draws int) {
	const steps, batch, rate = 20, 30, 0.25
	o := options(t)
	o.Given = blackSource(t, 200, 32, 32)
	c := tiny.Parse(t, noBias, "optimizer.name=sgd", fmt.Sprintf("optimizer.learning_rate=%g", rate), fmt.Sprintf("training.batch_size=%d", batch),
		fmt.Sprintf("training.steps=%d", steps), "privacy.noise_multiplier=0.8", "privacy.clip_norm=0.3", "data.mean=[0]")
	var path [][]float32
	ofGroup(t, ranksOf(size, o.Given), o, func(o Options) (*Run, error) { return Create(c, o) }, func(t testing.TB, r *Run) Result {
		path, _ = stepwise(t, r)
		return r.result
	})
	for _, step := range moved(path, func(int) float64 { return 0.8 * 0.3 / batch * rate }) {
		for _, z := range step {
			ratio += z * z
			draws++
		}
	}
	return ratio / float64(draws), draws
}

// The noise of a group is that of one process: added once, not by every rank, and not by none. With
// 40,960 draws the ratio of variances has deviation √(2/draws) = 0.007; seven of them are passed
// with probability 4e-12. Noise that two ranks add, or none, is 140 deviations away.
func TestNoiseIsAddedOnce(t *testing.T) {
	once := func(ratio float64, draws int) bool { return math.Abs(ratio-1) < 7*math.Sqrt(2/float64(draws)) }
	for _, size := range []int{1, 2, 4} {
		ratio, draws := variance(t, size)
		if !once(ratio, draws) {
			t.Errorf("%d ranks: the noise has %.3f of the claimed variance", size, ratio)
		}
		if once(2*ratio, draws) || once(0, draws) {
			t.Errorf("noise that is added twice, or never, passes as once in %d draws", draws)
		}
	}
}

// A run of several ranks leaves the ledger that one process leaves, of the same events, and the
// same ε. It goes on with any other number of ranks, and its statement says whom it trusted.
func TestRunGoesOnWithAnyNumberOfRanks(t *testing.T) {
	alone := train(t, options(t))
	o := options(t)
	var result Result
	for i, size := range []int{1, 3, 2, 1} {
		result = ofGroup(t, ranksOf(size, o.Given), o, func(o Options) (*Run, error) {
			if i == 0 {
				return Create(tiny.Parse(t), o)
			}
			return Open(result.Run, o)
		}, func(t testing.TB, r *Run) Result { return interruptAfter(t, r, 3*(i+1)) })
	}
	if result.Status != run.Done || result.Steps != alone.Steps || result.Epsilon != alone.Epsilon {
		t.Errorf("found %s after %d steps with ε = %v, expected done after %d with %v", result.Status, result.Steps, result.Epsilon, alone.Steps, alone.Epsilon)
	}
	if found, expected := ledgerOf(t, result.Run).Entries(), ledgerOf(t, alone.Run).Entries(); !slices.Equal(found, expected) {
		t.Errorf("found the ledger %v, expected %v", found, expected)
	}
	tiny.Says(t, result.Run, "the network between them", "3 processes at most")
	if strings.Contains(tiny.Read(t, filepath.Join(alone.Run, folder.Statement)), "the network between them") {
		t.Error("the statement of a run of one process speaks of a network")
	}
}

// A statement names the ranks that heard of a sample, also where none of their steps was saved, and
// none that only looked on while a run that was done was evaluated.
func TestStatementNamesWhoSawSamples(t *testing.T) {
	named := func(dir string) bool {
		return strings.Contains(tiny.Read(t, filepath.Join(dir, folder.Statement)), "2 processes at most added up the sums")
	}
	o := options(t)
	done := train(t, o)
	ofGroup(t, ranksOf(2, o.Given), o, func(o Options) (*Run, error) { return Open(done.Run, o) }, fit)
	if named(done.Run) {
		t.Error("the statement of a run that one process trained says that 2 have seen its samples")
	}

	stopped := interruptAfter(t, create(t, tiny.Parse(t, "run.checkpoint_every=1000"), o), 3)
	together(t, 2, o.Given, func(g mpi.Group) {
		o := o
		o.Group, o.Stepped = g, func(Progress) { g.Abort(1) }
		r := tiny.Must(Open(stopped.Run, o))(t)
		defer r.Close()
		if _, err := r.Fit(context.Background()); !errors.Is(err, mpi.ErrLost) {
			t.Errorf("found %v, expected the error of a group that has ended", err)
		}
	})
	again := open(t, stopped.Run, o)
	if again.Step != stopped.Steps {
		t.Fatalf("the run goes on from step %d, expected %d: no step of 2 ranks was saved", again.Step, stopped.Steps)
	}
	if fit(t, again); !named(stopped.Run) {
		t.Error("the statement does not say that 2 processes have seen samples of the run")
	}
}

// Runs on features with their private mean, and of clients, are done over ranks.
func TestRanksOfFeaturesAndClients(t *testing.T) {
	o := options(t)
	o.Given = tiny.Large(t)
	for size, overrides := range map[int][]string{3: tiny.Features, 2: {"federated.clients=60", "training.batch_size=20", "privacy.delta=1e-3"}} {
		if r := ofGroup(t, ranksOf(size, o.Given), o, func(o Options) (*Run, error) { return Create(tiny.Parse(t, overrides...), o) }, fit); r.Status != run.Done {
			t.Errorf("%q: found %s, expected done", overrides, r.Status)
		}
	}
}

// A rank with other data ends the group by name, before anything is written.
func TestOtherDataOnOneRank(t *testing.T) {
	o := options(t)
	members := mpitest.Local(2)
	other := make(chan error)
	go func() {
		err := Follow(Options{Options: run.Options{Request: setup.Request{Given: tiny.Source(t, tiny.Examples-1)}}, Group: members[1]})
		members[1].Abort(1)
		other <- err
	}()
	o.Group = members[0]
	if _, err := Create(tiny.Parse(t), o); !errors.Is(err, mpi.ErrLost) {
		t.Errorf("found %v, expected the error of a group that has ended", err)
	}
	if err := <-other; err == nil || !strings.Contains(err.Error(), "rank 1 of 2: ") || !strings.Contains(err.Error(), "other training examples") {
		t.Errorf("found %v, expected the rank that has other data", err)
	}
	if entries, err := os.ReadDir(o.RunsDir); err == nil && len(entries) > 0 {
		t.Errorf("found %v in %s, expected nothing", entries, o.RunsDir)
	}
}

// ordering is a rank 0 that does something before it gives its orders, which are what it says after
// the length and the text of the configuration.
type ordering struct {
	mpi.Group
	said   int
	before func()
}

func (o *ordering) Broadcast(b []byte) error {
	if o.said++; o.said == 3 {
		o.before()
	}
	return o.Group.Broadcast(b)
}

// A rank that finds other initial weights than rank 0, frozen ones above all, which nobody sends
// it, ends the group.
func TestOtherWeightsOnOneRank(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	given := weights(t, path)
	o := options(t)
	errs := together(t, 2, o.Given, func(g mpi.Group) {
		o := o
		o.Group = &ordering{Group: g, before: func() {
			given[0].Data[0]++
			if err := checkpoints.WriteModel(path, given, nil); err != nil {
				t.Error(err)
			}
		}}
		if _, err := prepare(tiny.Parse(t, from(path, "public")...), o); !errors.Is(err, mpi.ErrLost) {
			t.Errorf("found %v, expected the error of a group that has ended", err)
			g.Abort(1)
		}
	})
	if errs[0] == nil || !strings.Contains(errs[0].Error(), "other initial weights") {
		t.Errorf("found %v, expected that rank 1 has other weights", errs[0])
	}
}

// Diagnostics, which rank 0 would write of its own part alone, are refused.
func TestRanksRefuseDiagnostics(t *testing.T) {
	o := options(t)
	o.Group = mpitest.Local(2)[0]
	if _, err := Create(tiny.Parse(t, "run.private_diagnostics=true"), o); !errors.Is(err, setup.ErrPlan) || !strings.Contains(err.Error(), "run.private_diagnostics") {
		t.Errorf("found %v, expected the key that several ranks do not take", err)
	}
}

// silentAfter is a rank that does not bring its part of the sums after the first so many.
type silentAfter struct {
	mpi.Group
	sums int
	ends chan struct{}
}

func (s *silentAfter) Reduce(values []int64, patience time.Duration) error {
	if s.sums--; s.sums < 0 {
		<-s.ends
		return mpi.ErrLost
	}
	return s.Group.Reduce(values, patience)
}

// A rank that hangs is named, nothing is released of the step, whose event counts, and the run goes
// on without that rank.
func TestRankThatHangs(t *testing.T) {
	o := options(t)
	members, ends, ended := mpitest.Local(3), make(chan struct{}), make(chan error, 2)
	for _, g := range []mpi.Group{members[1], &silentAfter{members[2], 5, ends}} { // one of them says that it is ready
		go func() { ended <- Follow(Options{Options: run.Options{Request: o.Request}, Group: g}) }()
	}
	o.Group, o.Patience = members[0], 200*time.Millisecond
	r := tiny.Must(Create(tiny.Parse(t, "run.checkpoint_every=1"), o))(t)
	_, err := r.Fit(context.Background())
	var missing *mpi.Missing
	if !errors.As(err, &missing) || !slices.Equal(missing.Ranks, []int{2}) {
		t.Errorf("found %v, expected that rank 2 is missing", err)
	}
	members[0].Abort(1)
	close(ends)
	<-ended
	<-ended
	r.Close()
	if n := ledgerOf(t, r.Dir).Count(); n != 5 {
		t.Errorf("the ledger holds %d events after 4 steps and one that failed, expected 5", n)
	}
	o.Group = nil
	again := open(t, r.Dir, o)
	if again.Step != 4 {
		t.Errorf("the run goes on from step %d, expected 4", again.Step)
	}
	fit(t, again)
}
