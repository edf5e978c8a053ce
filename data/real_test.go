package data

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"dpsgd/internal/slow"
)

// realDir is the folder of the published sets: $DPSGD_DATA, or datasets in the folder "shared"
// beside the repository ($DPSGD_SHARED).
func realDir(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(DirVariable)
	if dir == "" {
		shared := os.Getenv("DPSGD_SHARED")
		if shared == "" {
			shared = filepath.Join("..", "..", "shared")
		}
		dir = filepath.Join(shared, "datasets")
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		t.Skipf("the real %s is not in %s; set %s to test with it", name, dir, DirVariable)
	}
	return dir
}

// Mean and standard deviation of the training pixels in [0, 1] were computed from
// the files with other software and are the figures in common use.
func TestPublishedSets(t *testing.T) {
	for _, c := range []struct {
		name        string
		train, test int
		shape       Shape
		first       []int // labels of the first training pictures
		balanced    bool
		mean, std   []float64
	}{
		{"mnist", 60000, 10000, Shape{28, 28, 1}, []int{5, 0, 4, 1, 9}, false, []float64{0.130660}, []float64{0.308108}},
		{"fashion-mnist", 60000, 10000, Shape{28, 28, 1}, []int{9, 0, 0, 3, 0}, true, []float64{0.286041}, []float64{0.353024}},
		{"cifar-10", 50000, 10000, Shape{32, 32, 3}, []int{6, 9, 9, 4, 1}, true,
			[]float64{0.491400, 0.482158, 0.446531}, []float64{0.247032, 0.243485, 0.261588}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := realDir(t, c.name)
			if !slow.Asked() && c.name != "mnist" {
				t.Skip("unpacking takes seconds; MNIST shows the same")
			}
			start := time.Now()
			s := must(Load(Spec{Name: c.name, Dir: dir}))
			t.Logf("loaded in %v", time.Since(start).Round(time.Millisecond))
			if s.Train.Len() != c.train || s.Test.Len() != c.test || s.Train.Shape() != c.shape || s.Test.Shape() != c.shape {
				t.Errorf("%d and %d pictures of %v", s.Train.Len(), s.Test.Len(), s.Train.Shape())
			}
			for i, want := range c.first {
				if got := s.Train.Label(i); got != want {
					t.Errorf("label of picture %d is %d, expected %d", i, got, want)
				}
			}
			wantClassCounts(t, s.Train, c.balanced)
			wantClassCounts(t, s.Test, c.balanced)
			for channel := range c.shape.Channels {
				mean, std := moments(s.Train.(*Images), channel)
				if !(math.Abs(mean-c.mean[channel]) <= 1e-6) || !(math.Abs(std-c.std[channel]) <= 1e-6) {
					t.Errorf("channel %d: mean %.6f, standard deviation %.6f; expected %.6f, %.6f", channel, mean, std, c.mean[channel], c.std[channel])
				}
			}
		})
	}
}

// wantClassCounts checks that all ten classes occur, and equally often where the
// published set is balanced.
func wantClassCounts(t *testing.T, m Set, balanced bool) {
	t.Helper()
	var counts [10]int
	for i := range m.Len() {
		counts[m.Label(i)]++
	}
	for class, n := range counts {
		if n == 0 || balanced && n != m.Len()/10 {
			t.Errorf("class %d has %d of %d pictures", class, n, m.Len())
		}
	}
}

func moments(m *Images, channel int) (mean, std float64) {
	var histogram [256]float64
	for i := channel; i < len(m.pixels); i += m.shape.Channels {
		histogram[m.pixels[i]]++
	}
	n := float64(len(m.pixels) / m.shape.Channels)
	for v, count := range histogram {
		mean += count * float64(v) / 255 / n
	}
	for v, count := range histogram {
		d := float64(v)/255 - mean
		std += count * d * d / n
	}
	return mean, math.Sqrt(std)
}
