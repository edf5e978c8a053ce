package configs

import (
	"reflect"
	"strings"

	"dpsgd/data"
)

// field is one key of a configuration. The table of fields is the only list of keys: parsing,
// writing, the JSON schema and the reference all walk it.
type field struct {
	path   string // sections and key, such as optimizer.schedule.name
	format format
	at     func(*Config) any // where the value is stored; the pointer type is the format's
	doc    string            // one sentence or two, in one line
	only   *condition        // when the key means anything; nil is always
}

// condition says for which values of another key a key means anything.
type condition struct {
	key    string // the key that decides
	values string // its values, for messages: "momentum or nesterov"; "" is any
	holds  func(*Config) bool
}

// String completes "only with …".
func (c condition) String() string {
	if c.values == "" {
		return c.key
	}
	return c.key + " " + c.values
}

// pair is two keys of which at most one may be given.
type pair struct{ a, b string }

var pairs = []pair{
	{"data.name", "data.folder"},
	{"data.name", "data.table"},
	{"data.folder", "data.table"},
	{"model.name", "model.layers"},
	{"training.epochs", "training.steps"},
}

// others returns the keys that a key excludes.
func others(path string) []string {
	var keys []string
	for _, p := range pairs {
		switch path {
		case p.a:
			keys = append(keys, p.b)
		case p.b:
			keys = append(keys, p.a)
		}
	}
	return keys
}

var (
	withFolder   = &condition{"data.folder", "", func(c *Config) bool { return c.Data.Folder != "" }}
	withTable    = &condition{"data.table", "", func(c *Config) bool { return c.Data.Table != "" }}
	withOwnData  = &condition{"data.folder", "or data.table", func(c *Config) bool { return withFolder.holds(c) || withTable.holds(c) }}
	withDigits   = &condition{"data.name", "digits", func(c *Config) bool { return c.Data.Name == "digits" }}
	withMomentum = &condition{"optimizer.name", "momentum or nesterov", func(c *Config) bool {
		return c.Optimizer.Name == "momentum" || c.Optimizer.Name == "nesterov"
	}}
	withAdam = &condition{"optimizer.name", "adam or adamw", func(c *Config) bool {
		return c.Optimizer.Name == "adam" || c.Optimizer.Name == "adamw"
	}}
	withCosine = &condition{"optimizer.schedule.name", "cosine", func(c *Config) bool { return c.Optimizer.Schedule.Name == "cosine" }}
	withStep   = &condition{"optimizer.schedule.name", "step", func(c *Config) bool { return c.Optimizer.Schedule.Name == "step" }}
)

