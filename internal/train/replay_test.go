package train

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

// tape is a mechanism that remembers what it released, or releases what another one remembers,
// whatever the sum is.
type tape struct {
	release.Mechanism
	recorded [][]float64
	play     *tape // nil to record
	sums     [][]int64
}

func (m *tape) Privatize(step int, sum *clip.Sum, _ *random.Source, consume func(release.Noisy)) error {
	// The sum is kept, to show that the data sets differ, and handed on.
	integers := make([]int64, sum.Dim())
	sum.Release(func(read clip.Integers, _ clip.Lattice) { read(integers, 0) })
	m.sums = append(m.sums, integers)
	row := make([]float32, len(integers))
	if m.play != nil {
		for i, v := range m.play.recorded[step] {
			row[i] = float32(v)
		}
	}
	// Values get into release.Noisy by way of a mechanism alone: of next to no noise, for a sum
	// that is given.
	stand, err := release.NewGaussian(1e-30, nil)
	if err != nil {
		return err
	}
	fresh, err := clip.NewSum(clip.Flat{ClipNorm: 1 << 20}, len(row), nil)
	if err != nil {
		return err
	}
	if m.play == nil {
		spread := random.Seeded(uint64(step))
		for i, v := range integers {
			row[i] = float32(float64(v)*sum.Lattice().Spacing + spread.Float64() - 0.5)
		}
	}
	if err := fresh.Add(clip.Batch{SquaredNorms: []float64{0}, Parts: []clip.Part{clip.Stored(row, len(row))}}, 1); err != nil {
		return err
	}
	noisy := make([]float64, len(row))
	err = stand.Privatize(step, fresh, random.ForTest(1), func(n release.Noisy) {
		copy(noisy[n.From():], n.Values())
		consume(n)
	})
	m.recorded = append(m.recorded, noisy)
	return err
}

// neighbour is the data with another picture and another label in one place.
func neighbour(t *testing.T, s *data.Split, place int) *data.Split {
	t.Helper()
	other := remade(t, s.Train, s.Train.Classes(), func(i int, label *uint8, pixels []uint8) {
		if i == place {
			*label = (*label + 1) % 3
			for j := range pixels {
				pixels[j] = 255 - pixels[j]
			}
		}
	})
	return &data.Split{Name: s.Name, Train: other, Test: s.Test}
}

// random identifiers, hashes over them, and the name of the folder differ between any two runs. Of
// engines.json the chosen words may differ too: they hang on how fast the machine was at random
// numbers, before the first example came near the graph.
var (
	identifiers = regexp.MustCompile(`[0-9a-f]{16,64}`)
	chosen      = regexp.MustCompile(`"(ghost|materialise)"`)
)

// Record and replay (Re:cord-play, arXiv:2602.17454): a run is recorded, and repeated on a data set
// that differs in one example with the same samples and with the noisy vectors of the record.
// Whatever every public file holds is then the same, byte for byte but for random identifiers
// and the chosen engines: nothing depends on the data except through the noisy vectors.
func TestPublicFilesDependOnNoisyVectorsAlone(t *testing.T) {
	for name, overrides := range map[string][]string{
		"flat": nil, "adaptive": {adaptive, "privacy.count_share=0.3"},
		"layers, schedule and views": {"privacy.clipping=per_layer", "privacy.clip_schedule=cosine", "training.augmentation.views=2", "training.augmentation.flip=true"},
	} {
		t.Run(name, func(t *testing.T) { checkPublicFiles(t, overrides) })
	}
}

func checkPublicFiles(t *testing.T, choices []string) {
	overrides := append([]string{"training.evaluate_every=3", "run.checkpoint_every=4", "training.batch_size=150", "optimizer.name=adam"}, choices...)
	source := tiny.Source(t, tiny.Examples)
	record := func(source *data.Split, play *tape) (*tape, string) {
		o := options(t)
		o.Given = source
		r := create(t, tiny.Parse(t, overrides...), o)
		m := &tape{Mechanism: r.plan.Mechanism, play: play}
		sampler, _ := r.plan.Sampler.(data.Poisson)
		r.plan.Mechanism, r.plan.Sampler = m, seededSampler{sampler, random.ForTest(7)}
		tiny.Check(t, r.openDoor())
		return m, fit(t, r).Run
	}
	first, dir := record(source, nil)
	second, other := record(neighbour(t, source, 17), first)
	differ := false
	for step := range first.sums {
		differ = differ || !slices.Equal(first.sums[step], second.sums[step])
	}
	if !differ {
		t.Fatal("the sums do not differ; the test needs another example")
	}
	compared := 0
	for path := range tiny.Snapshot(t, dir) {
		name, err := filepath.Rel(dir, path)
		if info, statErr := os.Stat(path); err != nil || statErr != nil || info.IsDir() {
			continue
		}
		compared++
		want, got := publicBytes(t, path), publicBytes(t, filepath.Join(other, name))
		if !bytes.Equal(want, got) {
			t.Errorf("%s depends on the data by another way than the noisy vectors:\n%.2000s\n---\n%.2000s", name, want, got)
		}
	}
	registry := filepath.Join(filepath.Dir(dir), "datasets.jsonl")
	if a, b := publicBytes(t, registry), publicBytes(t, filepath.Join(filepath.Dir(other), "datasets.jsonl")); !bytes.Equal(a, b) {
		t.Errorf("datasets.jsonl depends on the data:\n%s\n---\n%s", a, b)
	}
	if compared < 9 {
		t.Errorf("only %d files were compared", compared)
	}
}

// publicBytes is a file without what is random in it. A checkpoint is taken apart: its hash covers
// such parts.
func publicBytes(t *testing.T, path string) []byte {
	t.Helper()
	if strings.HasSuffix(path, ".ckpt") {
		s := tiny.Must(checkpoints.Load(path))(t)
		s.LedgerHash = ""
		return tiny.Must(json.Marshal(s))(t)
	}
	content := []byte(tiny.Read(t, path))
	if filepath.Base(path) == folder.Engines {
		content = chosen.ReplaceAll(content, []byte("…"))
	}
	return identifiers.ReplaceAll(content, []byte("…"))
}

// No public file of a run holds a time, a rate or a batch size: what differs between two runs with
// the same noisy vectors is random identifiers alone, although one of them took its time.
func TestPublicFilesHoldNoTimes(t *testing.T) {
	r := train(t, options(t), "training.evaluate_every=4")
	words := regexp.MustCompile(`(?i)seconds|per_second|duration|batch_size_drawn|elapsed|"time"`)
	for path := range tiny.Snapshot(t, r.Run) {
		if info, err := os.Stat(path); err != nil || info.IsDir() || strings.HasSuffix(path, ".ckpt") {
			continue
		}
		if found := words.FindString(tiny.Read(t, path)); found != "" && filepath.Base(path) != folder.Statement && filepath.Base(path) != folder.StatementData {
			t.Errorf("%s speaks of %q", path, found)
		}
	}
	state, _, err := checkpoints.Latest(filepath.Join(r.Run, folder.Checkpoints))
	if err != nil || state.Step != 12 {
		t.Fatalf("found %+v, %v", state, err)
	}
	// The header of a checkpoint has a field for seconds, of older files; it is written as 0.
	for path := range tiny.Snapshot(t, r.Run) {
		if strings.HasSuffix(path, ".ckpt") && !strings.Contains(tiny.Read(t, path), `"seconds":0}`) {
			t.Errorf("%s does not say \"seconds\":0", path)
		}
	}
}
