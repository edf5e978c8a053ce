package run_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/disk/disktest"
	"dpsgd/internal/folder"
	"dpsgd/internal/mpi"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/slow"
	"dpsgd/internal/statement"
	"dpsgd/internal/sweep"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

// A simulation is the history of some runs in one folder of a [world]: lives of processes that
// create runs, go on with them, collect and look, of which most come to a bad end. Door, ledgers,
// checkpoints, runs and books are the real ones; the records contribute zeros, so what is released
// is noise alone.
type simulation struct {
	*world
	config *configs.Config
	source *setup.Source
	costs  map[int]float64 // see epsilon

	steps, budget int // of each run: planned steps, and the entries that its budget allows
	apart, ranks  bool
	bins          int   // of the epochs of balls in bins; 0 where every record is in every batch
	grid          *grid // of a history of a sweep
	aim           aim
	runs          []*simulated
	noise         map[string]bool // that was released
	lives         int
	working       int // processes
	violations    []string

	meddled bool // whether somebody has changed a ledger or a folder by hand, which happens once
	late    int  // releases after that, which its ledger may miss

	shown  books.Totals // by the last look
	lasts  bool         // whether no power loss could make it smaller
	losses int          // of power by then
}

// An aim makes happen often what it names, because it takes several events that are rare together.
type aim int

const (
	lostSyncs       aim = 3 // the sync of an event fails, and another process goes on while power lasts
	replacedLedgers aim = 5 // a ledger is replaced by a copy while a run writes to it
)

// A simulated run is what the world outside knows of a run.
type simulated struct {
	name     string
	released int                   // vectors that left the door
	copied   int                   // entries that its folder was copied with
	gone     bool                  // its folder was deleted
	said     []statement.Statement // that it published
}

const registry = "/here/runs"

// dim is the number of coordinates of what the simulated runs release.
const dim = 4

// violated notes that something happened that must not.
func (s *simulation) violated(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
	s.trace = append(s.trace, "VIOLATION "+fmt.Sprintf(format, args...))
}

// zeros are records that contribute nothing.
type zeros struct{}

func (zeros) Capacity() int { return 2 }
func (zeros) Contributions(indices []int) (clip.Batch, error) {
	return clip.Batch{SquaredNorms: make([]float64, len(indices)), Parts: []clip.Part{clip.Stored(make([]float32, dim*len(indices)), dim)}}, nil
}

const simulatedConfig = `
data: {folder: stripes, classes: [top, middle, bottom], size: 6, channels: 1, mean: [0.5], std: [0.5]}
model: {name: logistic}
privacy: {noise_multiplier: 1, delta: 1e-4, clip_norm: 1, accountant: rdp}
optimizer: {name: sgd, learning_rate: 1}
training: {sampling: full, steps: 5}
`

// simulatedJob is the job of a simulated run: its model is the sum of all that was released.
type simulatedJob struct {
	*run.Run
	*simulation
	known *simulated
	p     *process
	plan  release.Plan
	door  *release.Door
	model []float32
	stop  int // step after which somebody interrupts the process
	cease context.CancelFunc
	ended run.Status
}

func (s *simulation) plan() release.Plan {
	noise, err := release.NewGaussian(1, nil)
	if err != nil {
		panic(err)
	}
	sampler := release.Sampler(data.Full{})
	if s.bins > 0 {
		sampler = release.BallsInBins{}.Sampler(3/float64(s.bins), 3)
	}
	return release.Plan{Unit: "one record", Records: 3, Sampler: sampler, Policy: clip.Flat{ClipNorm: 1}, Mechanism: noise}
}

func (j *simulatedJob) Identity() string {
	return fmt.Sprintf("%s\n%s", j.Config.Identity(), j.Source.Identity())
}
func (j *simulatedJob) Planned() (*accountant.Ledger, error) {
	return new(accountant.Ledger).With(j.plan.Event(0), j.steps)
}

