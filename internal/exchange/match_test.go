package exchange_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/checkpoints"
	"dpsgd/checkpoints/safetensors"
	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

// start is a network of two equal convolutions, two normalisations and two linear layers.
func start(t *testing.T) *model.Model {
	t.Helper()
	return untrained(t, parse(t, fmt.Sprintf(pictures, "{conv2d: {out_channels: 3, kernel_size: 3, padding: 1}}, relu, {conv2d: {out_channels: 3, kernel_size: 3, padding: 1}}, {group_norm: {num_groups: 3}}, frozen_batch_norm, global_avg_pool2d, {linear: {out_features: 12}}, {linear: {out_features: classes}}"))).Network
}

// tensor is one whose values are its number.
func tensor(name string, number int, shape ...int) checkpoints.Tensor {
	n, _ := safetensors.Elements(shape)
	return checkpoints.Tensor{Name: name, Shape: shape, Data: slices.Repeat([]float32{float32(number)}, int(n))}
}

// A file with other names fits by order and shape, however its tensors are ordered: conv10 is
// behind conv2, and what the network does not have is left over.
func TestMatchByOrder(t *testing.T) {
	m := start(t)
	file := []checkpoints.Tensor{
		tensor("conv2.weight", 1, 3, 3, 3, 3), tensor("conv2.bias", 2, 3), tensor("conv10.weight", 3, 3, 3, 3, 3), tensor("conv10.bias", 4, 3),
		tensor("norm.weight", 5, 3), tensor("norm.bias", 6, 3),
		tensor("o1.weight", 7, 12, 3), tensor("o1.bias", 8, 12), tensor("o2.weight", 9, 1000, 12), tensor("o2.bias", 10, 1000),
		tensor("bn.weight", 11, 3), tensor("bn.bias", 12, 3), tensor("bn.running_mean", 13, 3), tensor("bn.running_var", 14, 3), tensor("bn.num_batches_tracked", 15),
		tensor("bn2.weight", 16, 3), tensor("bn2.bias", 17, 3), tensor("bn2.running_mean", 18, 3),
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(file), func(i, j int) { file[i], file[j] = file[j], file[i] })
	fits := exchange.Match(m, file)
	want := map[string]string{"0.weight": "conv2.weight", "0.bias": "conv2.bias", "2.weight": "conv10.weight", "2.bias": "conv10.bias",
		"3.weight": "norm.weight", "3.bias": "norm.bias", "6.weight": "o1.weight", "6.bias": "o1.bias", "7.weight": "", "7.bias": "",
		"4.weight": "bn.weight", "4.bias": "bn.bias", "4.running_mean": "bn.running_mean", "4.running_var": "bn.running_var"}
	for _, f := range fits.Fits {
		if f.Tensor != want[f.Parameter] {
			t.Errorf("%s: found %q, expected %q", f.Parameter, f.Tensor, want[f.Parameter])
		}
	}
	slices.Sort(fits.Unused)
	if !slices.Equal(fits.Unused, []string{"bn.num_batches_tracked", "bn2.bias", "bn2.running_mean", "bn2.weight", "o2.bias", "o2.weight"}) || fits.Named || !slices.Equal(fits.Missing(), []string{"7"}) {
		t.Errorf("found %+v, expected the last layer and half a batch normalisation left over", fits)
	}
	tiny.Check(t, m.Start(fits.Renamed(file), fits.Missing()))
	if v := m.Export()[2].Data[0]; v != 3 {
		t.Errorf("found %v in 2.weight, expected 3, that of conv10", v)
	}
}

// Names of the network count whatever the order is.
func TestMatchByName(t *testing.T) {
	m := start(t)
	fits := exchange.Match(m, []checkpoints.Tensor{tensor("2.weight", 1, 3, 3, 3, 3), tensor("6.weight", 2, 7, 3), tensor("more", 3, 1)})
	if !fits.Named || fits.Fits[2].Tensor != "2.weight" || fits.Fits[0].Tensor != "" || !slices.Equal(fits.Unused, []string{"6.weight", "more"}) ||
		!slices.Equal(fits.Missing(), []string{"0", "2.bias", "3", "4", "6", "7"}) {
		t.Errorf("found %+v, expected 2.weight alone", fits)
	}
}

// The model in the folder of a run was trained on that run's data, though the file itself does not
// say so: nobody is told to declare it as public. What is written from it says so, too. Of weights
// that say nothing of their origin a person has to: the line is left open, and a configuration
// without it is refused.
func TestImportedModelOfARunIsPrivate(t *testing.T) {
	dir, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	c := tiny.Must(folder.ReadConfig(dir))(t)
	own := filepath.Join(dir, folder.Model)
	to, alone := filepath.Join(t.TempDir(), "start.safetensors"), filepath.Join(t.TempDir(), "weights.safetensors")
	tiny.Write(t, alone, tiny.Read(t, own))
	for _, test := range []struct {
		path    string
		private bool
		line    string
	}{
		{own, true, "init_trained_on: private"},
		{to, true, "init_trained_on: private"},
		{alone, false, "\n  init_trained_on: # "},
	} {
		i := tiny.Must(exchange.Import(test.path, c, to))(t)
		hasEpsilon := slices.ContainsFunc(i.About, func(f trained.Fact) bool { return f.Key == "privacy.epsilon" })
		if hasEpsilon != test.private || !strings.Contains(i.YAML, test.line) {
			t.Errorf("%s: found %+v, expected %q, and the guarantee of the run or none", test.path, i, test.line)
		}
	}
	content := []byte(tiny.Read(t, own))
	content[len(content)-1] ^= 1
	tiny.Write(t, own, string(content))
	if _, err := exchange.Import(own, c, to); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("another model in its place: found %v", err)
	}
}
