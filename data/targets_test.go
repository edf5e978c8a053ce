package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tableOf writes a table whose two files are the same and returns the folder.
func tableOf(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range parts {
		check(t, os.WriteFile(filepath.Join(dir, part+".csv"), []byte(content), 0o600))
	}
	return dir
}

// Labels and numbers are read by the names of their columns and come out of a batch, of the whole
// set as of a part of it.
func TestTargetsOfTables(t *testing.T) {
	dir := tableOf(t, "a,x,b,n\n1,5,0,-2.5\n0,6,1,100\n0,7,0,1e9\n")
	for name, c := range map[string]struct {
		spec Spec
		task Task
		want []float32
	}{
		"labels": {Spec{Table: dir, Columns: []string{"x"}, Labels: []string{"b", "a"}}, Labels, []float32{0, 1, 1, 0, 0, 0}},
		"number": {Spec{Table: dir, Columns: []string{"x", "a"}, Label: "n", Bounds: []float64{0, 10}}, Number, []float32{-2.5, 100, 1e9}},
	} {
		t.Run(name, func(t *testing.T) {
			split := must(Load(c.spec))
			if c.spec.Task() != c.task {
				t.Errorf("found the task %s, expected %s", c.spec.Task(), c.task)
			}
			width := len(c.want) / 3
			n := Normalisation{make([]float64, len(c.spec.Columns)), slices.Repeat([]float64{1}, len(c.spec.Columns))}
			for _, set := range []Set{split.Train, Select([]int{1, 2}, split.Train)} {
				b := must(NewBatcher(set, n))
				x, targets := make([]float32, 3*len(c.spec.Columns)), make([]float32, 3*width)
				indices := []int{1, 0}
				check(t, b.Fill(x, targets, indices))
				from := 3 - set.Len()
				want := append(slices.Clone(c.want[(from+1)*width:(from+2)*width]), c.want[from*width:(from+1)*width]...)
				if b.Targets() != width || !slices.Equal(targets[:2*width], want) || x[0] != float32(6+from) {
					t.Errorf("found %v of %v, expected %v", targets, x, want)
				}
			}
		})
	}
}

// What cannot be learnt is refused with its place, and never with what stands there.
func TestTargetsRefuse(t *testing.T) {
	dir := tableOf(t, "a,x,b\n1,5,0\n0.775,6,1\n")
	for says, spec := range map[string]Spec{
		`train.csv:3:1: column "a": found a label that is neither 0 nor 1`: {Table: dir, Columns: []string{"x"}, Labels: []string{"b", "a"}},
		`train.csv:2:3: column "x": found a label that is neither 0 nor 1`: {Table: dir, Columns: []string{"a"}, Labels: []string{"x"}},
		"expected two bounds, the lower one first, and no classes":         {Table: dir, Columns: []string{"x"}, Label: "a", Bounds: []float64{2, 1}},
		"expected labels alone":               {Table: dir, Columns: []string{"x"}, Labels: []string{"a"}, Label: "b"},
		`column "a" is declared twice`:        {Table: dir, Columns: []string{"a"}, Label: "a", Bounds: []float64{0, 1}},
		`found no column "c"`:                 {Table: dir, Columns: []string{"x"}, Labels: []string{"c"}},
		"holds no labels or numbers to learn": {Folder: dir, Labels: []string{"c"}},
	} {
		if _, err := Load(spec); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "0.775") || strings.Contains(err.Error(), "\n") {
			t.Errorf("found %v, expected one line with %q", err, says)
		}
	}
}