func (j *simulatedJob) Restore(s *checkpoints.State, at string) error {
	j.model = make([]float32, dim)
	if s == nil {
		return nil
	}
	if s.PlanHash != j.PlanHash {
		return j.OtherPlan(at, s.PlanHash)
	}
	j.model, j.Step, j.ResumedAt = s.Parameters, s.Step, s.Step
	return nil
}

func (j *simulatedJob) Ready() (err error) {
	if j.model == nil {
		j.model = make([]float32, dim)
	}
	j.door, err = release.NewDoor(j.plan, dim, j.Order, func(spent *accountant.Ledger, _ accountant.Event) (bool, error) {
		return spent.Count() < j.budget, nil
	}, nil)
	if err == nil && j.ranks {
		j.door.Among(network{j})
	}
	if turns, event := j.Books.Ledger().Turns(); err == nil && j.bins > 0 && turns%j.bins != 0 {
		err = j.Books.AppendAll(j.Step, event, j.bins-turns%j.bins)
	}
	return err
}

// A network connects a simulated job with one other rank, which has nothing to contribute. It fails
// where the process does, and at times by itself.
type network struct{ *simulatedJob }

func (network) Rank() int                { return 0 }
func (network) Size() int                { return 2 }
func (network) Bounds() []int            { return nil }
func (n network) Share(int, []int) error { return n.talk("share") }
func (n network) Reduce([]int64) error   { return n.talk("reduce") }

func (n network) talk(what string) error {
	n.await(n.p, what)
	if n.rand.IntN(50) == 0 {
		return mpi.ErrLost
	}
	return n.strike(n.p, &disktest.Operation{Name: what})
}

func (j *simulatedJob) State() *checkpoints.State {
	return &checkpoints.State{Parameters: slices.Clone(j.model), OptimizerStep: j.Step}
}

func (j *simulatedJob) Start(context.Context) error { return nil }
func (j *simulatedJob) More() bool                  { return j.Step < j.steps }

func (j *simulatedJob) Next(context.Context) error {
	if err := j.door.Release(j.Step, zeros{}, j.receive); err != nil {
		return err
	}
	j.Step++
	if j.Step == j.stop {
		j.cease()
	}
	_, err := j.Due(j.Step, j.steps, func() error {
		return j.WriteMetrics(run.Metrics{Step: j.Step, Answer: account.Answer{Epsilon: 1, Delta: 1e-4}})
	})
	return err
}

// receive takes what the door releases into the model, and into the world: from now on somebody may
// know it.
func (j *simulatedJob) receive(n release.Noisy) {
	values := n.Values()
	for i, v := range values {
		j.model[i] += float32(v)
	}
	j.released(j.known, fmt.Sprint(values))
}

// released holds a release against the disk: its event is durable in both ledgers.
func (s *simulation) released(r *simulated, values string) {
	r.released++
	if s.noise[values] {
		s.violated("the noise of release %d of %s was used before", r.released, r.name)
	}
	s.noise[values] = true
	own := s.Durable(path.Join(registry, r.name, folder.Ledger))
	line := own[bytes.LastIndexByte(own[:max(0, len(own)-1)], '\n')+1:]
	hash := line[min(len(line), bytes.LastIndex(line, []byte(`:"`))+2):]
	both := len(hash) > 32 && bytes.Contains(s.Durable(s.shared(r)), hash[:32])
	if entries := entriesIn(own); entries < r.copied+r.released || bytes.IndexByte(own, 0) >= 0 {
		// A file that is cut off between its last check and a write has a hole, which whoever opens it
		// refuses; the other ledger has the release.
		if !s.meddled || !both {
			s.violated("release %d of %s is made while its ledger has %d durable entries, or a hole", r.released, r.name, entries)
		}
		return
	}
	if both {
		return
	}
	if s.late++; !s.meddled || s.late > 3 { // whoever has written both lines makes this release, and no other
		s.violated("release %d of %s is made while its event is not durable in the ledger of the data", r.released, r.name)
	}
}

// entriesIn counts the entries of a run's ledger.
func entriesIn(ledger []byte) int { return max(0, bytes.Count(ledger, []byte("\n"))-1) }

