package configs

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/slow"
	"dpsgd/model"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// smallest is a file of what has no default.
const smallest = "data: {name: digits}\nprivacy: {epsilon: 3}\n"

// mustParse fails the test when a configuration is refused.
func mustParse(t *testing.T, src string, overrides ...string) *Config {
	t.Helper()
	c, err := Parse("test.yaml", []byte(src), overrides)
	if err != nil {
		t.Fatalf("Parse(%q, %q): %v", src, overrides, err)
	}
	return c
}

func TestDefaultsFillEveryKeyButDataAndBudget(t *testing.T) {
	want := DefaultConfig()
	want.Data.Name = "digits"
	want.Privacy.Epsilon = 3
	if got := mustParse(t, smallest); !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	got := mustParse(t, `
data: {folder: "C:\\my pictures", classes: [cat, "7", Hund_2], size: [32, 48], channels: 3, mean: [0.4, 0.5, 0.6], std: [0.25]}
model:
  layers:
    - conv2d: {out_channels: 8, kernel_size: 3, stride: 2, padding: 1, bias: false}
    - standardised_conv2d: {out_channels: 16, kernel_size: [3, 5], stride: [1, 2], padding: [0, 4], dilation: [1, 2], groups: 8}
    - avg_pool2d: {kernel_size: [2, 3], padding: [1, 0], count_include_pad: false}
    - residual: {body: [group_norm: {num_groups: 4}, relu], shortcut: [max_pool2d: {kernel_size: 3}]}
    - flatten
    - dropout: {p: 0.25}
    - linear: {out_features: classes}
privacy: {epsilon: 2.5, noise_multiplier: 1.25, delta: 1e-6, clip_norm: 0.5, clipping: per_layer, clip_schedule: linear, clip_final_factor: 0.75, noise_schedule: linear, noise_final_factor: 0.25, correlation: banded, bands: 5, accountant: rdp, unit: person, none: true}
optimizer: {name: adamw, learning_rate: 0.01, beta1: 0.8, beta2: 0.99, epsilon: 1E-7, weight_decay: 0.1,
  schedule: {name: cosine, warmup_steps: 49, final_factor: 0.1}}
training: {batch_size: 100, physical_batch_size: 32, steps: 50, evaluate_every: 5, seed: 9007199254740991, average: ema, average_decay: 0.99,
  augmentation: {views: 4, flip: true, shift: 3}}
performance: {threads: 3, engine: ghost, max_memory: 8GiB, data_memory: 2GiB, data_per_rank: true}
run: {name: my-run_1.2, checkpoint_every: 4}
`)
	want := DefaultConfig()
	want.Data = Data{Spec: data.Spec{Folder: `C:\my pictures`, Classes: []string{"cat", "7", "Hund_2"}, Size: Size{Height: 32, Width: 48}, Channels: 3, Seed: 1},
		Mean: []float64{0.4, 0.5, 0.6}, Std: []float64{0.25}}
	want.Model = Model{LoRA: LoRA{Alpha: 16}, Layers: model.Sequential{
		&model.Conv2D{Out: 8, Kernel: model.Both(3), Stride: model.Both(2), Padding: model.Both(1), Dilation: model.Both(1), Groups: 1, NoBias: true},
		&model.StandardisedConv2D{Conv2D: model.Conv2D{Out: 16, Kernel: Size{Height: 3, Width: 5}, Stride: Size{Height: 1, Width: 2},
			Padding: Size{Height: 0, Width: 4}, Dilation: Size{Height: 1, Width: 2}, Groups: 8}},
		&model.AvgPool2D{Kernel: Size{Height: 2, Width: 3}, Stride: Size{Height: 2, Width: 3}, Padding: Size{Height: 1, Width: 0}, OnlyInside: true},
		&model.Residual{
			Body:     model.Sequential{&model.GroupNorm{Groups: 4}, &model.ReLU},
			Shortcut: model.Sequential{&model.MaxPool2D{Kernel: model.Both(3), Stride: model.Both(3)}},
		},
		model.Flatten{},
		&model.Dropout{P: 0.25},
		&model.Linear{Out: model.NumClasses},
	}}
	want.Privacy = Privacy{2.5, 1.25, 1e-6, 0.5, &clip.PerLayer{}, release.GaussianNoise{}, &clip.LinearNorm{FinalFactor: 0.75}, &release.LinearNoise{FinalFactor: 0.25}, Banded, 5, "rdp", UnitPerson, 1, true, 0}
	want.Optimizer = Optimizer{
		Rule:         &optimizer.Adam{Beta1: 0.8, Beta2: 0.99, Epsilon: 1e-7, WeightDecay: 0.1, Decoupled: true},
		LearningRate: 0.01, ParameterNoise: 1.7,
		Schedule: Schedule{Curve: &optimizer.Cosine{FinalFactor: 0.1}, WarmupSteps: 49},
	}
	want.Training = Training{Loss: &model.CrossEntropy{}, Sampling: release.Poisson{}, BatchSize: 100, PhysicalBatchSize: 32, Steps: 50, EvaluateEvery: 5, Seed: 1<<53 - 1, Average: &optimizer.EMA{Decay: 0.99},
		Augmentation: data.Augmentation{Views: 4, Flip: true, Shift: 3}}
	want.Performance = Performance{3, "ghost", 8 << 30, 2 << 30, true}
	want.Run = Run{"my-run_1.2", 4, false}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

func TestBudgetAndNoise(t *testing.T) {
	for _, tt := range []struct {
		privacy            string
		epsilon, noise     float64
		budget, calibrated bool
	}{
		{"{epsilon: 3}", 3, 0, true, true},
		{"{noise_multiplier: 1.5}", 0, 1.5, false, false},
		{"{epsilon: 3, noise_multiplier: 1.5}", 3, 1.5, true, false},
		{"{epsilon: none, noise_multiplier: 1.5}", 0, 1.5, false, false},
		{"{epsilon: 3, noise_multiplier: calibrated}", 3, 0, true, true},
	} {
		p := mustParse(t, "data: {name: digits}\nprivacy: "+tt.privacy).Privacy
		if p.Epsilon != tt.epsilon || p.NoiseMultiplier != tt.noise || p.HasBudget() != tt.budget || p.Calibrated() != tt.calibrated {
			t.Errorf("%s: %+v, budget %t, calibrated %t", tt.privacy, p, p.HasBudget(), p.Calibrated())
		}
	}
}

func TestHarmlessVariantsOfAFile(t *testing.T) {
	want := mustParse(t, smallest)
	for name, src := range map[string]string{
		"byte order mark":  "\uFEFF" + smallest,
		"windows":          strings.ReplaceAll(smallest, "\n", "\r\n"),
		"start and end":    "---\n" + smallest + "...\n",
		"comments":         "# a: b\n" + strings.ReplaceAll(smallest, "\n", " # [x\n"),
		"block style":      "data:\n  name: digits\nprivacy:\n  epsilon: 3.0\n",
		"quoted text":      "data: {name: \"digits\"}\nprivacy: {\"epsilon\": 3}\n",
		"empty section":    smallest + "training: {}\n",
		"no final newline": strings.TrimSuffix(smallest, "\n"),
		"explicit default": smallest + "optimizer: {weight_decay: -0}\n",
	} {
		if got := mustParse(t, src); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if math.Signbit(mustParse(t, smallest+"optimizer: {weight_decay: -0}\n").Optimizer.Rule.(*optimizer.SGD).WeightDecay) {
		t.Error("weight_decay -0 kept its sign")
	}
}

// Values that look another way in a file than in words.
func TestOverridesOfListsAndTexts(t *testing.T) {
	for _, tt := range []struct{ base, override, want string }{
		{smallest, "data.mean=[0.25]", "mean: [0.25]"},
		{folderBase, "data.folder=/tmp/my pictures", `folder: "/tmp/my pictures"`},
		{folderBase, `data.classes=[cat, "7"]`, "- \"7\""},
		{folderBase, "data.size=[32,48]", "size: [32, 48]"},
		{tableBase, "data.columns=[pay, \"Gross income, 2024\"]", "- \"Gross income, 2024\""},
		{tableBase, "data.classes=[\"<=50K\", \">50K\"]", `- "\u003c=50K"`},
		{tableBase, "data.mean=[-40, 1000]", "mean: [-40, 1000]"},
		{smallest, "model.layers=[flatten, linear: {out_features: classes}]", "- linear: {out_features: classes, bias: true}"},
		{smallest + initial, "model.init_except=[7, 5.bias]", "init_except:\n    - \"7\"\n    - 5.bias\n"},
		{smallest, "model.train_only=[biases, 3.body.0]", "train_only:\n    - biases\n    - 3.body.0\n"},
		{smallest, "model.lora.rank=4", "lora:\n    rank: 4\n"},
		{smallest, "model.freeze=[0, 3.body.0]", "freeze:\n    - \"0\"\n    - 3.body.0\n"},
		{limitBase, "data.limit.epsilon=4", "limit:\n    epsilon: 4\n    delta: 1.0e-5\n"},
		{smallest, "privacy.clipping=adaptive", "clipping: adaptive\n  clip_quantile: 0.5\n  clip_rate: 0.2\n  count_share: 0.001\n"},
		{smallest, "privacy.clip_schedule=linear", "clip_schedule: linear\n  clip_final_factor: 0.5\n"},
		{smallest, "privacy.noise_schedule=linear", "noise_schedule: linear\n  noise_final_factor: 0.5\n"},
		{smallest, "privacy.mechanism=gaussian", "privacy:\n"},
		{smallest, "features.name=patches", "features:\n  name: patches\n  filters: 384"},
		{smallest, "training.sampling=full", "sampling: full\n  physical"},
		{smallest, "training.seed=3", "training:\n  batch_size: 512\n  physical_batch_size: 128\n  epochs: 10\n  evaluate_every: 0\n  seed: 3"},
		{smallest, "training.average=tail", "average: tail\n  average_fraction: 0.5\n"},
		{smallest, "training.augmentation.views=4", "  augmentation:\n    views: 4\n"},
		{smallest, "federated.clients=100", "federated:\n  clients: 100\n  split: iid\n  seed: 1\n"},
		{clientsBase, "federated.split=dirichlet", "split: dirichlet\n  alpha: 0.5\n"},
		{clientsBase, "federated.noise=server", "noise: server\n\nperf"},
		{smallest, "performance.max_memory=500 MB", "max_memory: 500MB"},
	} {
		if got := string(mustParse(t, tt.base, tt.override).YAML()); !strings.Contains(got, tt.want) {
			t.Errorf("--set %s gives\n%s\nwant %s", tt.override, got, tt.want)
		}
	}
}

// Every key can be set by an override, to a value that it does not have, where that means
// something: then it is written.
func TestOverridesSetEveryKey(t *testing.T) {
	set := map[string]bool{}
	sources := []string{
		smallest, folderBase, tableBase, vectorsBase, limitBase, clientsBase, smallest + initial,
		strings.NewReplacer("privacy: {", "privacy: {unit: person, ", "data: {", "data: {group: who, ").Replace(tableBase),
		textBase, tokensBase, labelsBase, boundsBase, strings.Replace(boundsBase, "squared", "huber", 1),
		smallest + "model: {lora: {rank: 2}}", smallest + "optimizer: {learning_rate: by_noise}", smallest + "pate: {teachers: 5}", smallest + "pate: {teachers: 5, release_data_dependent: true}",
	}
	values := []string{"0.5", "0.25", "2", "3", "16", "20", "32", "1e-6", "true", "[0.5]", "[1, 2]", "[a, b, c]", "[relu]", "8GiB", "x", "x.safetensors", "x.json"}
	for _, f := range fields { // a kind has its own keys
		names, _ := f.format.(interface{ Names() []string })
		for i := 0; names != nil && i < len(names.Names()); i++ {
			values = append(values, names.Names()[i])
			if c, err := Parse("kind.yaml", []byte(smallest), []string{f.path + "=" + names.Names()[i]}); err == nil && i > 0 {
				sources = append(sources, string(c.YAML()))
			}
		}
	}
	nodes := map[string]*node{}
	for _, value := range values {
		nodes[value] = readYAML(&report{}, startOf(""), []byte(value))
	}
	for _, source := range sources {
		before := mustParse(t, source)
		for _, f := range fields {
			if set[f.path] || !f.applies(before) {
				continue
			}
			for _, value := range values {
				into := f.at(&Config{})
				if set[f.path] || !decode(f.format, &report{}, nodes[value], "", into) || encode(f.format, into) == encode(f.format, f.at(before)) {
					continue
				}
				c, err := Parse("test.yaml", []byte(source), []string{f.path + "=" + value})
				if err != nil {
					continue
				}
				_, key := f.split()
				again := mustParse(t, string(c.YAML()))
				set[f.path] = strings.Contains(string(c.YAML()), " "+key+":") && encode(f.format, f.at(again)) == encode(f.format, f.at(c)) && encode(f.format, f.at(c)) != encode(f.format, f.at(before))
			}
		}
	}
	for _, f := range fields {
		if !set[f.path] && f.path != "privacy.mechanism" { // of which there is one
			t.Errorf("no value of %s could be set and written", f.path)
		}
	}
}

const (
	limitBase   = "data: {name: digits, limit: {epsilon: 8, delta: 1e-5}}\nprivacy: {epsilon: 3}\n"
	clientsBase = smallest + "federated: {clients: 100, split: dirichlet, noise: clients}\n"
)

const (
	textBase   = "data: {text: letters, classes: [a, b], length: 9}\nprivacy: {epsilon: 3}\n"
	tokensBase = "data: {text: letters, classes: [a, b], length: 9, tokenizer: bert.json, vocabulary: 7}\nprivacy: {epsilon: 3}\n"
	labelsBase = "data: {table: records, columns: [age, pay], labels: [a, b]}\nprivacy: {epsilon: 3}\ntraining: {loss: binary}\n"
	boundsBase = "data: {table: records, columns: [age, pay], label: sick, bounds: [3, 9]}\nprivacy: {epsilon: 3}\ntraining: {loss: squared}\n"
)

const tableBase = "data: {table: records, columns: [age, pay], label: sick, classes: [a, b]}\nprivacy: {epsilon: 3}\n"

const initial = "model: {init: weights.safetensors, init_trained_on: public}\n"

const vectorsBase = "data: {vectors: vectors, width: 8, classes: [a, b]}\nprivacy: {epsilon: 3}\n"

const folderBase = "data: {folder: pictures, classes: [a, b], size: 28, channels: 1}\nprivacy: {epsilon: 3}\n"

func TestOverridesReplaceWhatTheyExclude(t *testing.T) {
	tests := []struct {
		src       string
		overrides []string
		same      string // a file that means the same
	}{
		{"data: {name: digits, seed: 5}\nprivacy: {epsilon: 3}", []string{"data.folder=pictures", "data.classes=[a,b]", "data.size=28", "data.channels=1"}, folderBase},
		{folderBase, []string{"data.name=digits"}, smallest},
		{folderBase, []string{"data.table=records", "data.columns=[age, pay]", "data.label=sick"}, tableBase},
		{tableBase, []string{"data.name=digits"}, smallest},
		{tableBase, []string{"data.vectors=vectors", "data.width=8"}, "data: {vectors: vectors, width: 8, label: sick, classes: [a, b]}\nprivacy: {epsilon: 3}"},
		{vectorsBase, []string{"data.table=records", "data.columns=[age, pay]", "data.label=sick"}, tableBase},
		{"data: {name: digits, mean: [0.5]}\nprivacy: {epsilon: 3}", []string{"data.vectors=vectors", "data.width=8", "data.classes=[a, b]"}, vectorsBase},
		{tableBase, []string{"data.folder=pictures", "data.size=28", "data.channels=1"}, folderBase},
		{smallest, []string{"data.table=records", "data.columns=[age, pay]", "data.label=sick", "data.classes=[a, b]"}, tableBase},
		{smallest + "model: {layers: [flatten]}", []string{"model.name=mlp"}, smallest + "model: {name: mlp}"},
		{smallest + "model: {name: mlp}", []string{"model.layers=[flatten]"}, smallest + "model: {layers: [flatten]}"},
		{smallest + "training: {epochs: 3}", []string{"training.steps=5"}, smallest + "training: {steps: 5}"},
		{smallest + "training: {steps: 3}", []string{"training.epochs=5"}, smallest + "training: {epochs: 5}"},
		{smallest + "optimizer: {name: momentum, momentum: 0.5}", []string{"optimizer.name=adam"}, smallest + "optimizer: {name: adam}"},
		{smallest + "optimizer: {schedule: {name: step, step_every: 5}}", []string{"optimizer.schedule.name=constant"}, smallest},
		{smallest + "federated: {clients: 100, split: dirichlet, alpha: 0.3}", []string{"federated.clients=0"}, smallest},
		{"data: {name: digits}\nprivacy: {epsilon: 3, clip_schedule: linear, clip_final_factor: 0.3}", []string{"privacy.clipping=automatic"}, "data: {name: digits}\nprivacy: {epsilon: 3, clipping: automatic}"},
		{"data: {name: digits}\nprivacy: {epsilon: 3, clipping: adaptive, clip_rate: 0.3}", []string{"privacy.unit=label"}, "data: {name: digits}\nprivacy: {epsilon: 3, unit: label}"},
		{"data: {name: digits, seed: 5}\nprivacy: {epsilon: 3}", []string{"data.name=mnist"}, "data: {name: mnist}\nprivacy: {epsilon: 3}"},
		{smallest, []string{"privacy.noise_multiplier=1", "privacy.epsilon=none"}, "data: {name: digits}\nprivacy: {noise_multiplier: 1}"},
		{smallest, []string{"privacy.clip_norm=5", "privacy.clip_norm=7"}, "data: {name: digits}\nprivacy: {epsilon: 3, clip_norm: 7}"},
		{"privacy: {epsilon: 3}", []string{"data.name=digits"}, smallest},
	}
	for _, tt := range tests {
		got, want := mustParse(t, tt.src, tt.overrides...), mustParse(t, tt.same)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s with %q is\n%s\nwant\n%s", tt.src, tt.overrides, got.YAML(), want.YAML())
		}
	}
}

func TestBadOverrides(t *testing.T) {
	tests := []struct{ override, want string }{
		{"privacy.clip_norm", "--set privacy.clip_norm: found no value, expected key=value"},
		{"privacy.clip_norm=", "--set privacy.clip_norm: found nothing, expected a number from 1e-12 to 1000000"},
		{"privacy.clip_norm=~", "--set privacy.clip_norm: found ~, expected a number from 1e-12 to 1000000"},
		{"privacy.clip_norm=0,1", "--set privacy.clip_norm: found 0,1, expected a number from 1e-12 to 1000000 (write it without a comma)"},
		{"privacy.clip_norm=[0.1]", "--set privacy.clip_norm: found a list of 1, expected a number from 1e-12 to 1000000"},
		{"privacy.clip_norm=.nan", "--set privacy.clip_norm: found .nan, expected a number from 1e-12 to 1000000 (it must be finite)"},
		{"privacy.clip_norm=&a 1", "--set privacy.clip_norm: found an anchor (&), expected plain YAML without it"},
		{"privacy.clip_norm=1\nprivacy: 2", "--set privacy.clip_norm: found several lines, expected a value in one line"},
		{"privacy.clip_norm=[1", "--set privacy.clip_norm: not readable as YAML: sequence end token ']' not found"},
		{"clip_norm=1", "--set clip_norm: found an unknown key, expected a full key such as privacy.clip_norm (did you mean privacy.clip_norm?)"},
		{"privacy.sigma=1", "--set privacy.sigma: found an unknown key, expected a full key such as privacy.clip_norm (did you mean privacy.noise_multiplier?)"},
		{"optimizer=sgd", "--set optimizer: found a section, expected a key such as optimizer.name"},
		{"optimizer.schedule=cosine", "--set optimizer.schedule: found a section, expected a key such as optimizer.schedule.name"},
		{"=1", `--set "": found an unknown key, expected a full key such as privacy.clip_norm`},
		{"nothing.like.this=1", "--set nothing.like.this: found an unknown key, expected a full key such as privacy.clip_norm"},
		{"training.epochs=1.5", "--set training.epochs: found 1.5, expected a whole number from 1 to 1000000"},
		{"run.name=2024", `--set run.name: found 2024, expected a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_', or "" (put it in quotes if it is meant as text)`},
		{"optimizer.beta1=0.5", "--set optimizer.beta1: found without effect, expected it only with {only optimizer.beta1}"},
		{"model.layers=[linear: {out_features: 0}]", "--set model.layers: model.layers[0].linear.out_features: found 0, expected a whole number from 1 to 1048576, or classes"},
		{"data.folder=pictures", `test.yaml:1:1: data.classes: found nothing, expected a list of 2 to 256 names, each the name of a folder, because data.folder is given
test.yaml:1:1: data.size: found nothing, expected a whole number from 1 to 1024, or [height, width], because data.folder is given
test.yaml:1:1: data.channels: found nothing, expected 1 or 3, because data.folder is given`},
		{"data.name=cifar10", "--set data.name: found cifar10, expected one of {data.name} (did you mean cifar-10?)"},
	}
	for _, tt := range tests {
		_, err := Parse("test.yaml", []byte(smallest), []string{tt.override})
		wrong(t, "--set "+tt.override, err, tt.want)
	}
	_, err := Parse("test.yaml", []byte(smallest), []string{"training.epochs=1", "training.steps=1"})
	wrong(t, "two of a pair", err, "--set training.steps: found together with training.epochs, expected one of the two")
}

func TestYAMLReadsBackEqual(t *testing.T) {
	sources := []string{smallest, folderBase,
		folderBase + "run: {name: x}",
		`data: {folder: "a: [b] #c", classes: ["true", "1e3", "ü ber", "x, y"], size: [1, 1024], channels: 3, std: [0.001]}` + "\nprivacy: {noise_multiplier: 0.1}",
	}
	for _, name := range clip.Policies().Names() {
		sources = append(sources, "data: {name: digits}\nprivacy: {epsilon: 3, clipping: "+name+"}")
	}
	for _, name := range clip.Schedules().Names() {
		sources = append(sources, "data: {name: digits}\nprivacy: {epsilon: 3, clip_schedule: "+name+"}")
	}
	for _, name := range optimizer.UpdateRules().Names() {
		sources = append(sources, smallest+"optimizer: {name: "+name+", learning_rate: 1e-7}")
	}
	for _, name := range optimizer.Averages().Names() {
		sources = append(sources, smallest+"training: {average: "+name+"}")
	}
	for _, name := range optimizer.Curves().Names() {
		sources = append(sources, smallest+"optimizer: {schedule: {name: "+name+"}}")
	}
	for _, p := range Presets() {
		sources = append(sources, string(p.Source))
	}
	for _, src := range sources {
		c := mustParse(t, src)
		written := c.YAML()
		if again := mustParse(t, string(written)); !reflect.DeepEqual(c, again) {
			t.Errorf("%s\nis written as\n%s\nand read back as %+v", src, written, again)
		}
	}
}

// What may change when a run goes on, and a limit, are no part of what the run is known by.
func TestIdentity(t *testing.T) {
	changed := mustParse(t, limitBase, "training.physical_batch_size=7", "training.evaluate_every=3", "performance.threads=2", "run.name=x")
	if found, want := string(changed.Identity()), string(mustParse(t, smallest).Identity()); found != want {
		t.Errorf("found\n%s\nexpected\n%s", found, want)
	}
}

// Keys that came later do not show in the files of runs that were begun before them: these files
// are what runs know their plan by. The features are as the program wrote them without those keys.
func TestLaterKeysLeaveOlderFilesAsTheyAre(t *testing.T) {
	layers := func(text string) string { return smallest + "model: {layers: [" + text + ", relu]}\n" }
	for source, want := range map[string]string{
		layers("{conv2d: {out_channels: 4, kernel_size: [3, 3], dilation: 1, groups: 1}}"): "    - conv2d: {out_channels: 4, kernel_size: 3, stride: 1, padding: 0, bias: true}\n",
		layers("{conv2d: {out_channels: 4, kernel_size: [3, 1], dilation: 2, groups: 4}}"): "    - conv2d: {out_channels: 4, kernel_size: [3, 1], stride: 1, padding: 0, dilation: 2, groups: 4, bias: true}\n",
		layers("{max_pool2d: {kernel_size: 2, padding: 0}}"):                               "    - max_pool2d: {kernel_size: 2, stride: 2}\n",
		layers("{max_pool2d: {kernel_size: 2, padding: [0, 1]}}"):                          "    - max_pool2d: {kernel_size: 2, stride: 2, padding: [0, 1]}\n",
		layers("{avg_pool2d: {kernel_size: 2, count_include_pad: true}}"):                  "    - avg_pool2d: {kernel_size: 2, stride: 2}\n",
		layers("{avg_pool2d: {kernel_size: 2, count_include_pad: false}}"):                 "    - avg_pool2d: {kernel_size: 2, stride: 2, count_include_pad: false}\n",
		smallest + "features: {name: patches}":                                             "  name: patches\n  filters: 384\n  patch_size: 6\n  pooling: 3\n  scale: 1\n  drawn: leaves\n",
		smallest + "features: {name: scattering}":                                          "  name: scattering\n  groups: 27\n  drawn: leaves\n  pictures: 2400\n  seed: 1\n  directions: 256\n",
	} {
		if got := string(mustParse(t, source).YAML()); !strings.Contains(got, want) {
			t.Errorf("%s is written as\n%s\nexpected in it\n%s", source, got, want)
		}
	}
	older := "data: {name: digits}\nprivacy: {epsilon: 3, unit: label, clipping: automatic}\ntraining: {sampling: full, steps: 9}\noptimizer: {schedule: {warmup_steps: 9}}\n"
	if c, err := ParseRun("config.yaml", []byte(older), nil); err != nil || !strings.Contains(string(c.YAML()), "clipping: automatic") || !strings.Contains(string(c.YAML()), "sampling: full") {
		t.Errorf("a run whose keys are refused by now is read as %+v, %v", c, err)
	}
}

// A parsed configuration is written and read back equal, and nothing makes Parse panic.
func FuzzParse(f *testing.F) {
	seed := func(src, override string) []byte { return []byte(override + "\n" + src) }
	seeds := [][]byte{
		seed(folderBase, "model.layers=[residual: {body: [relu]}]"), seed(smallest, "run.name=\"\\u00e9\""),
		seed("a: &a [*a]\n<<: *a\n? b\n: |\n c\n--- !!x\n", "data.mean=["),
	}
	for _, p := range Presets() {
		seeds = append(seeds, seed(string(p.Source), ""))
	}
	for _, src := range badFiles(f) {
		seeds = append(seeds, seed(src, "data.name=mnist"))
	}
	slow.Inputs(f, seeds, func(t testing.TB, input []byte) int64 {
		override, src, _ := strings.Cut(string(input), "\n")
		var overrides []string
		if override != "" {
			overrides = []string{override}
		}
		c, err := Parse("fuzz.yaml", []byte(src), overrides)
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 || c != nil {
				t.Fatalf("Parse(%q, %q) = %v, %v", src, overrides, c, err)
			}
			for _, p := range problems {
				if line := p.String(); strings.ContainsAny(line, "\n\r\x1b") {
					t.Fatalf("the problem %q takes more than one line", line)
				}
			}
			return 0
		}
		again, err := Parse("again.yaml", c.YAML(), nil)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("%q with %q is written as\n%s\nand read back as %+v, %v", src, overrides, c.YAML(), again, err)
		}
		return 0
	})
}
