package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/setup"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

func loadPreset(t testing.TB, name string, overrides ...string) *configs.Config {
	t.Helper()
	return tiny.Must(configs.Load(name, overrides))(t)
}

// The CNN of Papernot et al., arXiv:2007.14191, table 1: layers and 26,010 parameters.
func TestDescribeMNISTCNN(t *testing.T) {
	d := tiny.Must(Describe(loadPreset(t, "mnist-cnn"), 0))(t)
	var kinds []string
	for _, l := range d.Layers {
		kinds = append(kinds, l.Kind)
	}
	if want := []string{"conv2d", "tanh", "max_pool2d", "conv2d", "tanh", "max_pool2d", "flatten", "linear", "tanh", "linear"}; !slices.Equal(kinds, want) {
		t.Errorf("found layers %q, expected %q", kinds, want)
	}
	if first := d.Layers[0]; !slices.Equal(first.Output, []int{14, 14, 16}) || first.Parameters != 1040 || first.MultiplyAdds != 14*14*16*64 {
		t.Errorf("found first layer %+v", first)
	}
	// 14²·16·8² + 5²·32·16·4² + 512·32 + 32·10
	if d.Parameters != 26010 || d.MultiplyAdds != 200704+204800+16384+320 {
		t.Errorf("found %d parameters and %d multiply-adds", d.Parameters, d.MultiplyAdds)
	}
	if d.Data.Examples != 60000 || d.Data.Classes != 10 || !slices.Equal(d.Input, []int{28, 28, 1}) {
		t.Errorf("found data %+v of %v", d.Data, d.Input)
	}
	if len(d.Engines) != 8 || d.Memory.Graph < 1<<20 || d.Memory.Examples < 70000*784 || d.Memory.Total() <= d.Memory.Graph {
		t.Errorf("found engines %v, memory %+v", d.Engines, d.Memory)
	}
}

// The curve rises to what the whole run costs, which is within the budget.
func TestDescribePrivacy(t *testing.T) {
	for _, test := range []struct {
		overrides []string
		steps     int // -1: fewer than planned
	}{
		{[]string{"privacy.epsilon=3"}, 40},
		{[]string{"privacy.epsilon=none", "privacy.noise_multiplier=2"}, 40},
		{[]string{"privacy.epsilon=1.3", "privacy.noise_multiplier=1"}, -1},
		{[]string{"privacy.epsilon=3", "training.steps=4"}, 4},
	} {
		c := loadPreset(t, "digits", append(append([]string{"model.name=logistic", "training.steps=40"}, quick...), test.overrides...)...)
		d := tiny.Must(Describe(c, 0))(t)
		p, last := d.Privacy, d.Curve[len(d.Curve)-1]
		if test.steps >= 0 && p.Steps != test.steps || test.steps < 0 && (p.Steps == 0 || p.Steps >= p.PlannedSteps) {
			t.Errorf("%q: found %d of %d steps", test.overrides, p.Steps, p.PlannedSteps)
		}
		if last.Steps != p.Steps || last.Epsilon != p.Epsilon || p.TargetEpsilon > 0 && p.Epsilon > p.TargetEpsilon {
			t.Errorf("%q: the curve ends at %+v, expected %d steps and ε = %v of %v", test.overrides, last, p.Steps, p.Epsilon, p.TargetEpsilon)
		}
		if !slices.IsSortedFunc(d.Curve, func(a, b account.Point) int { return a.Steps - b.Steps }) || len(d.Curve) != min(10, p.Steps) {
			t.Errorf("%q: found curve %v", test.overrides, d.Curve)
		}
		if p.Calibrated == (c.Privacy.NoiseMultiplier > 0) || p.Relation != "zero-out" {
			t.Errorf("%q: found %+v", test.overrides, p)
		}
	}
}

// A budget below one step is refused, as a run would be.
func TestDescribeBudgetForNothing(t *testing.T) {
	d, err := Describe(loadPreset(t, "digits", append([]string{"privacy.epsilon=0.001", "privacy.noise_multiplier=0.5"}, quick...)...), 0)
	if !errors.Is(err, setup.ErrPlan) || !strings.Contains(fmt.Sprint(err), "0.001") {
		t.Errorf("found %+v, %v, expected an error about the budget", d, err)
	}
}

// quick are overrides with which a configuration is described soonest.
var quick = []string{"privacy.accountant=rdp", "performance.engine=ghost"}

// Every preset and every network can be described, and parts add up to the total.
func TestDescribeEveryPreset(t *testing.T) {
	for _, p := range configs.Presets() {
		if loadPreset(t, p.Name).Pate.Any() {
			continue // its training is that of teachers
		}
		d, err := Describe(loadPreset(t, p.Name, quick...), 3000)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		sum := 0
		for i, l := range d.Layers {
			if i+1 == len(d.Layers) || !strings.HasPrefix(d.Layers[i+1].Name, l.Name+".") { // no container
				sum += l.Parameters
			}
		}
		if sum != d.Parameters || d.Data.Examples != 3000 {
			t.Errorf("%s: layers hold %d parameters, expected %d; %d examples, expected 3000", p.Name, sum, d.Parameters, d.Data.Examples)
		}
	}
	for _, network := range configs.Networks() {
		if strings.HasPrefix(network, "text-") || network == "resnet18" {
			continue // of words, not of pictures, or with given weights alone
		}
		preset := "mnist-cnn"
		if network == "cifar-cnn" || network == "resnet8-gn" || network == "vit-tiny-patch16" {
			preset = "cifar-cnn"
		}
		if _, err := Describe(loadPreset(t, preset, append([]string{"model.name=" + network}, quick...)...), 0); err != nil {
			t.Errorf("network %s: %v", network, err)
		}
	}
}

