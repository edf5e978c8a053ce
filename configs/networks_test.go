package configs

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// image is the shape of one example within a network; features counts after flatten.
type image struct{ height, width, channels, features int }

// count follows the shapes through layers, as PyTorch does, and adds up the parameters.
func count(t *testing.T, layers []Layer, in image, classes int) (out image, parameters int) {
	t.Helper()
	out = in
	for _, l := range layers {
		window := func(n int) int { return (n+2*l.Padding-l.KernelSize)/l.Stride + 1 }
		switch l.Kind {
		case "conv2d":
			parameters += l.KernelSize * l.KernelSize * out.channels * l.OutChannels
			if l.Bias {
				parameters += l.OutChannels
			}
			out = image{window(out.height), window(out.width), l.OutChannels, 0}
		case "max_pool2d", "avg_pool2d":
			out.height, out.width = window(out.height), window(out.width)
		case "global_avg_pool2d":
			out = image{features: out.channels} // vectors, as package model has them
		case "flatten":
			out = image{features: out.height * out.width * out.channels}
		case "linear":
			n := l.OutFeatures
			if n == NumClasses {
				n = classes
			}
			parameters += out.features*n + n
			out.features = n
		case "group_norm":
			if out.channels%l.NumGroups != 0 {
				t.Errorf("%s: %d groups of %d channels", l.Where, l.NumGroups, out.channels)
			}
			parameters += 2 * out.channels
		case "residual":
			body, b := count(t, l.Body, out, classes)
			shortcut, s := count(t, l.Shortcut, out, classes)
			if body != shortcut {
				t.Errorf("%s: the body gives %v, the shortcut %v", l.Where, body, shortcut)
			}
			out, parameters = body, parameters+b+s
		case "relu", "tanh":
		default:
			t.Fatalf("%s: no shape for %s", l.Where, l.Kind)
		}
	}
	return out, parameters
}

func TestNetworksHaveTheirSizes(t *testing.T) {
	grey, colour := image{28, 28, 1, 0}, image{32, 32, 3, 0}
	tests := []struct {
		name string
		in   image
		want int // parameters for 10 classes
	}{
		{"logistic", grey, 784*10 + 10},
		{"mlp", grey, 784*128 + 128 + 128*10 + 10},
		{"mlp128", grey, 784*128 + 128 + 128*10 + 10},
		{"mlp1000", grey, 784*1000 + 1000 + 1000*10 + 10},
		{"mnist-cnn", grey, 26010}, // arXiv:2007.14191
		{"mnist-cnn-relu", grey, 26010},
		{"cifar-cnn", colour, 550570}, // arXiv:2007.14191
		// 3x3 convolutions 3-32, 32-64, 64-64, 64-128 with their biases, and 128-10.
		{"convnet", colour, 9*(3*32+32*64+64*64+64*128) + 32 + 64 + 64 + 128 + 128*10 + 10},
		// 3x3 convolutions 3-16, 16-16 twice, 16-32, 32-32, 32-64, 64-64, shortcuts 16-32 and 32-64,
		// a scale and a shift for each normalised channel, and 64-10.
		{"resnet8-gn", colour, 9*(3*16+2*16*16+16*32+32*32+32*64+64*64) + 16*32 + 32*64 + 2*(16*3+32*2+64*2) + 64*10 + 10},
		{"resnet8-gn", grey, 9*(1*16+2*16*16+16*32+32*32+32*64+64*64) + 16*32 + 32*64 + 2*(16*3+32*2+64*2) + 64*10 + 10},
	}
	tested := map[string]bool{}
	for _, tt := range tests {
		tested[tt.name] = true
		layers, err := Network(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		out, got := count(t, layers, tt.in, 10)
		if got != tt.want || out != (image{features: 10}) {
			t.Errorf("%s has %d parameters and output %v, want %d and 10 features", tt.name, got, out, tt.want)
		}
	}
	for _, name := range Networks() {
		if !tested[name] {
			t.Errorf("the size of %s is not tested", name)
		}
	}
}

func TestNamedNetworkIsTheModelsNetwork(t *testing.T) {
	layers, err := Model{Name: "mlp"}.Network()
	if err != nil || len(layers) != 4 || layers[1].Where != "mlp.layers[1]" {
		t.Errorf("Network() = %+v, %v", layers, err)
	}
	own := Model{Layers: layers[:1]}
	if got, err := own.Network(); err != nil || len(got) != 1 {
		t.Errorf("Network() of own layers = %+v, %v", got, err)
	}
}

func TestNetworkErrors(t *testing.T) {
	_, err := Network("../digits")
	if want := "configs: invalid configuration: found the network ../digits, expected one of cifar-cnn, convnet, logistic, mlp, mlp1000, mlp128, mnist-cnn, mnist-cnn-relu, resnet8-gn"; err == nil || err.Error() != want || !errors.Is(err, ErrInvalid) {
		t.Errorf("Network(../digits): %v, want %s", err, want)
	}
	for src, want := range map[string]string{
		"":                          "n.yaml:1:1: found nothing, expected a mapping with the key layers",
		"layers: [relu]\nname: x\n": "n.yaml:2:1: name: found an unknown key, expected one of layers",
		"layers: [BatchNorm1d]\n":   "n.yaml:1:10: n.layers[0]: found BatchNorm1d, expected " + noBatchNorm,
		"layers: relu\n":            "n.yaml:1:9: n.layers: found relu, expected a list of at least one layer",
	} {
		if _, err := parseNetwork("n.yaml", "n", []byte(src)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

func TestBatchNormByAnyName(t *testing.T) {
	for _, name := range []string{"batch_norm", "batch_norm2d", "BatchNorm2d", "batchnorm", "BatchNormalization", "sync_batch_norm"} {
		_, err := parseNetwork("n.yaml", "n", []byte("layers: ["+name+"]"))
		if err == nil || !strings.Contains(err.Error(), "expected group_norm instead: batch normalisation mixes the examples of a batch") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A second name is the same network, and messages about its layers say the name that was asked for.
func TestSecondNamesOfNetworks(t *testing.T) {
	for second, first := range otherNames {
		a, err := Network(second)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Network(first)
		if err != nil {
			t.Fatal(err)
		}
		if len(a) != len(b) {
			t.Errorf("%s has %d layers, %s has %d", second, len(a), first, len(b))
		}
		for i := range min(len(a), len(b)) {
			if want := strings.Replace(b[i].Where, first, second, 1); a[i].Where != want {
				t.Errorf("layer %d of %s is called %s, expected %s", i, second, a[i].Where, want)
			}
			a[i].Where = b[i].Where
			if !reflect.DeepEqual(a[i], b[i]) {
				t.Errorf("layer %d of %s is %+v, of %s it is %+v", i, second, a[i], first, b[i])
			}
		}
	}
}

// mnist-cnn-relu differs from mnist-cnn in its activations alone, so that the two compare these.
func TestMNISTNetworksDifferInActivations(t *testing.T) {
	tanh, err := Network("mnist-cnn")
	if err != nil {
		t.Fatal(err)
	}
	relu, err := Network("mnist-cnn-relu")
	if err != nil || len(relu) != len(tanh) {
		t.Fatalf("found %d layers (%v), expected %d", len(relu), err, len(tanh))
	}
	for i, l := range tanh {
		l.Where = relu[i].Where
		if l.Kind == "tanh" {
			l.Kind = "relu"
		}
		if !reflect.DeepEqual(relu[i], l) {
			t.Errorf("found %+v, expected %+v", relu[i], l)
		}
	}
}
