package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpsgd/internal/kernel"
)

// numpy builds a file of NumPy's, of little-endian numbers.
func numpy(descr, shape string, numbers any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	b, err := binary.Append(append(b, header...), binary.LittleEndian, numbers)
	if err != nil {
		panic(err)
	}
	return b
}

// vectorsFolder writes the same vectors of width 2 and labels as both parts.
func vectorsFolder(t *testing.T, values []float32, labels []int32) Spec {
	t.Helper()
	dir := t.TempDir()
	for _, part := range parts {
		write(t, numpy("<f4", fmt.Sprintf("(%d, 2)", len(values)/2), values), dir, part+".npy")
		write(t, numpy("<i4", fmt.Sprintf("(%d,)", len(labels)), labels), dir, part+"-labels.npy")
	}
	return Spec{Vectors: dir, Width: 2, Classes: []string{"a", "b", "c"}}
}

// What is stored of a vector is its direction, whatever its length.
func TestVectorsAreReadAsDirections(t *testing.T) {
	spec := vectorsFolder(t, []float32{3, 4, 0, 0, -1e38, 1e38, 1e-30, 0}, []int32{2, 0, 1, 0})
	s := must(Load(spec))
	t.Chdir(spec.Vectors)
	if s.Name != filepath.Base(spec.Vectors) || s.Name != (Spec{Vectors: "."}).OwnName() || s.Train.Shape() != Row(2) || s.Train.Len() != 4 || s.Test.Len() != 4 || s.Train.Label(0) != 2 {
		t.Errorf("read %s: %d and %d rows of %v, the first with label %d", s.Name, s.Train.Len(), s.Test.Len(), s.Train.Shape(), s.Train.Label(0))
	}
	if n, err := Count(spec, "test"); err != nil || n != 4 {
		t.Errorf("counted %d vectors, %v; expected 4", n, err)
	}
	half := math.Sqrt(0.5)
	for i, want := range [][2]float64{{0.6, 0.8}, {0, 0}, {-half, half}, {1, 0}} {
		x := make([]float32, 2)
		kernel.FromHalves(x, s.Train.(*Features).Halves(i))
		for j, v := range x {
			if !(math.Abs(float64(v)-want[j]) <= 0x1p-11) { // of half precision
				t.Errorf("row %d is %v, expected %v", i, x, want)
			}
		}
	}
}

// Columns of text are vectors as much as arrays are, and are counted and labelled by what is
// declared.
func TestVectorsOfColumns(t *testing.T) {
	dir := t.TempDir()
	for _, part := range parts {
		write(t, []byte("is,x,y\nb,3,4\n2,0,-1\n"), dir, part+".csv")
	}
	spec := Spec{Vectors: dir, Width: 2, Classes: []string{"a", "b", "c"}, Label: "is"}
	s := must(Load(spec))
	x := make([]float32, 2)
	kernel.FromHalves(x, s.Test.(*Features).Halves(1))
	if s.Train.Len() != 2 || s.Train.Label(0) != 1 || s.Test.Label(1) != 2 || !slices.Equal(x, []float32{0, -1}) {
		t.Errorf("read %d rows, the labels %d and %d, and the direction %v", s.Train.Len(), s.Train.Label(0), s.Test.Label(1), x)
	}
	if n, err := Count(spec, "train"); err != nil || n != 2 {
		t.Errorf("counted %d vectors, %v; expected 2", n, err)
	}
	spec.Label = "was"
	_, err := Load(spec)
	wantError(t, err, ErrInvalid, `train.csv:1:1: found no column "was"`)
	_, err = Count(spec, "train")
	wantError(t, err, ErrInvalid, `train.csv:1:1: found no column "was"`)
}

// Vectors that are read in several pieces equal those read in one piece, and have as many labels.
func TestVectorsOfManyPieces(t *testing.T) {
	const n = 50000 // 2^16 numbers are read at once
	values, labels := make([]float32, 2*n), make([]int32, n)
	for i := range n {
		values[2*i+i%2], labels[i] = float32(1+i), int32(i%3)
	}
	s := must(Load(vectorsFolder(t, values, labels)))
	for i := range n {
		if h := s.Train.(*Features).Halves(i); h[i%2] != 0x3c00 || h[1-i%2] != 0 || s.Train.Label(i) != i%3 {
			t.Fatalf("row %d is %#04x with label %d, expected the direction %d and label %d", i, h, s.Train.Label(i), i%2, i%3)
		}
	}
}

// One vector never changes another row, whatever it is.
func TestVectorsAreIsolated(t *testing.T) {
	values := []float32{3, 4, 1, 2, -5, 12}
	read := func() *Features {
		s := must(Load(vectorsFolder(t, values, []int32{2, 0, 1})))
		return s.Train.(*Features)
	}
	before := read()
	for _, v := range []float32{0, 1, -3e38, 1e-40} {
		values[2], values[3] = v, -v
		after := read()
		for _, i := range []int{0, 2} {
			if !slices.Equal(after.Halves(i), before.Halves(i)) {
				t.Errorf("row %d changed with vector 1", i)
			}
		}
	}
}

func TestVectorsRefuse(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		values []float32
		labels []int32
		change func(*Spec)
		says   string
	}{
		"NaN":             {[]float32{1, 2, 3, nan}, []int32{0, 1}, nil, "train.npy: vector 1 is not finite as 32-bit numbers"},
		"infinite":        {[]float32{inf, 2}, []int32{0}, nil, "train.npy: vector 0 is not finite"},
		"label":           {[]float32{1, 2, 3, 4}, []int32{0, 3}, nil, "train-labels.npy: found a label that has no class in place 1 (from 0), expected 0 to 2 for the 3 declared classes"},
		"negative label":  {[]float32{1, 2}, []int32{-1}, nil, "found a label that has no class in place 0"},
		"missing label":   {[]float32{1, 2, 3, 4}, []int32{0}, nil, "holds 1 labels, expected one for each of the 2 vectors"},
		"declared width":  {[]float32{1, 2}, []int32{0}, func(s *Spec) { s.Width = 3 }, "vectors of width 2, expected the declared 3"},
		"absurd width":    {[]float32{1, 2}, []int32{0}, func(s *Spec) { s.Width = 1 << 17 }, "width 131072 declared, expected 1 to 65536"},
		"one class":       {[]float32{1, 2}, []int32{0}, func(s *Spec) { s.Classes = s.Classes[:1] }, "1 classes declared, expected 2 to 256"},
		"table and width": {[]float32{1, 2}, []int32{0}, func(s *Spec) { s.Table = "t" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := vectorsFolder(t, c.values, c.labels)
			sentinel := error(ErrInvalid)
			if c.change != nil {
				c.change(&spec)
			}
			if spec.Table != "" {
				sentinel, c.says = nil, fmt.Sprintf("both the table %q and the vectors %q are given", spec.Table, spec.Vectors)
			}
			_, err := Load(spec)
			wantError(t, err, sentinel, c.says)
		})
	}
	spec := vectorsFolder(t, []float32{1, 2}, []int32{0})
	check(t, os.Remove(filepath.Join(spec.Vectors, "test-labels.npy")))
	_, err := Load(spec)
	wantError(t, err, ErrMissing, "test-labels.npy is not there")
	_, err = Count(spec, "test")
	wantError(t, err, ErrMissing, "test-labels.npy is not there")
}
