package configs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// badFiles holds every testdata/<name>.bad.yaml, one mistake each, with all that is said about it.
// The name of the file, which begins every line, is left out.
var badFiles = []struct{ name, want string }{
	{"alias", `2:20: privacy.epsilon: found an anchor (&), expected plain YAML without it
2:37: privacy.clip_norm: found an alias (*), expected plain YAML without it`},
	{"anchor", `1:7: data: found an anchor (&), expected plain YAML without it`},
	{"argument-of-relu", `2:25: model.layers[0].relu.inplace: found an unknown key, expected no keys here`},
	{"bare-point", `3:12: privacy.epsilon: found .5, expected a number greater than 0 and at most 10000, or none (write a digit before the point)`},
	{"batch-norm-in-pytorch", `4:25: model.layers[0].residual.body[0]: found BatchNorm2d, expected group_norm instead: batch normalisation mixes the examples of a batch, so that clipping one example's gradient does not bound what that example changes`},
	{"batch-norm", `5:7: model.layers[1]: found batch_norm2d, expected group_norm instead: batch normalisation mixes the examples of a batch, so that clipping one example's gradient does not bound what that example changes`},
	{"beta-of-momentum", `3:36: optimizer.beta1: found without effect, expected it only with {only optimizer.beta1}`},
	{"block-text", `2:9: data.name: found block text (| or >), expected plain YAML without it`},
	{"by-noise-adaptive", `3:28: optimizer.learning_rate: found by_noise with privacy.clipping adaptive, whose noise is not known ahead, expected a number or another clipping`},
	{"clients-by-layer", `2:55: federated.min_clients: found 11, expected at most the 10 of federated.clients
3:33: privacy.clipping: found per_layer with federated.clients, expected another clipping: a client's change is bounded as a whole
4:28: run.private_diagnostics: found true with federated.clients, expected false: a run of rounds has none`},
	{"class-boolean", `1:36: data.classes[0]: found yes, expected the name of a folder (put it in quotes if it is meant as text)
1:41: data.classes[1]: found no, expected the name of a folder (put it in quotes if it is meant as text)`},
	{"class-escapes", `1:41: data.classes[1]: found ../dog, expected the name of a folder`},
	{"class-number", `1:41: data.classes[1]: found 7, expected the name of a folder (put it in quotes if it is meant as text)`},
	{"class-twice", `1:46: data.classes[2]: found Cat, expected a name that differs from item 0 in more than case`},
	{"classes-with-name", `1:31: data.classes: found without effect, expected it only with data.folder or data.table or data.vectors`},
	{"clip-schedule-of-automatic", `2:59: privacy.clip_schedule: found without effect, expected it only with privacy.clipping flat or per_layer`},
	{"complex-key", `3:1: found a key that is not a plain word, expected plain YAML without it`},
	{"decimal-comma", `3:12: privacy.epsilon: found 2,5, expected a number greater than 0 and at most 10000, or none (write it without a comma)`},
	{"delta-above-one", `2:30: privacy.delta: found 1.5, expected a number of at least 1e-20 and less than 1`},
	{"delta-one", `2:30: privacy.delta: found 1, expected a number of at least 1e-20 and less than 1`},
	{"delta-tiny", `2:30: privacy.delta: found 1e-30, expected a number of at least 1e-20 and less than 1`},
	{"delta-zero", `2:30: privacy.delta: found 0, expected a number of at least 1e-20 and less than 1`},
	{"directive", `1:1: found a directive (%), expected plain YAML without it`},
	{"dropout-one", `2:31: model.layers[0].dropout.p: found 1, expected a number of at least 0 and less than 1`},
	{"duplicate-key", `5:3: privacy.clip_norm: found twice, expected once (first on line 4)`},
	{"duplicate-section", `3:1: privacy: found twice, expected once (first on line 2)`},
	{"empty-body", `2:35: model.layers[0].residual.body: found an empty list, expected a list of at least one layer`},
	{"empty-data", `1:1: data: found nothing, expected name (one of {data.name}), folder, table or vectors`},
	{"empty", `1:1: found nothing, expected a mapping with the keys {}`},
	{"ending-point", `3:12: privacy.epsilon: found 5., expected a number greater than 0 and at most 10000, or none (write a digit after the point)`},
	{"endless-warmup", `3:38: optimizer.schedule.warmup_steps: found 500, expected at most the 100 training.steps`},
	{"epochs-and-steps", `5:10: training.steps: found together with training.epochs, expected one of the two`},
	{"float-integer", `3:24: training.batch_size: found 512.0, expected a whole number from 1 to 10000000 (write 512)`},
	{"folder-alone", `1:1: data.classes: found nothing, expected a list of 2 to 1000 names, each the name of a folder, because data.folder is given
1:1: data.size: found nothing, expected a whole number from 1 to 1024, or [height, width], because data.folder is given
1:1: data.channels: found nothing, expected 1 or 3, because data.folder is given`},
	{"fractional-integer", `3:24: training.batch_size: found 512.5, expected a whole number from 1 to 10000000`},
	{"group-of-examples", `1:71: data.group: found without effect, expected it only with privacy.unit person`},
	{"half-a-limit", `1:22: data.limit: found nothing, expected epsilon and delta, both or neither`},
	{"hexadecimal", `3:24: training.batch_size: found 0x200, expected a whole number from 1 to 10000000 (write it in decimal)`},
	{"huge-integer", `3:19: training.steps: found 99999999999999999999, expected a whole number from 1 to 1000000000`},
	{"huge-physical-batch", `3:33: training.physical_batch_size: found 100000, expected a whole number from 1 to 4096`},
	{"infinite", `2:20: privacy.epsilon: found .inf, expected a number greater than 0 and at most 10000, or none (it must be finite)`},
	{"key-in-wrong-case", `2:1: privacy: found nothing, expected epsilon (a budget) or noise_multiplier (a fixed noise), or both
2:11: privacy.Epsilon: found an unknown key, expected one of {privacy} (did you mean epsilon?)`},
	{"key-in-wrong-section", `3:1: clip_norm: found an unknown key, expected one of {} (did you mean privacy.clip_norm?)`},
	{"key-of-other-library", `3:13: optimizer.lr: found an unknown key, expected one of {optimizer} (did you mean learning_rate?)`},
	{"layer-list", `4:7: model.layers[0]: found a list, expected a layer such as relu or linear: {out_features: 10}`},
	{"layer-null", `4:6: model.layers[0]: found nothing, expected a layer such as relu or linear: {out_features: 10}`},
	{"layer-two-keys", `4:7: model.layers[0]: found a mapping, expected a layer such as relu or linear: {out_features: 10}`},
	{"layer-without-colon-mapping", `4:15: model.layers[0].linear: found 10, expected a mapping of its arguments`},
	{"list-for-scalar", `2:20: privacy.epsilon: found a list, expected a number greater than 0 and at most 10000, or none`},
	{"list-for-section", `3:11: training: found a list, expected a mapping with the keys {training}`},
	{"mapping-for-scalar", `3:20: optimizer.name: found a mapping, expected one of {optimizer.name}`},
	{"mean-in-bytes", `1:29: data.mean[0]: found 127.5, expected a number from 0 to 1`},
	{"mean-per-channel", `1:28: data.mean: found 3 values, expected 1`},
	{"merge-key", `3:3: privacy: found a merge key (<<), expected plain YAML without it`},
	{"missing-argument", `2:18: model.layers[0].conv2d.kernel_size: found nothing, expected a whole number from 1 to 1024, or [height, width]`},
	{"missing-value", `4:3: privacy.noise_multiplier: found nothing, expected a number greater than 0 and at most 10000, or calibrated`},
	{"momentum-of-sgd", `3:34: optimizer.momentum: found without effect, expected it only with optimizer.name momentum or nesterov`},
	{"momentum-one", `3:39: optimizer.momentum: found 1, expected a number of at least 0 and less than 1`},
	{"name-and-folder", `1:30: data.folder: found together with data.name, expected one of the two`},
	{"name-and-layers", `2:28: model.layers: found together with model.name, expected one of the two`},
	{"nan", `2:20: privacy.epsilon: found .nan, expected a number greater than 0 and at most 10000, or none (it must be finite)`},
	{"negative-infinite", `3:27: optimizer.weight_decay: found -.inf, expected a number from 0 to 100 (it must be finite)`},
	{"negative-noise", `2:29: privacy.noise_multiplier: found -1, expected a number greater than 0 and at most 10000, or calibrated`},
	{"negative-seed", `3:18: training.seed: found -1, expected a whole number from 0 to 9007199254740991`},
	{"negative-steps", `3:19: training.steps: found -5, expected a whole number from 1 to 1000000000`},
	{"new-octal", `3:24: training.batch_size: found 0o17, expected a whole number from 1 to 10000000 (write it in decimal)`},
	{"no-budget", `2:1: privacy: found nothing, expected epsilon (a budget) or noise_multiplier (a fixed noise), or both`},
	{"no-data", `1:1: data: found nothing, expected name (one of {data.name}), folder, table or vectors`},
	{"no-layers", `2:17: model.layers: found an empty list, expected a list of at least one layer`},
	{"no-privacy", `1:1: privacy: found nothing, expected epsilon (a budget) or noise_multiplier (a fixed noise), or both`},
	{"none-and-calibrated", `2:1: privacy: found nothing, expected epsilon (a budget) or noise_multiplier (a fixed noise), or both`},
	{"not-a-mapping", `1:1: found a list, expected a mapping with the keys {}`},
	{"not-yaml", `2:1: not readable as YAML: ',' or '}' must be specified`},
	{"null-section", `2:1: privacy: found nothing, expected a mapping with the keys {privacy}`},
	{"null-word", `4:3: privacy.noise_multiplier: found null, expected a number greater than 0 and at most 10000, or calibrated`},
	{"null", `4:3: privacy.noise_multiplier: found ~, expected a number greater than 0 and at most 10000, or calibrated`},
	{"number-for-name", `3:13: run.name: found 2024, expected a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_', or "" (put it in quotes if it is meant as text)`},
	{"octal", `3:24: training.batch_size: found 0512, expected a whole number from 1 to 10000000 (a leading zero means octal to some readers)`},
	{"one-class", `1:35: data.classes: found a list, expected a list of 2 to 1000 names, each the name of a folder (it has 1)`},
	{"only-comments", `1:1: found nothing, expected a mapping with the keys {}`},
	{"overflow", `2:20: privacy.epsilon: found 1e400, expected a number greater than 0 and at most 10000, or none (too large for a number)`},
	{"percent", `2:30: privacy.delta: found 1%, expected a number of at least 1e-20 and less than 1 (write 0.01 for 1%)`},
	{"plus-sign", `3:12: privacy.epsilon: found +3, expected a number greater than 0 and at most 10000, or none (write it without a plus sign)`},
	{"persons-and-clients", `3:29: privacy.unit: found label with federated.clients, expected example: what is protected is one client with all its examples`},
	{"persons-in-folders", `1:69: data.group: found folder with data.folder, expected prefix`},
	{"persons-of-digits", `2:29: privacy.unit: found person, expected data.folder or data.table: other examples do not say whose they are`},
	{"persons-unknown", `2:29: privacy.unit: found person, expected data.group, which says whose an example is`},
	{"quoted-boolean", `3:28: run.private_diagnostics: found the text "true", expected true or false (write true)`},
	{"quoted-number", `3:12: privacy.epsilon: found the text "3", expected a number greater than 0 and at most 10000, or none (write it without quotes)`},
	{"run-name-escapes", `3:13: run.name: found ../../etc, expected a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_', or ""`},
	{"run-name-too-long", `3:13: run.name: found aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…, expected a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_', or ""`},
	{"scalar-for-list", `1:28: data.mean: found 0.5, expected a list of 1 to 3 numbers, each from 0 to 1 (write [0.5])`},
	{"scalar-for-section", `2:10: privacy: found 3, expected a mapping with the keys {privacy}`},
	{"schedule-as-name", `4:13: optimizer.schedule: found cosine, expected a mapping with the keys {optimizer.schedule}`},
	{"scientific-integer", `3:24: training.batch_size: found 1e3, expected a whole number from 1 to 10000000 (write 1000)`},
	{"second-document", `3:1: found a second document, expected one document in the file`},
	{"seed-without-digits", `1:27: data.seed: found without effect, expected it only with data.name digits`},
	{"several", `3:12: privacy.epsilon: found -3, expected a number greater than 0 and at most 10000, or none
4:10: privacy.delta: found 2, expected a number of at least 1e-20 and less than 1
6:11: training.epochs: found 1.5, expected a whole number from 1 to 1000000
7:3: training.lr: found an unknown key, expected one of {training} (did you mean optimizer.learning_rate?)`},
	{"sexagesimal", `3:19: training.steps: found 1:30, expected a whole number from 1 to 1000000000`},
	{"std-per-channel", `1:29: data.std: found 2 values, expected 1 or 3, one per channel`},
	{"step-of-cosine", `3:50: optimizer.schedule.step_every: found without effect, expected it only with optimizer.schedule.name step`},
	{"tab", `2:1: not readable as YAML: found character '\t' that cannot start any token`},
	{"tag", `2:20: privacy.epsilon: found a tag (!), expected plain YAML without it`},
	{"three-kernel-sizes", `2:57: model.layers[0].conv2d.kernel_size: found a list, expected a whole number from 1 to 1024, or [height, width]`},
	{"three-sizes", `1:53: data.size: found a list, expected a whole number from 1 to 1024, or [height, width]`},
	{"two-channels", `1:67: data.channels: found 2, expected 1 or 3`},
	{"underflow", `3:27: optimizer.weight_decay: found 1e-400, expected a number from 0 to 100 (too small for a number)`},
	{"underscores", `3:24: training.batch_size: found 1_000, expected a whole number from 1 to 10000000 (write it without underscores)`},
	{"unknown-accountant", `2:35: privacy.accountant: found gdp, expected one of exact, pld, rdp (gdp is an approximation and no bound)`},
	{"unknown-accountant-zcdp", `2:35: privacy.accountant: found zcdp, expected one of exact, pld, rdp (zcdp knows nothing of sampled batches)`},
	{"unknown-accountant-prv", `2:35: privacy.accountant: found prv, expected one of exact, pld, rdp (did you mean pld?)`},
	{"unknown-argument", `2:44: model.layers[0].linear.activation: found an unknown key, expected one of out_features, bias`},
	{"unknown-data", `1:14: data.name: found minst, expected one of {data.name} (did you mean mnist?)`},
	{"unknown-engine", `3:23: performance.engine: found materialize, expected one of auto, ghost, materialise (did you mean materialise?)`},
	{"unknown-key", `4:3: training.batchsize: found an unknown key, expected one of {training} (did you mean batch_size?)`},
	{"unknown-layer", `2:27: model.layers[1]: found dense, expected one of the layers {layers} (did you mean linear?)`},
	{"unknown-network", `2:15: model.name: found mnist_cnn, expected one of {model.name} (did you mean mnist-cnn?)`},
	{"unknown-optimizer", `3:19: optimizer.name: found adamww, expected one of {optimizer.name} (did you mean adamw?)`},
	{"unknown-section", `3:1: trainning: found an unknown key, expected one of {} (did you mean training?)`},
	{"yes-for-true", `3:28: run.private_diagnostics: found yes, expected true or false (write true)`},
	{"zero-batch", `3:24: training.batch_size: found 0, expected a whole number from 1 to 10000000`},
	{"zero-clip-norm", `2:34: privacy.clip_norm: found 0, expected a number greater than 0 and at most 1000000`},
	{"zero-dilation", `2:74: model.layers[0].conv2d.dilation[1]: found 0, expected a whole number from 1 to 1024`},
	{"zero-epochs", `3:20: training.epochs: found 0, expected a whole number from 1 to 1000000`},
	{"zero-epsilon", `2:20: privacy.epsilon: found 0, expected a number greater than 0 and at most 10000, or none`},
	{"zero-kernel", `2:44: model.layers[0].max_pool2d.kernel_size: found 0, expected a whole number from 1 to 1024`},
	{"zero-noise", `2:29: privacy.noise_multiplier: found 0, expected a number greater than 0 and at most 10000, or calibrated`},
	{"zero-size", `1:58: data.size[1]: found 0, expected a whole number from 1 to 1024`},
	{"zero-std", `1:28: data.std[0]: found 0, expected a number from 0.001 to 1000`},
	{"table-alone", `1:1: data.classes: found nothing, expected a list of 2 to 256 names, each a value of the label column, because data.table is given
1:1: data.columns: found nothing, expected a list of 1 to 4096 names, each the name of a column, because data.table is given
1:1: data.label: found nothing, expected the name of a column, because data.table is given`},
	{"table-and-folder", `1:33: data.table: found together with data.folder, expected one of the two`},
	{"size-of-table", `1:76: data.size: found without effect, expected it only with data.folder`},
	{"columns-of-folder", `1:75: data.columns: found without effect, expected it only with data.table`},
	{"label-among-columns", `1:53: data.label: found sick, which is one of data.columns, expected another column`},
	{"vectors-alone", `1:1: data.classes: found nothing, expected a list of 2 to 256 names, each a value of the label column, because data.vectors is given
1:1: data.width: found nothing, expected a whole number from 1 to 65536, because data.vectors is given`},
	{"vectors-and-table", `1:17: data.vectors: found together with data.table, expected one of the two`},
	{"mean-of-vectors", `1:59: data.mean: found without effect, expected it only with data.vectors left out`},
	{"columns-of-vectors", `1:62: data.columns: found without effect, expected it only with data.table`},
	{"width-of-table", `1:77: data.width: found without effect, expected it only with data.vectors`},
	{"init-alone", `3:1: model.init_trained_on: found nothing, expected one of public, private, nothing, because model.init is given`},
	{"init-trained-on-alone", `3:26: model.init_trained_on: found without effect, expected it only with model.init`},
	{"init-pickle", `3:15: model.init: found weights.pt, expected the path of a .safetensors file, or ""`},
	{"freeze-escapes", `3:18: model.freeze[0]: found ../0, expected the name of a layer or parameter, such as 0 or 0.weight`},
	{"column-twice", `1:39: data.columns[1]: found age, expected a name that differs from item 0 in more than case`},
	{"mean-per-column", `1:87: data.mean: found 2 values, expected 1 or 3, one per column`},
	{"zero-std-of-table", `1:76: data.std[0]: found 0, expected a number from 0.000001 to 1000000`},
	{"views-of-features", `4:34: training.augmentation.views: found without effect, expected it only with features.name none and examples that are pictures`},
	{"flip-of-table", `3:33: training.augmentation.flip: found without effect, expected it only with features.name none and examples that are pictures`},
	{"shift-of-vectors", `3:34: training.augmentation.shift: found without effect, expected it only with features.name none and examples that are pictures`},
	{"crop", `3:27: training.augmentation.crop: found an unknown key, expected one of {training.augmentation} (did you mean shift?)`},
	{"large-patch", `3:39: features.patch_size: found 13, expected a whole number from 2 to 12`},
	{"no-views", `3:34: training.augmentation.views: found 0, expected a whole number from 1 to 256`},
}

