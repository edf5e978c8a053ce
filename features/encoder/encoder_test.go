package encoder

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/data"
	"dpsgd/internal/kernel"
)

func TestWeightsAreThoseOfTheirHash(t *testing.T) {
	sum := sha256.Sum256(encoderWeights)
	if found := hex.EncodeToString(sum[:]); found != SHA256 {
		t.Errorf("the weights have the hash %s, expected %s", found, SHA256)
	}
	if filters, biases := Dictionary(); len(filters) != DictionaryFilters*DictionaryChannels*DictionarySize*DictionarySize || len(biases) != DictionaryFilters {
		t.Errorf("found %d weights and %d biases of patches", len(filters), len(biases))
	}
}

// generator is the linear congruential generator of testdata/make_golden.py.
type generator uint32

func (g *generator) picture(s data.Shape) []float32 {
	values := make([]float32, s.Values())
	for i := range values {
		*g = *g*1664525 + 1013904223
		values[i] = float32(*g>>24) / 255
	}
	return values
}

// PyTorch computed testdata/golden.txt with the same weights: see make_golden.py there.
func TestMapsAreThoseOfPyTorch(t *testing.T) {
	file, err := os.Open("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g, lines := generator(1), bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row []float64
		for _, word := range strings.Fields(lines.Text()) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		shape, want := data.Shape{Channels: int(row[0]), Height: int(row[1]), Width: int(row[2])}, row[3:]
		picture := g.picture(shape)
		got := make([]float32, Width())
		New(shape).Extract(got, Width(), picture)
		if len(want) != len(got) {
			t.Fatalf("%v: %d values, expected %d", shape, len(got), len(want))
		}
		for i, w := range want {
			// Convolutions are right to 5e-6 of the largest output, in each of seven layers.
			if !(math.Abs(float64(got[i])-w) <= 1e-4*(1+math.Abs(w))) {
				t.Fatalf("%v: value %d is %v, expected %v", shape, i, got[i], w)
			}
		}
	}
}

// A picture's values are its own, wherever it stands, and those of its mirror image.
func TestValuesBelongToThePicture(t *testing.T) {
	shape := data.Shape{Height: 20, Width: 33, Channels: 3}
	g := generator(3)
	var pictures []float32
	for range Batch {
		pictures = append(pictures, g.picture(shape)...)
	}
	pitch := Width() + 5
	e, all, alone := New(shape), make([]float32, Batch*pitch), make([]float32, Width())
	e.Extract(all, pitch, pictures)
	for i := range Batch {
		e.Extract(alone, pitch, pictures[i*shape.Values():][:shape.Values()])
		if !slices.Equal(alone, all[i*pitch:][:Width()]) {
			t.Errorf("picture %d has other values alone", i)
		}
	}
	even := data.Shape{Height: 16, Width: 24, Channels: 1}
	picture := g.picture(even)
	mirror := slices.Clone(picture)
	for y := range even.Height {
		slices.Reverse(mirror[y*even.Width:][:even.Width])
	}
	mirrored := make([]float32, Width())
	e = New(even)
	e.Extract(alone, pitch, picture)
	e.Extract(mirrored, pitch, mirror)
	for i, v := range alone {
		if !(math.Abs(float64(v-mirrored[i])) <= 1e-5*(1+math.Abs(float64(v)))) {
			t.Fatalf("value %d is %v, of the mirror image %v", i, v, mirrored[i])
		}
	}
}

func TestShapesThatCannotBe(t *testing.T) {
	for _, s := range []data.Shape{{Height: 7, Width: 9, Channels: 1}, {Height: 9, Width: 9, Channels: 2}} {
		if Check(s) == nil {
			t.Errorf("pictures of %v are accepted", s)
		}
	}
	if err := Check(data.Shape{Height: 8, Width: 200, Channels: 1}); err != nil {
		t.Error(err)
	}
	New(data.Shape{Height: 8, Width: 200, Channels: 1}).Extract(make([]float32, Width()), Width(), make([]float32, 1600))
}

// BenchmarkExtract computes the values of pictures like those of CIFAR-10, on one thread and two.
func BenchmarkExtract(b *testing.B) {
	shape := data.Shape{Height: 32, Width: 32, Channels: 3}
	g := generator(1)
	var pictures []float32
	for range Batch {
		pictures = append(pictures, g.picture(shape)...)
	}
	for _, threads := range []int{1, 2} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			pool := kernel.NewPool(threads)
			defer pool.Close()
			encoders, dst := make([]*Encoder, threads), make([]float32, threads*Batch*Width())
			for i := range encoders {
				encoders[i] = New(shape)
			}
			for b.Loop() {
				pool.Run(2*threads, 1, func(worker, lo, hi int) {
					for range hi - lo {
						encoders[worker].Extract(dst[worker*Batch*Width():], Width(), pictures)
					}
				})
			}
			b.ReportMetric(float64(b.N*2*threads*Batch)/b.Elapsed().Seconds(), "pictures/s")
		})
	}
}