// What is known of a named set without reading it is what reading finds.
func TestOutlinesAreThoseOfTheData(t *testing.T) {
	dir := os.Getenv("DPSGD_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	for _, o := range setup.Outlines() {
		t.Run(o.Name, func(t *testing.T) {
			if !slow.Asked() && o.Name != "digits" {
				t.Skip("reading it takes long under the race detector")
			}
			source, err := data.Load(data.Spec{Name: o.Name, Dir: filepath.Join(dir, "datasets")})
			if errors.Is(err, data.ErrMissing) {
				t.Skip("the set is not here; set DPSGD_SHARED to a folder with datasets/")
			}
			tiny.Check(t, err)
			if found := setup.OutlineOfSource(source); !reflect.DeepEqual(found, o) {
				t.Errorf("found %+v, expected %+v", found, o)
			}
		})
	}
}

// Pictures of a folder are counted by name; --examples replaces the count.
func TestOutlineOfAFolder(t *testing.T) {
	folder := t.TempDir()
	for path, n := range map[string]int{"train/cat": 5, "train/dog": 3, "test/cat": 2, "test/dog": 1} {
		dir := filepath.Join(folder, path)
		tiny.Check(t, os.MkdirAll(dir, 0o700))
		for i := range n {
			tiny.Write(t, filepath.Join(dir, string(rune('a'+i))+[]string{".png", ".JPG", ".jpeg"}[i%3]), "never read")
		}
		tiny.Write(t, filepath.Join(dir, ".hidden.png"), "")
		tiny.Write(t, filepath.Join(dir, "notes.txt"), "")
	}
	own := func(folder string) *configs.Config {
		return loadPreset(t, "own-pictures", "data.folder="+folder, "data.classes=[cat, dog]", "privacy.delta=1e-2")
	}
	if o, err := setup.OutlineOf(own(folder), 0); err != nil || o.Examples != 8 || o.Tests != 3 || o.Classes != 2 {
		t.Errorf("found %+v (%v), expected 8 and 3 pictures", o, err)
	}
	if o, err := setup.OutlineOf(own(folder), 70); err != nil || o.Examples != 70 {
		t.Errorf("found %+v (%v), expected 70 pictures", o, err)
	}
	if _, err := setup.OutlineOf(own(filepath.Join(folder, "nowhere")), 0); !errors.Is(err, data.ErrMissing) {
		t.Errorf("found error %v, expected one that matches %v", err, data.ErrMissing)
	}
}

// What the network sees in training is described, and takes memory; of the data nothing changes.
func TestDescribeViews(t *testing.T) {
	describe := func(overrides ...string) *Description {
		d := tiny.Must(Describe(loadPreset(t, "digits", append(append([]string{"training.steps=10"}, quick...), overrides...)...), 0))(t)
		return d
	}
	plain, views := describe(), describe("training.augmentation.views=4", "training.augmentation.shift=2")
	if !strings.Contains(views.Augmentation, "4 views of each example") || plain.Augmentation != "" {
		t.Errorf("found %q, and %q without views", views.Augmentation, plain.Augmentation)
	}
	if views.Memory.Graph < 2*plain.Memory.Graph || views.MultiplyAdds != plain.MultiplyAdds || views.Privacy.Epsilon != plain.Privacy.Epsilon {
		t.Errorf("found %+v with views and %+v without", views.Memory, plain.Memory)
	}
}

// A description holds both curves.
func TestDescribeByExact(t *testing.T) {
	d := tiny.Must(Describe(loadPreset(t, "digits", "privacy.accountant=exact", "model.name=logistic", "privacy.noise_multiplier=1", "training.steps=1000"), 0))(t)
	if p := d.Privacy; p.Accountant != "exact" || p.EpsilonRDP == nil || *p.EpsilonRDP <= 3 || p.Epsilon > 3 || p.Steps >= p.PlannedSteps || len(p.Fallbacks) != 0 {
		t.Errorf("found %+v", p)
	}
	if len(d.CurveRDP) != len(d.Curve) || len(d.Curve) != curvePoints {
		t.Fatalf("found curves %v and %v", d.Curve, d.CurveRDP)
	}
	for i, s := range d.Curve {
		if d.CurveRDP[i].Steps != s.Steps || d.CurveRDP[i].Epsilon <= s.Epsilon {
			t.Errorf("found %v by exact and %v by rdp", s, d.CurveRDP[i])
		}
	}
}
