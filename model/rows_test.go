package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

var row = model.Input{Channels: 7}

// A row passes through flatten unchanged, and into linear with or without it: the network computes
// the same, bit for bit, as for a picture of one pixel with as many channels.
func TestRowsAreVectors(t *testing.T) {
	tail := model.Sequential{model.Linear{Out: 5}, model.LayerNorm{}, model.Tanh, model.Residual{Body: model.Sequential{model.Linear{Out: 5}, model.ReLU}}, model.Linear{Out: classes}}
	flat := append(model.Sequential{model.Flatten{}}, tail...)
	logits := func(network model.Sequential, in model.Input) []float32 {
		m := tiny.Must(model.New(network, in, classes, 1))(t)
		b := graph.NewBuilder(nil)
		n := tiny.Must(m.Training(b, 3))(t)
		e := tiny.Must(b.Compile(n.Logits, n.Valid))(t)
		values := normals(3*7, 4)
		values[20] = float32(math.Inf(1)) // the last example is dropped
		copy(e.Values(n.Images).Float32, values)
		for i := range e.Values(n.Mask).Float32 {
			e.Values(n.Mask).Float32[i] = 1
		}
		e.RunAll()
		if !slices.Equal(e.Values(n.Valid).Float32, []float32{1, 1, 0}) {
			t.Errorf("valid is %v, expected the last row out", e.Values(n.Valid).Float32)
		}
		return slices.Clone(e.Values(n.Logits).Float32)
	}
	want := logits(flat, model.Input{Height: 1, Width: 1, Channels: 7})
	for name, network := range map[string]model.Sequential{"flatten": flat, "no flatten": tail, "flatten twice": append(model.Sequential{model.Flatten{}}, flat...)} {
		if got := logits(network, row); !slices.Equal(got, want) {
			t.Errorf("%s: logits are %v, expected %v", name, got, want)
		}
	}
}

func TestLayersOfPicturesRefuseRows(t *testing.T) {
	for _, l := range []model.Layer{
		conv(2, 1, 1, 0), maxPool(1, 1, 0), avgPool(1, 1, 0),
		model.GlobalAvgPool2D{}, model.GroupNorm{Groups: 1},
	} {
		_, err := model.New(model.Sequential{l, model.Flatten{}, model.Linear{Out: classes}}, row, classes, 1)
		want := "layer 0: its input has shape [7] per example, expected an image (height, width, channels); the examples are rows of numbers, not pictures"
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found error %v, expected one line that says %q", l.Kind(), err, want)
		}
	}
}
