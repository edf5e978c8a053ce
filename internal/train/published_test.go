package train

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// published is a data set with a checksum, so that its examples are known without reading them.
// reads counts how often they are read all the same; without a source, their files are not there.
var published struct {
	source *data.Split
	reads  int
}

func init() {
	err := data.Register(data.Dataset{
		Name: "stripes", Doc: "thirds of a picture", Shape: data.Shape{Height: 12, Width: 12, Channels: 1},
		Classes: []string{"top", "middle", "bottom"}, Train: tiny.Examples, Test: 90,
		Verified: []data.File{{Name: "stripes", SHA256: "of stripes"}},
		Load: func(*data.Dataset, string, uint64) (*data.Split, error) {
			published.reads++
			if published.source == nil {
				return nil, data.ErrMissing
			}
			read := *published.source
			return &read, nil
		},
	})
	if err != nil {
		panic(err)
	}
}

// onPublished returns what a run on features of that set needs.
func onPublished(t *testing.T) (*configs.Config, Options) {
	published.reads, published.source = 0, tiny.Large(t)
	o := options(t)
	o.Given = nil
	return tiny.Parse(t, append(slices.Clone(tiny.Features), "data.name=stripes")...), o
}

// Features of a published data set stand for its pictures, which later runs do not read: in them,
// the network sees what it saw in the first one. Where what is kept is damaged, they read them.
func TestPublishedPicturesAreReadOnce(t *testing.T) {
	c, o := onPublished(t)
	first := create(t, c, o)
	want := firstRow(first)
	fit(t, first)
	published.source = nil
	second := create(t, c, o)
	if got := firstRow(second); published.reads != 1 || !slices.Equal(got, want) {
		t.Errorf("read %d times, expected once; the first row was %v and is %v", published.reads, want, got)
	}
	if second.PlanHash != first.PlanHash || second.Registered.Data != first.Registered.Data {
		t.Errorf("found the plan %s of %+v, expected %s of %+v", second.PlanHash, second.Registered.Data, first.PlanHash, first.Registered.Data)
	}
	result := fit(t, second)
	if _, err := Evaluate(result.Run, o); err != nil || published.reads != 1 {
		t.Errorf("evaluated with %d reads (%v), expected one", published.reads, err)
	}
	damage(t, filepath.Join(o.RunsDir, folder.Features))
	if _, err := Create(c, o); !errors.Is(err, data.ErrMissing) || published.reads != 2 {
		t.Errorf("beside a damaged cache: found %v after %d reads, expected that the pictures are read and missing", err, published.reads)
	}
}

// A kept file of training rows in the place of the test rows, which has their fingerprint, is not
// taken for them: the accuracy on it, which is published, would be one of training examples.
func TestTrainingRowsAreNoTestRows(t *testing.T) {
	c, o := onPublished(t)
	create(t, c, o)
	files, err := filepath.Glob(filepath.Join(o.RunsDir, folder.Features, "*"))
	if err != nil || len(files) != 2 || filepath.Ext(files[1]) != ".train" {
		t.Fatalf("found %v (%v), expected the test and the training rows", files, err)
	}
	tiny.Write(t, files[0], tiny.Read(t, files[1]))
	second := create(t, c, o)
	if n := second.Examples.Test.Len(); n != 90 || published.reads != 2 {
		t.Errorf("found %d test rows after %d reads, expected 90 after 2", n, published.reads)
	}
}

func firstRow(r *Run) []uint16 { return slices.Clone(r.Examples.Train.(*data.Features).Halves(0)) }

// damage changes the last bit of every file.
func damage(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("found %v (%v), expected two files", files, err)
	}
	for _, f := range files {
		content := tiny.Must(os.ReadFile(f))(t)
		content[len(content)-1] ^= 1
		tiny.Check(t, os.WriteFile(f, content, 0o600))
	}
}
