package train

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

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

// Whatever every public file holds is a function of the noisy vectors, and the ledger holds the
// releases: see [Replay].
func TestPublicFilesDependOnNoisyVectorsAlone(t *testing.T) {
	for name, overrides := range map[string][]string{
		"flat": nil, "adaptive": {adaptive, "privacy.count_share=0.3"},
		"layers, schedule and views": {"privacy.clipping=per_layer", "privacy.clip_schedule=cosine", "training.augmentation.views=2", "training.augmentation.flip=true"},
	} {
		t.Run(name, func(t *testing.T) {
			overrides := append([]string{"training.evaluate_every=3", "run.checkpoint_every=4", "training.batch_size=150", "optimizer.name=adam"}, overrides...)
			source := tiny.Source(t, tiny.Examples)
			r := tiny.Must(Replay(tiny.Parse(t, overrides...), source, neighbour(t, source, 17), t.TempDir()))(t)
			for _, problem := range r.Problems {
				t.Error(problem)
			}
			if !r.Moved || r.Files < 10 || r.Releases != 12 {
				t.Errorf("found %+v, expected sums that differ, 12 releases and at least 10 files", r)
			}
		})
	}
}

// A metric that is computed from training examples is noticed, as is a release that the ledger does
// not hold.
func TestReplayNoticesWhatDependsOnTheData(t *testing.T) {
	source := tiny.Source(t, tiny.Examples)
	other := neighbour(t, source, 17)
	leak := &data.Split{Name: source.Name, Train: source.Train, Test: source.Train}
	leaked := &data.Split{Name: source.Name, Train: other.Train, Test: other.Train}
	r := tiny.Must(Replay(tiny.Parse(t, "training.evaluate_every=3"), leak, leaked, t.TempDir()))(t)
	for _, file := range []string{folder.Metrics, folder.MetricsEvents} {
		if !strings.Contains(strings.Join(r.Problems, "\n"), file) {
			t.Errorf("found %q, expected %s, which was measured on training examples", r.Problems, file)
		}
	}
}

// A file that one of the two runs alone wrote tells them apart, and so does a number of many digits.
func TestReplayNoticesAFileOfOneRun(t *testing.T) {
	dir := t.TempDir()
	for i, one := range []string{"record", "replay"} {
		tiny.Check(t, os.Mkdir(filepath.Join(dir, one), 0o700))
		tiny.Write(t, filepath.Join(dir, one, "both"), fmt.Sprintf("%q %x", fmt.Sprintf("%032x", i), sha256.Sum256([]byte(one))))
		tiny.Write(t, filepath.Join(dir, one, "number"), fmt.Sprintf("0.571234567890123%d", i))
	}
	tiny.Write(t, filepath.Join(dir, "replay", "one"), "1")
	for _, order := range [][2]string{{"record", "replay"}, {"replay", "record"}} {
		var r Replayed
		err := r.compare(filepath.Join(dir, order[0], "run"), filepath.Join(dir, order[1], "run"))
		if err != nil || len(r.Problems) != 2 || !strings.HasPrefix(r.Problems[0], "number ") || !strings.HasPrefix(r.Problems[1], "one ") {
			t.Errorf("found %q, %v, expected the number and the file of one run", r.Problems, err)
		}
	}
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
