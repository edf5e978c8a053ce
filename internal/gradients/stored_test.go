package gradients

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/internal/tiny"
)

// stored are pictures of a folder of which so many bytes stay in memory.
func stored(t *testing.T, folder string, bytes int64) *data.Split {
	t.Helper()
	return tiny.Must(data.Load(data.Spec{
		Folder: folder, Classes: []string{"top", "middle", "bottom"}, Size: setting.Size{Height: 6, Width: 6}, Channels: 1,
		Memory: func(int, int) int64 { return bytes },
	}))(t)
}

// Pictures that are decoded when they are needed have the sums of those in memory, bit for bit,
// with any share of them in memory, from folders and from tar files, with views and without.
func TestStoredPicturesHaveTheSameSums(t *testing.T) {
	source := tiny.Source(t, 60)
	indices := []int{0, 59, 7, 7, 31, 58, 2, 30, 29, 45, 11}
	for name, recipe := range map[string]data.Augmentation{"as they are": data.NoAugmentation(), "views": {Views: 2, Flip: true, Shift: 1}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tiny.Convolutional, 2)
			var want []int64
			for _, shards := range []bool{false, true} {
				dir := t.TempDir()
				tiny.Files(t, dir, source, shards)
				for _, bytes := range []int64{1 << 20, 0, 36, 20 * 36} {
					set := stored(t, dir, bytes)
					if set.Stored() != (bytes < 1<<20) {
						t.Fatalf("with %d bytes: found %T", bytes, set.Train)
					}
					for range 2 { // before and after they are kept
						g := r.gradients(set.Train, recipe, 8, "ghost")
						sum := integers(t, g, indices[:8], indices[8:])
						if want == nil {
							want = sum
						}
						if !slices.Equal(sum, want) {
							t.Errorf("shards %t, %d bytes: the sum is another one", shards, bytes)
						}
					}
				}
			}
		})
	}
}

// A picture that cannot be read fails the batch, whichever row it would be.
func TestStoredPictureThatIsGone(t *testing.T) {
	dir := t.TempDir()
	tiny.Files(t, dir, tiny.Source(t, 60), false)
	set := stored(t, dir, 0)
	gone, err := filepath.Glob(filepath.Join(dir, "train", "middle", "*"))
	if err != nil || os.Remove(gone[3]) != nil {
		t.Fatal(err)
	}
	r := newRig(t, tiny.Convolutional, 2)
	g := r.gradients(set.Train, data.NoAugmentation(), 8, "ghost")
	if _, err := g.Contributions([]int{0, 1, 22, 24}); err != nil {
		t.Error(err)
	}
	for _, indices := range [][]int{{23}, {23, 0, 1}, {0, 1, 2, 23}, {4, 23, 5, 6, 7, 8, 9, 10}} {
		if _, err := g.Contributions(indices); !errors.Is(err, data.ErrInvalid) {
			t.Errorf("%v: found %v, expected an error", indices, err)
		}
	}
}

// A row of features counts by its own norm, whoever is beside it.
func TestRowsCountByTheirOwnNorm(t *testing.T) {
	halves := make([]uint16, 6)
	kernel.ToHalves(halves, []float32{1, 0, 2, 0, 0, 3})
	set := tiny.Must(data.NewFeatures(2, []string{"a", "b"}, []uint8{0, 1, 0}, halves))(t)
	b := tiny.Must(tiny.Must(NewRows(set))(t).Contributions([]int{2, 0, 1}))(t)
	if found := b.SquaredNorms[:3]; !slices.Equal(found, []float64{9, 1, 4}) {
		t.Errorf("found the squared norms %v, expected 9, 1 and 4", found)
	}
}
