package configs

import (
	"reflect"
	"strings"
	"testing"

	"dpsgd/model"
)

func TestNetworksHaveTheirSizes(t *testing.T) {
	grey, colour := model.Input{Height: 28, Width: 28, Channels: 1}, model.Input{Height: 32, Width: 32, Channels: 3}
	words := model.Input{Length: 64, Vocabulary: 256}
	// Attention, two linear layers and two norms.
	block := func(width, inner int) int {
		return 4*width*width + 4*width + 2*width*inner + inner + width + 4*width
	}
	tests := []struct {
		name string
		in   model.Input
		want int // parameters for 10 classes
	}{
		{"logistic", grey, 784*10 + 10},
		{"mlp", grey, 784*128 + 128 + 128*10 + 10},
		{"mlp128", grey, 784*128 + 128 + 128*10 + 10},
		{"mlp1000", grey, 784*1000 + 1000 + 1000*10 + 10},
		{"mlp-table", model.Input{Channels: 7}, 7*64 + 64 + 64*10 + 10},
		{"mnist-cnn", grey, 26010}, // arXiv:2007.14191
		{"mnist-cnn-relu", grey, 26010},
		{"cifar-cnn", colour, 550570}, // arXiv:2007.14191
		// 3x3 convolutions 3-32, 32-64, 64-64, 64-128 with their biases, and 128-10.
		{"convnet", colour, 9*(3*32+32*64+64*64+64*128) + 32 + 64 + 64 + 128 + 128*10 + 10},
		// 3x3 convolutions 3-16, 16-16 twice, 16-32, 32-32, 32-64, 64-64, shortcuts 16-32 and
		// 32-64, a scale and a shift for each normalised channel, and 64-10.
		{"resnet8-gn", colour, 9*(3*16+2*16*16+16*32+32*32+32*64+64*64) + 16*32 + 32*64 + 2*(16*3+32*2+64*2) + 64*10 + 10},
		// As PyTorch counts resnet18 of torchvision and vit_tiny_patch16_224 of timm, less the weights and
		// biases of the first one's normalisations, which are constants here.
		{"resnet18", model.Input{Height: 64, Width: 64, Channels: 3}, 11689512 - 990*513 - 2*4800},
		{"vit-tiny-patch16", model.Input{Height: 224, Width: 224, Channels: 3}, 5717416 - 990*193},
		{"vit-tiny", colour, (4*4*3+1)*96 + 96 + 65*96 + 3*block(96, 192) + 2*96 + (96+1)*10},
		{"text-transformer", words, 256*32 + block(32, 64) + 2*32 + (32+1)*10},
		{"text-lstm", words, 256*16 + 4*32*(16+32+2) + (32+1)*10},
		{"resnet8-gn", grey, 9*(1*16+2*16*16+16*32+32*32+32*64+64*64) + 16*32 + 32*64 + 2*(16*3+32*2+64*2) + 64*10 + 10},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[tt.name] = true
		layers := must(Network(tt.name))(t)
		if own, err := (Model{Name: otherNames[tt.name], Layers: layers}).Network(); err != nil || !reflect.DeepEqual(own, layers) {
			t.Errorf("%s is %s, and by its other name %s (%v)", tt.name, encodeLayers(layers), encodeLayers(own), err)
		}
		m := must(model.New(layers, tt.in, 10, 1))(t)
		if got := len(m.Values); got != tt.want {
			t.Errorf("%s has %d parameters, want %d", tt.name, got, tt.want)
		}
	}
	for _, name := range Networks() {
		if !tested[name] {
			t.Errorf("the size of %s is not tested", name)
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	_, err := Network("../digits")
	wrong(t, "../digits", err, "configs: invalid configuration: found the network ../digits, expected one of {model.name}")
	for src, want := range map[string]string{
		"":                          "n.yaml:1:1: found nothing, expected a mapping with the key layers",
		"layers: [relu]\nname: x\n": "n.yaml:2:1: name: found an unknown key, expected one of layers",
		"layers: [BatchNorm1d]\n":   "n.yaml:1:10: n.layers[0]: found BatchNorm1d, expected " + noBatchNorm,
		"layers: relu\n":            "n.yaml:1:9: n.layers: found relu, expected a list of at least one layer",
	} {
		_, err := parseNetwork("n.yaml", "n", []byte(src))
		wrong(t, src, err, want)
	}
	for _, name := range []string{"batch_norm", "batch_norm2d", "BatchNorm2d", "batchnorm", "BatchNormalization", "sync_batch_norm"} {
		_, err := parseNetwork("n.yaml", "n", []byte("layers: ["+name+"]"))
		wrong(t, name, err, "n.yaml:1:10: n.layers[0]: found "+name+", expected "+noBatchNorm)
	}
}

// mnist-cnn-relu differs from mnist-cnn in its activations alone, so that the two compare these.
func TestMNISTNetworksDifferInActivations(t *testing.T) {
	tanh := must(Network("mnist-cnn"))(t)
	relu, err := Network("mnist-cnn-relu")
	if got, want := encodeLayers(relu), strings.ReplaceAll(encodeLayers(tanh), "tanh", "relu"); err != nil || got != want {
		t.Errorf("found %s (%v), expected %s", got, err, want)
	}
}
