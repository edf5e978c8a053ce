package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/release"
)

// Replayed is what [Replay] found. Problems has a line for everything that is not as it must be.
type Replayed struct {
	Releases int      // of the recorded run
	Files    int      // that were compared
	Moved    bool     // whether the bare sums of the two runs differ: else nothing was shown
	Problems []string // public bytes that depend on the data, and a ledger that does not hold the releases
}

// Replay records a run on one set of examples and repeats it on another, in folders below dir, with
// the samples and the noisy vectors of the record (Re:cord-play, arXiv:2602.17454). Whatever a
// public file holds must then be the same, byte for byte but for random identifiers: nothing
// depends on the data except through the noisy vectors. The ledger of the recorded run must hold
// the plan's event of every release, and nothing else.
//
// Nothing that these runs write is private. They are for examples that are nobody's.
func Replay(c *configs.Config, one, other *data.Split, dir string) (r Replayed, err error) {
	first, err := tapedRun(c, one, filepath.Join(dir, "record"), nil)
	if err != nil {
		return r, err
	}
	second, err := tapedRun(c, other, filepath.Join(dir, "replay"), first)
	if err != nil {
		return r, err
	}
	r.Releases, r.Problems = first.steps.releases, first.problems
	for step, sum := range first.steps.sums {
		r.Moved = r.Moved || !slices.Equal(sum, second.steps.sums[step])
	}
	return r, r.compare(first.dir, second.dir)
}

// compare compares the public bytes of two runs, and of the registries beside them.
func (r *Replayed) compare(first, second string) error {
	here, there := filepath.Dir(first), filepath.Dir(second)
	names, err := filesOf(here)
	if err != nil {
		return err
	}
	others, err := filesOf(there)
	if err != nil {
		return err
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(names, others...)))) {
		want, err := publicBytes(filepath.Join(here, name))
		found, missing := publicBytes(filepath.Join(there, name))
		if r.Files++; err != nil || missing != nil || !bytes.Equal(want, found) {
			r.Problems = append(r.Problems, fmt.Sprintf("%s depends on the data by another way than the noisy vectors", name))
		}
	}
	return nil
}