func (j *simulatedJob) Finish(status run.Status) error {
	j.ended = status
	runs, made := j.made()
	together, err := j.Books.Together()
	if err != nil {
		return err
	}
	if runs > 1 && !j.p.dead && max(together.DatasetReleases, j.Books.Len()) < made { // a copy's ledger has those of both
		j.violated("%s states %d releases together, expected the %d that were made", j.known.name, together.DatasetReleases, made)
	}
	claim, err := account.ClaimBy(j.Config.Privacy.Accountant, j.Books.Ledger(), j.Books.Planned(), j.Config.Privacy.Delta)
	if err != nil {
		return err
	}
	err = j.Keep(run.Saving{What: "the model", File: folder.Model, Bytes: 1024, Write: func(dir string) error {
		return checkpoints.WriteModel(path.Join(dir, folder.Model), []checkpoints.Tensor{{Name: "sum", Shape: []int{dim}, Data: j.model}}, nil)
	}})
	if err != nil {
		return err
	}
	said := j.Statement(status, claim, together)
	if err := j.Publish(said); err != nil {
		return err
	}
	j.known.said = append(j.known.said, said)
	return nil
}

// made counts the runs that have released something, a copy as the run that it is of, and what all have
// released.
func (s *simulation) made() (runs, releases int) {
	for _, r := range s.runs {
		if releases += r.released; r.released > 0 && r.copied == 0 {
			runs++
		}
	}
	return runs, releases
}

// train creates the run, or goes on with it, in process p.
func (s *simulation) train(p *process, r *simulated, create bool, stop int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := *s.config
	c.Run.Name = r.name
	o := run.Options{
		RunsDir: p.at(registry), Apart: s.apart, Threads: 1, Fits: func(*configs.Config, setup.Outline) error { return nil },
		Find: func(*configs.Config, setup.Request) (*setup.Source, error) { return s.source, nil },
	}
	build := func(base *run.Run) (*simulatedJob, error) {
		return &simulatedJob{Run: base, simulation: s, known: r, p: p, plan: s.plan(), stop: stop, cease: cancel}, nil
	}
	dir := path.Join(o.RunsDir, r.name)
	if s.apart { // as the tasks of a sweep do
		if err := checkpoints.MakeDir(o.RunsDir); err != nil {
			return err
		}
		if _, err := books.EnsureDatasets(o.RunsDir); err != nil {
			return err
		}
		lock, err := checkpoints.TakeLock(dir + ".lock")
		if err != nil {
			return err
		}
		defer lock.Remove()
	}
	var j *simulatedJob
	var err error
	if create {
		j, err = run.Create(&c, o, build)
	} else {
		j, err = run.Open(dir, &c, o, build)
	}
	if err != nil {
		return err
	}
	err = j.CarryOut(ctx)
	if err == nil && j.ended == run.Done {
		s.complete(p, r)
	}
	return errors.Join(err, j.Close())
}

// complete holds a run that says that it is done against the disk.
func (s *simulation) complete(p *process, r *simulated) {
	if s.meddled {
		return
	}
	for _, name := range []string{folder.Config, folder.Plan, folder.Ledger, folder.Model, folder.Statement, folder.StatementData, path.Join(folder.Checkpoints, checkpoints.FileName(s.steps))} {
		if s.Durable(path.Join(registry, r.name, name)) == nil {
			s.violated("%s ended as done without a durable %s", r.name, name)
		}
	}
}

// collect brings the runs apart that are not at work into the ledger of the data.
func (s *simulation) collect(p *process) error {
	var dirs []string
	var trials []checkpoints.Reservation
	subject := books.SubjectOf(s.config, s.source.Outline)
	planned, err := new(accountant.Ledger).With(s.plan().Event(0), s.steps)
	for _, r := range s.runs {
		dirs = append(dirs, p.at(path.Join(registry, r.name)))
		trials = append(trials, checkpoints.Reservation{By: r.name, Subject: subject, Planned: planned})
	}
	if err == nil && s.config.Data.Limit.Any() {
		err = books.EnsureLimit(p.at(registry), s.config, subject)
	}
	if err = cmp.Or(err, books.ReserveTrials(p.at(registry), trials, "")); err != nil {
		return err
	}
	return books.Collect(p.at(registry), dirs, func(dir string) (func() error, error) {
		lock, err := checkpoints.TakeLock(dir + ".lock")
		if err != nil {
			return nil, err
		}
		return lock.Remove, nil
	})
}