// fields lists every key in the order in which files are written.
var fields = []field{
	{"data.name", datasetName{}, func(c *Config) any { return &c.Data.Name },
		"A data set that the program knows: " + datasetDocs() + ".", nil},
	{"data.folder", folder, func(c *Config) any { return &c.Data.Folder },
		"A folder of your own pictures, <folder>/train/<class>/*.png and <folder>/test/<class>/*.png (or .jpg, .jpeg).", nil},
	{"data.table", folder, func(c *Config) any { return &c.Data.Table },
		"A folder with a table of your own, <table>/train.csv and <table>/test.csv: comma-separated values, with the names of the columns in the first line.", nil},
	{"data.classes", byExamples{texts{className, 2, 1000}, texts{labelValue, 2, 256}}, func(c *Config) any { return &c.Data.Classes },
		"The names of the class folders, or the values of the label column; declared here because the list must not depend on the examples.", withOwnData},
	{"data.size", sizes{integer{min: 1, max: 1024}}, func(c *Config) any { return &c.Data.Size },
		"Height and width in pixels; pictures of another size are resized.", withFolder},
	{"data.channels", oneOf{1, 3}, func(c *Config) any { return &c.Data.Channels },
		"1 for grey pictures, 3 for colour.", withFolder},
	{"data.columns", texts{columnName, 1, data.MaxColumns}, func(c *Config) any { return &c.Data.Columns },
		"The columns with the numbers that the network sees, in its order; other columns are passed over.", withTable},
	{"data.label", columnName, func(c *Config) any { return &c.Data.Label },
		"The column that holds one of the classes.", withTable},
	{"data.mean", byExamples{numbers{number{min: 0, max: 1}, 3}, numbers{number{min: -data.MaxNormalisation, max: data.MaxNormalisation}, data.MaxColumns}}, func(c *Config) any { return &c.Data.Mean },
		"Subtracted from pixels in [0,1], or from the numbers of a table: one value, or one per channel or column. A public constant, never computed from the training examples.", nil},
	{"data.std", byExamples{numbers{number{min: 0.001, max: 1000}, 3}, numbers{number{min: 1 / data.MaxNormalisation, max: data.MaxNormalisation}, data.MaxColumns}}, func(c *Config) any { return &c.Data.Std },
		"Divides pixels or numbers after the mean is subtracted: one value, or one per channel or column. A public constant.", nil},
	{"data.seed", integer{min: 0, max: maxExactInteger}, func(c *Config) any { return &c.Data.Seed },
		"Which digits are drawn.", withDigits},

	{"model.name", choice{Networks()}, func(c *Config) any { return &c.Model.Name },
		"A ready network; its layers are in configs/networks.", nil},
	{"model.layers", layerList{nonEmpty: true}, func(c *Config) any { return &c.Model.Layers },
		"The layers of a network of your own.", nil},

	{"privacy.epsilon", number{min: 0, max: 10000, openMin: true, word: "none", wordMeans: "no budget: all steps are run"}, func(c *Config) any { return &c.Privacy.Epsilon },
		"The privacy budget, never passed. Alone, the noise is calibrated to it; none means no budget.", nil},
	{"privacy.noise_multiplier", number{min: 0, max: 10000, openMin: true, word: "calibrated", wordMeans: "the smallest noise with which all planned steps fit the budget"}, func(c *Config) any { return &c.Privacy.NoiseMultiplier },
		"Standard deviation of the noise divided by clip_norm. With epsilon, training stops before the step that would pass the budget; calibrated computes it from epsilon.", nil},
	{"privacy.delta", number{min: 1e-20, max: 1, openMax: true}, func(c *Config) any { return &c.Privacy.Delta },
		"The delta of the (epsilon, delta) guarantee; well below 1 / number of training examples. Below 1e-20 what sampler and generator add would not be small beside it (docs/threat-model.md).", nil},
	{"privacy.clip_norm", number{min: 0, max: 1e6, openMin: true}, func(c *Config) any { return &c.Privacy.ClipNorm },
		"Bound on the L2 norm of one example's gradient.", nil},
	{"privacy.accountant", accountants, func(c *Config) any { return &c.Privacy.Accountant },
		"How the spent budget is computed: exact by the exact privacy profile, pld by privacy loss distributions, rdp by Rényi differential privacy, which is looser. RDP is always reported beside the other two, and stands in where they have no certified answer.", nil},

	{"optimizer.name", choice{[]string{"sgd", "momentum", "nesterov", "adam", "adamw"}}, func(c *Config) any { return &c.Optimizer.Name },
		"The update rule; it only ever sees the noisy gradient.", nil},
	{"optimizer.learning_rate", number{min: 0, max: 1000, openMin: true}, func(c *Config) any { return &c.Optimizer.LearningRate },
		"The (first) learning rate.", nil},
	{"optimizer.momentum", number{min: 0, max: 1, openMax: true}, func(c *Config) any { return &c.Optimizer.Momentum },
		"How much of the last update is kept.", withMomentum},
	{"optimizer.beta1", number{min: 0, max: 1, openMax: true}, func(c *Config) any { return &c.Optimizer.Beta1 },
		"Decay of the mean of gradients.", withAdam},
	{"optimizer.beta2", number{min: 0, max: 1, openMax: true}, func(c *Config) any { return &c.Optimizer.Beta2 },
		"Decay of the mean of squared gradients.", withAdam},
	{"optimizer.epsilon", number{min: 0, max: 1, openMin: true}, func(c *Config) any { return &c.Optimizer.Epsilon },
		"Added to the denominator; not the privacy budget.", withAdam},
	{"optimizer.weight_decay", number{min: 0, max: 100}, func(c *Config) any { return &c.Optimizer.WeightDecay },
		"Pulls the weights toward 0.", nil},

	{"optimizer.schedule.name", choice{[]string{"constant", "cosine", "step"}}, func(c *Config) any { return &c.Optimizer.Schedule.Name },
		"How the learning rate changes over the steps.", nil},
	{"optimizer.schedule.warmup_steps", integer{min: 0, max: 1e9}, func(c *Config) any { return &c.Optimizer.Schedule.WarmupSteps },
		"The learning rate rises linearly over these first steps.", nil},
	{"optimizer.schedule.final_factor", number{min: 0, max: 1}, func(c *Config) any { return &c.Optimizer.Schedule.FinalFactor },
		"The last learning rate divided by the first.", withCosine},
	{"optimizer.schedule.step_every", integer{min: 1, max: 1e9}, func(c *Config) any { return &c.Optimizer.Schedule.StepEvery },
		"Steps between two drops of the learning rate.", withStep},
	{"optimizer.schedule.step_factor", number{min: 0, max: 1, openMin: true}, func(c *Config) any { return &c.Optimizer.Schedule.StepFactor },
		"Learning rate after a drop divided by before.", withStep},

	{"training.batch_size", integer{min: 1, max: 1e7}, func(c *Config) any { return &c.Training.BatchSize },
		"Expected number of examples in a step; each example takes part with probability batch_size / training examples.", nil},
	{"training.physical_batch_size", integer{min: 1, max: 4096}, func(c *Config) any { return &c.Training.PhysicalBatchSize },
		"Examples computed at once; changes memory and speed, not the result.", nil},
	{"training.epochs", integer{min: 1, max: 1e6}, func(c *Config) any { return &c.Training.Epochs },
		"Training length in expected passes over the data.", nil},
	{"training.steps", integer{min: 1, max: 1e9}, func(c *Config) any { return &c.Training.Steps },
		"Training length in steps.", nil},
	{"training.evaluate_every", integer{min: 0, max: 1e9}, func(c *Config) any { return &c.Training.EvaluateEvery },
		"Steps between two measurements of the test accuracy; 0 is only at the end.", nil},
	{"training.seed", integer{min: 0, max: maxExactInteger}, func(c *Config) any { return &c.Training.Seed },
		"Of the initial weights. Noise and sampling are never seeded.", nil},

	{"performance.threads", integer{min: 0, max: 1024}, func(c *Config) any { return &c.Performance.Threads },
		"Threads that compute; 0 is one per core.", nil},
	{"performance.engine", choice{[]string{"auto", "ghost", "materialise"}}, func(c *Config) any { return &c.Performance.Engine },
		"How per-example norms are computed; auto measures both when training starts and takes the faster for each layer.", nil},

	{"run.name", runName, func(c *Config) any { return &c.Run.Name },
		"Folder of the run within runs; \"\" lets the program choose.", nil},
	{"run.checkpoint_every", integer{min: 0, max: 1e9}, func(c *Config) any { return &c.Run.CheckpointEvery },
		"Steps between two checkpoints; 0 is only at the end.", nil},
	{"run.private_diagnostics", boolean{}, func(c *Config) any { return &c.Run.PrivateDiagnostics },
		"Also write training loss, gradient norms and batch sizes. They are not private: keep them to yourself.", nil},
}

// fieldAt returns the field of a path, or nil.
func fieldAt(path string) *field {
	for i := range fields {
		if fields[i].path == path {
			return &fields[i]
		}
	}
	return nil
}

// copy copies the value of the field from one configuration to another.
func (f *field) copy(to, from *Config) {
	reflect.ValueOf(f.at(to)).Elem().Set(reflect.ValueOf(f.at(from)).Elem())
}

// applies reports whether the field means anything in a configuration.
func (f *field) applies(c *Config) bool { return f.only == nil || f.only.holds(c) }

// children lists the keys and sections directly below a section, in order; "" is the top level.
func children(section string) []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range fields {
		rest, ok := strings.CutPrefix(f.path, section+".")
		if section == "" {
			rest, ok = f.path, true
		}
		if name, _, _ := strings.Cut(rest, "."); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// elsewhere returns the path of the field with this last part, if there is exactly one.
func elsewhere(name string) string {
	if s := synonym(name); s != "" {
		name = s
	}
	found := ""
	for _, f := range fields {
		if strings.HasSuffix(f.path, "."+name) {
			if found != "" {
				return ""
			}
			found = f.path
		}
	}
	return found
}