// filesOf returns the names of the files below a registry, without the features beside it.
func filesOf(registry string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(registry), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(name, folder.Features) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// identifiers matches random identifiers, which stand in quotes, and hashes of 64 digits over them:
// they differ between any two runs. A number has neither quotes nor 64 digits.
var identifiers = regexp.MustCompile("[\"`][0-9a-f]{16,32}[\"`]|\\b[0-9a-f]{64}\\b")

// publicBytes returns a file without what is random in it. A checkpoint is taken apart: its hash
// covers such parts.
func publicBytes(path string) ([]byte, error) {
	if strings.HasSuffix(path, ".ckpt") {
		s, err := checkpoints.Load(path)
		if err != nil {
			return nil, err
		}
		s.LedgerHash = ""
		return json.Marshal(s)
	}
	content, err := os.ReadFile(path)
	return identifiers.ReplaceAll(content, []byte("…")), err
}

// taped is a run whose releases and samples were recorded, or are those of a record.
type taped struct {
	dir      string
	steps    *tape
	mean     *tape // of the release ahead of the first step
	samples  *sampleTape
	problems []string
}

// tapedRun carries out a run below dir, and records it, or replays the record of play.
func tapedRun(c *configs.Config, source *data.Split, dir string, play *taped) (*taped, error) {
	r, err := Create(c, Options{Options: run.Options{Request: setup.Request{Given: source}, RunsDir: dir, Name: "selftest"}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t := &taped{dir: r.Dir, steps: &tape{Mechanism: r.plan.Mechanism}, samples: &sampleTape{Sampler: r.plan.Sampler}, mean: new(tape)}
	if play != nil {
		t.steps.play, t.mean.play, t.samples.play = play.steps, play.mean, play.samples
	}
	r.plan.Mechanism, r.plan.Sampler = t.steps, t.samples
	if r.plan.Mean != nil {
		t.mean.Mechanism = r.plan.Mean.Mechanism
		r.plan.Mean.Mechanism = t.mean
	}
	if err := r.openDoor(); err != nil {
		return nil, err
	}
	result, err := r.Fit(context.Background())
	if err != nil {
		return nil, err
	}
	return t, t.audit(r, result)
}

// audit compares the ledger of a run that has ended with the releases on the tapes.
func (t *taped) audit(r *Run, result Result) error {
	l, _, err := checkpoints.ReadJournal(r.Path(folder.Ledger))
	if err != nil {
		return err
	}
	planned, err := r.plan.Schedule(result.Steps)
	if err != nil {
		return err
	}
	if !slices.Equal(l.Entries(), planned.Entries()) {
		t.problems = append(t.problems, fmt.Sprintf("the ledger holds %v, expected %v", l.Entries(), planned.Entries()))
	}
	if made := t.steps.releases + t.mean.releases; made != l.Count() || t.steps.releases != result.Steps {
		t.problems = append(t.problems, fmt.Sprintf("found %d releases and %d updates, expected as many as the %d entries of the ledger", made, result.Steps, l.Count()))
	}
	return nil
}

// tape is a mechanism that remembers what it released, or releases what another one remembers,
// whatever the sum is.
type tape struct {
	release.Mechanism
	play     *tape // nil to record
	sums     [][]int64
	recorded []vector
	releases int
}

func (m *tape) Privatize(step int, sum *clip.Sum, _ *random.Source, consume func(release.Noisy)) error {
	// The sum is kept, to show that the data sets differ, and handed on.
	integers := make([]int64, sum.Dim())
	if err := sum.Release(func(read clip.Integers, _ clip.Lattice) { read(integers, 0) }); err != nil {
		return err
	}
	m.sums = append(m.sums, integers)
	if m.play != nil && m.releases >= len(m.play.recorded) {
		return errors.New("train: a run that is replayed makes more releases than its record holds")
	}
	if m.play != nil {
		m.recorded = append(m.recorded, m.play.recorded[m.releases])
	} else {
		m.recorded = append(m.recorded, m.made(step, integers, sum.Lattice()))
	}
	m.releases++
	return m.recorded[m.releases-1].publish(consume)
}

// made returns the vector of a release that is recorded: the sum with something like noise.
func (m *tape) made(step int, integers []int64, l clip.Lattice) vector {
	v := vector{values: make([]float32, len(integers))}
	spread, square := random.Seeded(uint64(m.releases)), 0.0
	deviation := m.Deviation(max(0, step), l.Bound)
	for i, n := range integers {
		value := float64(n)*l.Spacing + 2*deviation*(spread.Float64()-0.5)
		v.values[i], square = float32(value), square+value*value
	}
	v.bound = max(2*math.Sqrt(square), clip.MinClipNorm)
	return v
}

// vector is a vector that is to be released as it is, and a bound of its length.
type vector struct {
	values []float32
	bound  float64
}

// publish hands the vector to consume. Values get into release.Noisy by way of a mechanism alone: of
// next to no noise, for a sum that is given.
func (v vector) publish(consume func(release.Noisy)) error {
	stand, err := release.NewGaussian(1e-30, nil)
	if err != nil {
		return err
	}
	sum, err := clip.NewSum(clip.Flat{ClipNorm: v.bound}, len(v.values), nil)
	if err != nil {
		return err
	}
	if err := sum.Add(clip.Batch{SquaredNorms: []float64{0}, Parts: []clip.Part{clip.Stored(v.values, len(v.values))}}, 1); err != nil {
		return err
	}
	return stand.Privatize(0, sum, random.New(), consume)
}

// sampleTape is a sampler that remembers what it drew, or draws what another one remembers.
type sampleTape struct {
	release.Sampler
	play  *sampleTape // nil to record
	turn  int
	drawn [][]int
}

// At implements [release.Rotating].
func (s *sampleTape) At(turn int) release.Sampler { s.turn = turn; return s }

func (s *sampleTape) Sample(dst []int, n int, src *random.Source) []int {
	if s.play == nil || len(s.drawn) >= len(s.play.drawn) {
		s.drawn = append(s.drawn, slices.Clone(release.At(s.Sampler, s.turn).Sample(dst, n, src)))
	} else {
		s.drawn = append(s.drawn, s.play.drawn[len(s.drawn)])
	}
	return s.drawn[len(s.drawn)-1]
}