// round lets up to three processes live at the same time.
func (s *simulation) round() {
	for range 1 + s.rand.IntN(3) {
		f := fault{kind: faultKinds[s.rand.IntN(len(faultKinds))], at: s.rand.IntN(1 << (3 + s.rand.IntN(8))), most: 1 + s.rand.IntN(40)}
		if s.aim == lostSyncs {
			f = fault{kind: []string{"", "event"}[s.rand.IntN(2)], at: 1 + s.rand.IntN(4)}
		}
		p := s.process(f, false)
		stop := s.rand.IntN(2 * s.steps)
		switch what := s.rand.IntN(8); {
		case len(s.runs) == 0 || what < 2 && len(s.runs) < 3:
			r := &simulated{name: string(rune('a' + len(s.runs)))}
			s.runs = append(s.runs, r)
			s.begin(p, r, "create "+r.name, func() error { return s.train(p, r, true, stop) })
		case what == 2 && s.apart:
			s.begin(p, nil, "collect", func() error { return s.collect(p) })
		default:
			r := s.runs[s.rand.IntN(len(s.runs))]
			s.begin(p, r, "go on with "+r.name, func() error { return s.train(p, r, false, stop) })
		}
	}
	if !s.meddled && len(s.runs) > 0 && (s.rand.IntN(6) == 0 || s.aim == replacedLedgers) {
		s.visit, s.visitAt = s.meddle, s.rand.IntN(300)
	}
	s.schedule(func() bool { return s.working == 0 })
	s.visit = nil
}

// meddle changes one file or folder, of those in which two know of each release, as a person may
// who does not know better.
func (s *simulation) meddle() {
	r := s.runs[s.rand.IntN(len(s.runs))]
	dir := path.Join(registry, r.name)
	file := []string{path.Join(dir, folder.Ledger), s.shared(r), path.Join(registry, folder.Datasets)}[s.rand.IntN(3)]
	content := s.Content(file)
	if len(content) == 0 || s.anyGone() {
		return
	}
	older := bytes.Clone(content[:s.rand.IntN(len(content))])
	if s.rand.IntN(2) == 0 {
		older = older[:bytes.LastIndexByte(older, '\n')+1]
	}
	what := s.rand.IntN(6)
	if s.aim == replacedLedgers {
		what = 3
	}
	switch what {
	case 0:
		s.Delete(file)
	case 1:
		s.Put(file, older[:bytes.LastIndexByte(older, '\n')+1])
	case 2:
		s.Overwrite(file, older)
	case 3:
		s.Put(file, content) // the same, and another file
	case 4:
		s.Copy(dir, dir+"-moved")
		s.Delete(dir)
	case 5:
		s.Copy(dir, dir+"-copy")
		own := s.Content(path.Join(dir, folder.Ledger))
		s.runs = append(s.runs, &simulated{name: r.name + "-copy", copied: entriesIn(own)})
	}
	s.meddled, s.shown = true, books.Totals{}
	s.trace = append(s.trace, fmt.Sprintf("somebody does %d to %s and %s", what, file, dir))
}

// shared is the ledger beside its own that knows the releases of a run.
func (s *simulation) shared(r *simulated) string {
	if s.apart {
		return path.Join(registry, folder.Uncollected, r.name+".jsonl")
	}
	return path.Join(registry, folder.Datasets)
}