// wrong expects an error that says so and matches ErrInvalid. Lists in the text are as in [Filled].
func wrong(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want = Filled(want); !errors.Is(err, ErrInvalid) || err.Error() != want {
		t.Errorf("%s\nfound    %v\nexpected %s", what, err, want)
	}
}

func TestBadFiles(t *testing.T) {
	if files, err := filepath.Glob("testdata/*.bad.yaml"); len(files) != len(badFiles) {
		t.Errorf("found %d files (%v), expected one for each of %d messages", len(files), err, len(badFiles))
	}
	for _, tt := range badFiles {
		file := tt.name + ".bad.yaml"
		src, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(file, src, nil)
		if c != nil {
			t.Errorf("%s: found %+v, expected no configuration", file, c)
		}
		wrong(t, file, err, file+":"+strings.ReplaceAll(tt.want, "\n", "\n"+file+":"))
	}
}

// Sources that would be no text files of their own.
func TestBadSources(t *testing.T) {
	for src, want := range map[string]string{
		strings.Repeat("# x\n", 300_000):        "f.yaml:1:1: found more than 65536 bytes, expected at most 65536",
		smallest + "run: {name: \"\x1b[2J\"}\n": "f.yaml:3:1: found the control character U+001B, expected printable text",
		smallest + `run: {name: "\x1b[2J"}`:     `f.yaml:3:13: run.name: found the text "\x1b[2J", expected ` + runName.Expected(),
		smallest + "model:\n  layers: [" + strings.Repeat("residual: {body: [", 10) + "relu" + strings.Repeat("]}", 10) + "]\n": "f.yaml:4:173: model.layers[0]" + strings.Repeat(".residual.body[0]", 8) + ".residual.body: found residual blocks more than 8 deep, expected at most 8",
	} {
		_, err := Parse("f.yaml", []byte(src), nil)
		wrong(t, printable(src), err, want)
	}
}