// begin starts a life.
func (s *simulation) begin(p *process, r *simulated, what string, f func() error) {
	s.lives++
	s.working++
	s.trace = append(s.trace, fmt.Sprintf("process %d: %s, %s at call %d", p.number, what, p.fault.kind, p.fault.at))
	go func() {
		s.await(p, "begin")
		err := f()
		s.mu.Lock()
		s.working--
		s.trace = append(s.trace, fmt.Sprintf("process %d ended after call %d: %v", p.number, p.calls, err))
		s.judge(p, r, what, err)
		s.mu.Unlock()
		s.wake()
	}()
}

// judge decides whether a process may end with that error.
func (s *simulation) judge(p *process, r *simulated, what string, err error) {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case s.meddled: // it is refused, or goes on with all that was released
	case is(checkpoints.ErrCorrupt, checkpoints.ErrRollback, checkpoints.ErrMoved, books.ErrOtherPlan):
		s.violated("%s: %v", what, err)
	case is(checkpoints.ErrLocked) && strings.HasPrefix(what, "go on") && !s.apart && p.writes > 0:
		s.violated("%s is refused after %d writes: %v", what, p.writes, err)
	case err == nil, p.dead, p.calls > p.fault.at && p.fault.kind != "":
	case is(checkpoints.ErrLocked, books.ErrLimit, release.ErrBudget, mpi.ErrLost, run.ErrUntrained, folder.ErrRunExists, sweep.ErrOtherSweep):
	case r != nil && (r.gone || r.released == 0) && is(folder.ErrNoRun, checkpoints.ErrUnfinished, fs.ErrNotExist): // its creation came to a bad end
	case r == nil && s.anyGone() && is(fs.ErrNotExist): // what it released stays where it is, and counts
	default:
		s.violated("%s, on a disk without fault: %v", what, err)
	}
}

func (s *simulation) anyGone() bool {
	return slices.ContainsFunc(s.runs, func(r *simulated) bool { return r.gone })
}

// remove deletes the folder of a run, as its owner may: what it released counts nevertheless. An
// entry that only its own ledger had was no release.
func (s *simulation) remove(r *simulated) {
	r.gone = true
	s.Delete(path.Join(registry, r.name))
	s.trace = append(s.trace, "deleted "+r.name)
	s.shown = books.Totals{}
}

// look looks at the disk from outside, as whoever asks what all runs cost.
func (s *simulation) look() {
	p := s.process(fault{}, true)
	_, acknowledged := s.made()
	for _, r := range s.runs {
		if r.gone || s.meddled {
			continue
		}
		for range r.said {
			if _, err := statement.Read(p.at(path.Join(registry, r.name))); err != nil {
				s.violated("%s: its statement cannot be read: %v", r.name, err)
			}
		}
		l, _, err := checkpoints.ReadJournal(p.at(path.Join(registry, r.name, folder.Ledger)))
		switch {
		case err != nil && r.released > 0:
			s.violated("%s: its ledger cannot be read: %v", r.name, err)
		case err == nil && (l.Count() > s.budget+max(0, s.bins-1) || l.Count() < r.released): // an epoch is paid for as a whole
			s.violated("%s: found %d entries, expected the %d that were released and at most %d", r.name, l.Count(), r.released, s.budget+max(0, s.bins-1))
		}
	}
	if l := s.config.Data.Limit; l.Any() && s.bins == 0 && s.epsilon(acknowledged) > l.Epsilon {
		s.violated("%d releases have ε = %v, expected at most the limit of %v", acknowledged, s.epsilon(acknowledged), l.Epsilon)
	}
	if !s.Holds(registry) {
		return
	}
	shown, err := books.Show(p.at(registry))
	if errors.Is(err, folder.ErrNoRun) && acknowledged == 0 {
		return
	}
	if err != nil && s.meddled {
		return // which says so
	}
	if err != nil {
		s.violated("the totals cannot be shown: %v", err)
		return
	}
	before, now := total(s.shown), total(shown)
	if now.Releases < acknowledged {
		s.violated("found %d releases in the totals, expected the %d that were made: %+v", now.Releases, acknowledged, shown)
	}
	if (s.lasts || s.losses == s.world.losses) && now.Epsilon < before.Epsilon {
		s.violated("ε fell from %v to %v", before.Epsilon, now.Epsilon)
	}
	for i, l := range shown.Limits {
		if i < len(s.shown.Limits) && (s.lasts || s.losses == s.world.losses) && l.Spent < s.shown.Limits[i].Spent {
			s.violated("of the limit %v is spent after %v", l.Spent, s.shown.Limits[i].Spent)
		}
		if l.Spent > l.Epsilon && !s.meddled { // an older copy may lack how δ was split
			s.violated("%d entries use ε = %v, expected at most the limit of %v", now.Releases, l.Spent, l.Epsilon)
		}
	}
	s.shown, s.lasts, s.losses = shown, s.Settled(), s.world.losses
}

// limitDelta is the δ of every limit.
const limitDelta = 1e-3

// epsilon returns what so many releases cost at limitDelta.
func (s *simulation) epsilon(releases int) float64 {
	if known, ok := s.costs[releases]; ok || releases == 0 {
		return known
	}
	made, err := new(accountant.Ledger).With(s.plan().Event(0), releases)
	if err != nil {
		panic(err)
	}
	spent, err := account.SpentBy(account.Exact, made, limitDelta)
	if err != nil {
		panic(err)
	}
	s.costs[releases] = spent.Epsilon
	return spent.Epsilon
}

func total(t books.Totals) books.Total {
	if len(t.Datasets) == 0 {
		return books.Total{}
	}
	return t.Datasets[0]
}

// ending goes on with all runs on a disk without faults: whatever happened, that works.
func (s *simulation) ending() {
	if s.grid != nil {
		p := s.process(fault{}, false)
		s.begin(p, nil, "sweep", func() error { return s.carryOut(p, "sweep", 0) })
		s.schedule(func() bool { return s.working == 0 })
		s.look()
		return
	}
	for _, r := range s.runs {
		if !s.Holds(path.Join(registry, r.name, folder.Ledger)) {
			continue
		}
		p := s.process(fault{}, false)
		s.begin(p, r, "go on with "+r.name, func() error { return s.train(p, r, false, 0) })
		s.schedule(func() bool { return s.working == 0 })
		s.look()
	}
}

// A setting is what all histories have in common.
type setting struct {
	config *configs.Config
	source *setup.Source
	costs  map[int]float64 // of so many releases
}

func newSetting(t *testing.T) setting {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the simulation begin with a slash")
	}
	config := tiny.Must(configs.Parse("simulated.yaml", []byte(simulatedConfig), nil))(t)
	return setting{config, tiny.Must((setup.Request{Given: tiny.Source(t, 3)}).Find(config))(t), map[int]float64{}}
}

// simulate returns a history that one seed decides, after what history makes happen in it.
func (given setting) simulate(t *testing.T, seed uint64, history func(*simulation)) *simulation {
	c := *given.config
	s := &simulation{config: &c, source: given.source, costs: given.costs, noise: map[string]bool{}}
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, seed)
		s.world = newWorld(seed)
		disk.System = s.world.Disk
		defer func() { disk.System = disk.Real{} }()
		history(s)
		s.ending()
	})
	return s
}

// anything makes happen whatever the seed decides.
func anything(s *simulation) {
	s.steps = 1 + s.rand.IntN(6)
	if s.aim == replacedLedgers {
		s.steps = 6
	}
	s.budget = s.steps + s.rand.IntN(3)
	s.apart, s.ranks = s.rand.IntN(4) == 0, s.rand.IntN(3) == 0
	if s.rand.IntN(16) == 0 { // whose accounting takes long
		s.bins = 2 + s.rand.IntN(2)
	}
	s.config.Run.CheckpointEvery, s.config.Training.EvaluateEvery = s.rand.IntN(4), s.rand.IntN(3)
	if s.rand.IntN(3) == 0 {
		s.config.Data.Limit = configs.Limit{Epsilon: 4 + 8*s.rand.Float64(), Delta: limitDelta}
	}
	for range 2 + s.rand.IntN(8) {
		s.round()
		if s.rand.IntN(6) == 0 && s.aim != lostSyncs {
			s.losePower()
		}
		if s.rand.IntN(12) == 0 && len(s.runs) > 0 && !s.meddled {
			s.remove(s.runs[s.rand.IntN(len(s.runs))])
		}
		s.look()
	}
}

// check fails the test, which has seen so many lives, if something happened that must not.
func (s *simulation) check(t *testing.T, seed uint64, lived int) {
	t.Helper()
	if len(s.violations) > 0 {
		t.Fatalf("seed %d, within %d lives:\n%s\nafter\n%s", seed, lived, strings.Join(s.violations, "\n"), strings.Join(s.trace[max(0, len(s.trace)-150):], "\n"))
	}
}

// Whatever happens to the disk and to processes, no ε that was told falls, no update is made
// without its durable event, no noise is used twice, no budget is passed, everything can be read, a
// refusal writes nothing, and what ends as done is complete.
func TestSimulation(t *testing.T) {
	lives, given, lived, released := slow.Number(t, "DPSGD_LIVES", 1000, 10_000), newSetting(t), 0, map[bool]int{}
	for seed := uint64(slow.Number(t, "DPSGD_SEED", 1, 1)); lived < lives; seed++ {
		s := given.simulate(t, seed, func(s *simulation) { s.aim = aim(seed % 6); anything(s) })
		lived += s.lives
		s.check(t, seed, lived)
		_, n := s.made()
		released[s.apart] += n
	}
	t.Logf("%d lives without a violation; %d releases, and %d of runs apart", lived, released[false], released[true])
	if min(released[false], released[true]) < lives/100 {
		t.Error("too few of them released anything: this shows nothing")
	}
}

// The same holds where one run has a fault of every kind that begins at each of its calls, in its
// first process and then in the one that goes on with it.
func TestEveryCallFails(t *testing.T) {
	given, lived, stride := newSetting(t), 0, 11
	if slow.Asked() {
		stride = 1
	}
	for k, kind := range []string{"kill", "power loss", "error", "sync", "short", "full", "read-only"} {
		struck := true
		for at := k; struck; at += stride {
			s := given.simulate(t, uint64(at), func(s *simulation) {
				s.steps, s.budget = 2, 5
				s.config.Run.CheckpointEvery = 1
				r := &simulated{name: "a"}
				s.runs = []*simulated{r}
				struck = false
				for _, what := range []string{"create", "go on with"} {
					p := s.process(fault{kind: kind, at: at, most: 1 + at%3}, false)
					s.begin(p, r, what+" a", func() error { return s.train(p, r, what == "create", 1) })
					s.schedule(func() bool { return s.working == 0 })
					s.look()
					struck = struck || p.calls > at
				}
			})
			lived += s.lives
			s.check(t, uint64(at), lived)
		}
	}
	t.Logf("%d lives without a violation", lived)
}

// A run begins under a limit and in a ledger of data sets of which another process' sync failed, and
// then power is lost, at all calls of both at which they write these files.
func TestLostBeginnings(t *testing.T) {
	given, lived := newSetting(t), 0
	for failed := 44; failed < 75; failed += 2 {
		for lost := 50; lost < 90; lost += 2 {
			seed := uint64(1000*failed + lost)
			s := given.simulate(t, seed, func(s *simulation) {
				s.steps, s.budget = 2, 2
				if lost%4 == 0 {
					s.config.Data.Limit = configs.Limit{Epsilon: 9, Delta: limitDelta}
				}
				for i, f := range []fault{{kind: "sync", at: failed, most: 5}, {kind: "power loss", at: lost, most: 1}} {
					r := &simulated{name: string(rune('a' + i))}
					s.runs = append(s.runs, r)
					p := s.process(f, false)
					s.begin(p, r, "create "+r.name, func() error { return s.train(p, r, true, 2) })
					s.schedule(func() bool { return s.working == 0 })
				}
				s.look()
			})
			lived += s.lives
			s.check(t, seed, lived)
		}
	}
	t.Logf("%d lives without a violation", lived)
}
