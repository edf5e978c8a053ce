package configs

import (
	"reflect"
	"slices"
	"strings"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/data/pictures"
	"dpsgd/features"
	"dpsgd/internal/setting"
	"dpsgd/model"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// field is one key of a configuration. The table of fields is the only list of keys: parsing,
// writing, the JSON schema and the reference all walk it.
type field struct {
	path   string // sections and key, such as optimizer.schedule.name
	format setting.Format
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
func (c condition) String() string { return strings.TrimSpace(c.key + " " + c.values) }

// pair is two keys of which at most one may be given.
type pair struct{ a, b string }

var pairs = []pair{
	{"data.name", "data.folder"},
	{"data.name", "data.table"},
	{"data.folder", "data.table"},
	{"data.name", "data.vectors"},
	{"data.folder", "data.vectors"},
	{"data.table", "data.vectors"},
	{"model.name", "model.layers"},
	{"training.epochs", "training.steps"},
}

// others returns the keys that a key excludes.
func others(path string) (keys []string) {
	for _, p := range pairs {
		if p.a == path {
			keys = append(keys, p.b)
		} else if p.b == path {
			keys = append(keys, p.a)
		}
	}
	return keys
}

var (
	withFolder   = &condition{"data.folder", "", func(c *Config) bool { return c.Data.Folder != "" }}
	withTable    = &condition{"data.table", "", func(c *Config) bool { return c.Data.Table != "" }}
	withVectors  = &condition{"data.vectors", "", func(c *Config) bool { return c.Data.Vectors != "" }}
	withColumns  = &condition{"data.table", "or data.vectors", func(c *Config) bool { return withTable.holds(c) || withVectors.holds(c) }}
	withOwnData  = &condition{"data.folder", "or data.table or data.vectors", func(c *Config) bool { return withFolder.holds(c) || withTable.holds(c) || withVectors.holds(c) }}
	hasConstants = &condition{"data.vectors", "left out", func(c *Config) bool { return !withVectors.holds(c) }}
	withFeatures = &condition{"features.name", setting.Or(features.Transforms().Names()[1:]), func(c *Config) bool { return c.Features.Any() }}
	withPictures = &condition{"features.name", "none and examples that are pictures", func(c *Config) bool { return !c.Features.Any() && !withTable.holds(c) && !withVectors.holds(c) }}
	withInit     = &condition{"model.init", "", func(c *Config) bool { return c.Model.Init != "" }}
	withPersons  = &condition{"privacy.unit", "person", func(c *Config) bool { return c.Privacy.Unit == UnitPerson }}
	withLabels   = &condition{"privacy.unit", "label", func(c *Config) bool { return c.Privacy.Unit == UnitLabel }}
	byNoise      = &condition{"optimizer.learning_rate", "by_noise", func(c *Config) bool { return c.Optimizer.ByNoise() }}
	withBatches  = &condition{"training.sampling", setting.Or(release.Samplings().Where(release.Sampling.Sized)), func(c *Config) bool { return c.Training.Sampling.Sized() }}
	sharesNoise  = &condition{"federated.noise", data.ByServer, func(c *Config) bool { return !c.Federated.Any() || c.Federated.Noise == data.ByServer }}
	movableNorm  = &condition{"privacy.clipping", "flat or per_layer", func(c *Config) bool { return slices.Contains([]string{"flat", "per_layer"}, c.Privacy.Clipping.Name()) }}
	withClients  = &condition{"federated.clients", "", func(c *Config) bool { return c.Federated.Any() }}
	withDigits   = &condition{"data.name", "digits", func(c *Config) bool { return c.Data.Name == "digits" }}
)

// fields lists every key in the order in which files are written.
var fields = fieldsOf(clip.Policies(), optimizer.UpdateRules(), optimizer.Curves())

// fieldsOf returns the field of every key, with these policies, rules and curves as choices.
func fieldsOf(policies setting.Kinds[clip.Scheme], rules setting.Kinds[optimizer.UpdateRule], curves setting.Kinds[optimizer.Curve]) []*field {
	return slices.Concat(dataFields, featureFields, modelFields, privacyFields(policies), optimizerFields(rules), scheduleFields(curves),
		trainingFields, pateFields, federatedFields(), performanceFields, runFields)
}

// perChannel returns the format of 1 to channels numbers: one for all channels, or one for each.
func perChannel(min, max float64, channels int) listOf[float64] {
	return listOf[float64]{of: setting.Number{Min: min, Max: max}, min: 1, max: channels, what: "numbers"}
}

var dataFields = []*field{
	{"data.name", datasetName{}, func(c *Config) any { return &c.Data.Name },
		"A data set that the program knows: " + datasetDocs() + ".", nil},
	{"data.folder", folder, func(c *Config) any { return &c.Data.Folder },
		"A folder of your own pictures, <folder>/train/<class>/*.png and <folder>/test/<class>/*.png (or " + pictures.Extensions() + "), or with tar files as WebDataset makes them, <folder>/train-*.tar and <folder>/test-*.tar, in which key.png has its class, by name or number, in key.cls.", nil},
	{"data.table", folder, func(c *Config) any { return &c.Data.Table },
		"A folder with a table of your own, <table>/train.csv and <table>/test.csv: comma-separated values, with the names of the columns in the first line.", nil},
	{"data.vectors", folder, func(c *Config) any { return &c.Data.Vectors },
		"A folder with vectors of features that a public model computed, one per example: <vectors>/train.npy and train-labels.npy, test.npy and test-labels.npy, or train.safetensors and test.safetensors with the tensors features and labels, or .csv or .parquet files of which one column, data.label, holds the class by name or number and all others the vector; there, labels may also stand in train-labels.npy and test-labels.npy. Each vector is scaled to length 1.", nil},
	{"data.classes", byExamples{listOf[string]{of: className, min: 2, max: 1000, what: "names", distinct: true}, listOf[string]{of: labelValue, min: 2, max: 256, what: "names", distinct: true}}, func(c *Config) any { return &c.Data.Classes },
		"The names of the class folders or of the classes in tar files, the values of the label column, or what the labels 0, 1, … of vectors mean; declared here because the list must not depend on the examples.", withOwnData},
	{"data.size", setting.Sizes{Of: setting.Integer{Min: 1, Max: 1024}}, func(c *Config) any { return &c.Data.Size },
		"Height and width in pixels; pictures of another size are resized.", withFolder},
	{"data.channels", oneOf{1, 3}, func(c *Config) any { return &c.Data.Channels },
		"1 for grey pictures, 3 for colour.", withFolder},
	{"data.columns", listOf[string]{of: columnName, min: 1, max: data.MaxColumns, what: "names", distinct: true}, func(c *Config) any { return &c.Data.Columns },
		"The columns with the numbers that the network sees, in its order; other columns are passed over.", withTable},
	{"data.label", columnName, func(c *Config) any { return &c.Data.Label },
		"The column that holds one of the classes; of vectors in .csv or .parquet, the last one where nothing is said.", withColumns},
	{"data.group", groupName, func(c *Config) any { return &c.Data.Group },
		"Whose an example is: of a table the column that names its person, which need not be among data.columns; of a folder the word prefix, for pictures whose names say it before their last _, as in person_0123_07.png.", withPersons},
	{"data.width", setting.Integer{Min: 1, Max: data.MaxFeatures}, func(c *Config) any { return &c.Data.Width },
		"How many numbers each vector has.", withVectors},
	{"data.mean", byExamples{perChannel(0, 1, 3), perChannel(-data.MaxNormalisation, data.MaxNormalisation, data.MaxColumns)}, func(c *Config) any { return &c.Data.Mean },
		"Subtracted from pixels in [0,1], or from the numbers of a table: one value, or one per channel or column. A public constant, never computed from the training examples.", hasConstants},
	{"data.std", byExamples{perChannel(0.001, 1000, 3), perChannel(1/data.MaxNormalisation, data.MaxNormalisation, data.MaxColumns)}, func(c *Config) any { return &c.Data.Std },
		"Divides pixels or numbers after the mean is subtracted: one value, or one per channel or column. A public constant.", hasConstants},
	{"data.seed", setting.Integer{Min: 0, Max: maxExactInteger}, func(c *Config) any { return &c.Data.Seed },
		"Which digits are drawn.", withDigits},
	{"data.limit.epsilon", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "none", WordMeans: "what train ledger limit has set, if anything"}, func(c *Config) any { return &c.Data.Limit.Epsilon },
		"What everything that is ever released on this data, by all runs of the folder, may cost together. Set before the first release and never passed; with data.limit.delta.", nil},
	{"data.limit.delta", setting.Number{Min: 1e-20, Max: 1, OpenMax: true, Word: "none", WordMeans: "no limit of this file"}, func(c *Config) any { return &c.Data.Limit.Delta },
		"The delta of data.limit.epsilon.", nil},
}

var featureFields = slices.Concat([]*field{
	{"features.name", kindOf[features.Transform](features.Transforms()), func(c *Config) any { return &c.Features.Transform },
		"What is computed of every picture by a fixed public function, for the network to see: " + docs(features.Transforms()) + ".", nil},
}, argumentFields("features.name", features.Transforms(), func(c *Config) named { return c.Features.Transform }), []*field{
	{"features.drawn", setting.Choice(features.DrawnKinds()), func(c *Config) any { return &c.Features.Drawn },
		"What the program draws, so that dictionary and normalisation are learnt from nobody's pictures: leaves (overlapping shapes, for photographs), silhouettes (filled outlines, for things on black) or strokes (lines, for writing).", withFeatures},
	{"features.pictures", setting.Integer{Min: 10, Max: 20000}, func(c *Config) any { return &c.Features.Pictures },
		"How many pictures are drawn.", withFeatures},
	{"features.seed", setting.Integer{Min: 0, Max: maxExactInteger}, func(c *Config) any { return &c.Features.Seed },
		"Of the drawing.", withFeatures},
	{"features.directions", setting.Integer{Min: 0, Max: 5000}, func(c *Config) any { return &c.Features.Directions },
		"So many principal directions of the drawn pictures' features are scaled down to the last of them, so that a linear layer learns all of them at one pace; below the number of drawn pictures.", withFeatures},
	{"features.mean_noise", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "none", WordMeans: "no mean is released or subtracted"}, func(c *Config) any { return &c.Features.MeanNoise },
		"Noise multiplier of one release ahead of the first step: the mean of the training examples' features, which is subtracted. Its cost is in the ledger and in the budget.", withFeatures},
})

var modelFields = []*field{
	{"model.name", setting.Choice(Networks()), func(c *Config) any { return &c.Model.Name },
		"A ready network; its layers are in configs/networks.", nil},
	{"model.layers", model.List{NonEmpty: true}, func(c *Config) any { return &c.Model.Layers },
		"The layers of a network of your own.", nil},
	{"model.init", weightFile, func(c *Config) any { return &c.Model.Init },
		"A file with the weights that training begins with, under PyTorch's names and in its layouts, converted to float32; \"\" begins at random.", nil},
	{"model.init_trained_on", setting.Choice{"public", "private", "nothing"}, func(c *Config) any { return &c.Model.InitTrainedOn },
		"What those weights were trained on, for the privacy statement: the guarantee does not cover what they tell of private data.", withInit},
	{"model.init_except", listOf[string]{of: layerName, max: 1000, what: "names", distinct: true}, func(c *Config) any { return &c.Model.InitExcept },
		"Layers or parameters that begin at random, because the file does not have them or has them in another shape; every other parameter must be there.", withInit},
	{"model.freeze", listOf[string]{of: layerName, max: 1000, what: "names", distinct: true}, func(c *Config) any { return &c.Model.Freeze },
		"Layers or parameters that are not trained, by the names that train describe prints: they get no gradient and no noise, and count nothing in clip_norm.", nil},
}

func privacyFields(policies setting.Kinds[clip.Scheme]) []*field {
	return slices.Concat(budgetFields, clippingFields(policies), clipScheduleFields, noiseFields, accountantFields)
}

var budgetFields = []*field{
	{"privacy.epsilon", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "none", WordMeans: "no budget: all steps are run"}, func(c *Config) any { return &c.Privacy.Epsilon },
		"The privacy budget, never passed. Alone, the noise is calibrated to it; none means no budget.", nil},
	{"privacy.noise_multiplier", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "calibrated", WordMeans: "the smallest noise with which all planned steps fit the budget"}, func(c *Config) any { return &c.Privacy.NoiseMultiplier },
		"Standard deviation of the noise divided by clip_norm. With epsilon, training stops before the step that would pass the budget; calibrated computes it from epsilon.", nil},
	{"privacy.delta", setting.Number{Min: 1e-20, Max: 1, OpenMax: true}, func(c *Config) any { return &c.Privacy.Delta },
		"The delta of the (epsilon, delta) guarantee; well below 1 / number of training examples. Below 1e-20 what sampler and generator add would not be small beside it (docs/threat-model.md).", nil},
}

func clippingFields(policies setting.Kinds[clip.Scheme]) []*field {
	return append([]*field{
		{"privacy.clip_norm", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, func(c *Config) any { return &c.Privacy.ClipNorm },
			"Bound on the L2 norm of one example's gradient.", nil},
		{"privacy.clipping", kindOf[clip.Scheme](policies), func(c *Config) any { return &c.Privacy.Clipping },
			"How gradients are scaled to the bound: flat shortens those that are longer; automatic and normalised also lengthen those that are shorter, so that clip_norm only multiplies the learning rate; per_layer shortens each layer by itself, to equal shares of the bound; adaptive shortens like flat, to a norm that begins at clip_norm and follows a quantile of the norms.", nil},
	}, argumentFields("privacy.clipping", policies, func(c *Config) named { return c.Privacy.Clipping })...)
}

var clipScheduleFields = append([]*field{
	{"privacy.clip_schedule", kindOf[clip.Schedule](clip.Schedules()), func(c *Config) any { return &c.Privacy.ClipSchedule },
		"How the clip norm changes over the steps, in a way that is public; clip_norm is that of the first one. The noise on gradients changes with it, and what a step costs stays the same.", movableNorm},
}, argumentFields("privacy.clip_schedule", clip.Schedules(), func(c *Config) named { return c.Privacy.ClipSchedule })...)

var noiseFields = slices.Concat([]*field{
	{"privacy.mechanism", kindOf[release.Noise](release.Mechanisms()), func(c *Config) any { return &c.Privacy.Mechanism },
		"Which noise makes sums private: " + docs(release.Mechanisms()) + ".", sharesNoise},
}, argumentFields("privacy.mechanism", release.Mechanisms(), func(c *Config) named { return c.Privacy.Mechanism }), []*field{
	{"privacy.noise_schedule", kindOf[release.NoiseSchedule](release.NoiseSchedules()), func(c *Config) any { return &c.Privacy.NoiseSchedule },
		"How the noise multiplier changes over the steps, in 16 stages; noise_multiplier is that of the first one. What it costs is accounted for step by step.", nil},
}, argumentFields("privacy.noise_schedule", release.NoiseSchedules(), func(c *Config) named { return c.Privacy.NoiseSchedule }))

var accountantFields = []*field{
	{"privacy.accountant", accountants, func(c *Config) any { return &c.Privacy.Accountant },
		"How the spent budget is computed: exact by the exact privacy profile, pld by privacy loss distributions, rdp by Rényi differential privacy, which is looser. RDP is always reported beside the other two, and stands in where they have no certified answer.", nil},
	{"privacy.unit", setting.Choice{UnitExample, UnitLabel, UnitPerson}, func(c *Config) any { return &c.Privacy.Unit },
		"What the guarantee is about: example, a training example with all that is in it; label, the class of an example whose picture is public (randomised response ahead of ordinary training, docs/labels.md); person, all examples of one person, whom data.group names (docs/people.md).", nil},
	{"privacy.label_stages", setting.Integer{Min: 1, Max: 2}, func(c *Config) any { return &c.Privacy.LabelStages },
		"1 asks each label once by randomised response; 2 trains on half of the labels first and asks the other half among the classes that are likely then.", withLabels},
	{"privacy.examples_per_person", setting.Integer{Min: 0, Max: 1e9}, func(c *Config) any { return &c.Privacy.ExamplesPerPerson },
		"Most examples of one person that take part; which ones is drawn by training.seed from theirs alone. 0 is all: a person adds one example to a step at most, however many there are (docs/people.md).", withPersons},
	{"privacy.none", setting.Boolean{}, func(c *Config) any { return &c.Privacy.None },
		"Ordinary training to compare with, which is NOT PRIVATE: no clipping, no noise, no guarantee. Of this section only clip_norm means something then: below 1 it multiplies the learning rate, which is meant for clipped gradients.", nil},
}

func optimizerFields(rules setting.Kinds[optimizer.UpdateRule]) []*field {
	return append([]*field{
		{"optimizer.name", kindOf[optimizer.UpdateRule](rules), func(c *Config) any { return &c.Optimizer.Rule },
			"The update rule; it only ever sees the noisy gradient.", nil},
		{"optimizer.learning_rate", setting.Number{Min: 0, Max: 1000, OpenMin: true, Word: "by_noise", WordMeans: "it follows from optimizer.parameter_noise"}, func(c *Config) any { return &c.Optimizer.LearningRate },
			"The (first) learning rate; by_noise, with sgd or momentum, computes it from parameter_noise.", nil},
		{"optimizer.parameter_noise", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, func(c *Config) any { return &c.Optimizer.ParameterNoise },
			"The learning rates are as large as lets the noise of all steps leave this standard deviation in every parameter; so more examples or a larger budget make for larger rates.", byNoise},
	}, argumentFields("optimizer.name", rules, func(c *Config) named { return c.Optimizer.Rule })...)
}

func scheduleFields(curves setting.Kinds[optimizer.Curve]) []*field {
	return append([]*field{
		{"optimizer.schedule.name", kindOf[optimizer.Curve](curves), func(c *Config) any { return &c.Optimizer.Schedule.Curve },
			"How the learning rate changes over the steps.", nil},
		{"optimizer.schedule.warmup_steps", setting.Integer{Min: 0, Max: 1e9}, func(c *Config) any { return &c.Optimizer.Schedule.WarmupSteps },
			"The learning rate rises linearly over these first steps.", nil},
	}, argumentFields("optimizer.schedule.name", curves, func(c *Config) named { return c.Optimizer.Schedule.Curve })...)
}

var trainingFields = slices.Concat([]*field{
	{"training.sampling", kindOf[release.Sampling](release.Samplings()), func(c *Config) any { return &c.Training.Sampling },
		"Which examples a step is computed from: " + docs(release.Samplings()) + ".", nil},
	{"training.batch_size", setting.Integer{Min: 1, Max: 1e7}, func(c *Config) any { return &c.Training.BatchSize },
		"Expected number of examples in a step; each example takes part with probability batch_size / training examples.", withBatches},
	{"training.physical_batch_size", setting.Integer{Min: 1, Max: 4096}, func(c *Config) any { return &c.Training.PhysicalBatchSize },
		"Examples computed at once, each with all its views; changes memory and speed, not the result.", nil},
	{"training.epochs", setting.Integer{Min: 1, Max: 1e6}, func(c *Config) any { return &c.Training.Epochs },
		"Training length in expected passes over the data.", nil},
	{"training.steps", setting.Integer{Min: 1, Max: 1e9}, func(c *Config) any { return &c.Training.Steps },
		"Training length in steps.", nil},
	{"training.evaluate_every", setting.Integer{Min: 0, Max: 1e9}, func(c *Config) any { return &c.Training.EvaluateEvery },
		"Steps between two measurements of the test accuracy; 0 is only at the end.", nil},
	{"training.seed", setting.Integer{Min: 0, Max: maxExactInteger}, func(c *Config) any { return &c.Training.Seed },
		"Of the initial weights. Noise and sampling are never seeded.", nil},
	{"training.average", kindOf[optimizer.Average](optimizer.Averages()), func(c *Config) any { return &c.Training.Average },
		"The mean of the parameters of several steps that is evaluated and written as the model: none is those of the last step, ema an exponential moving average, tail the mean over the last part of the planned steps. It costs no privacy.", nil},
}, argumentFields("training.average", optimizer.Averages(), func(c *Config) named { return c.Training.Average }),
	argumentFields("training.sampling", release.Samplings(), func(c *Config) named { return c.Training.Sampling }), augmentationFields())

// augmentationFields returns the fields for how the network sees pictures in training.
func augmentationFields() []*field {
	var out []*field
	for i, a := range setting.Arguments(data.NoAugmentation()) {
		out = append(out, &field{"training.augmentation." + a.Name, a.Format, func(c *Config) any { return c.Training.Augmentation.Arguments()[i].Value }, a.Doc, withPictures})
	}
	return out
}

var (
	withPate      = &condition{"pate.teachers", "above 0", func(c *Config) bool { return c.Pate.Any() }}
	withConfident = &condition{"pate.aggregation", "confident", func(c *Config) bool { return c.Pate.Any() && c.Pate.Aggregation == "confident" }}
	withReleased  = &condition{"pate.release_data_dependent", "true", func(c *Config) bool { return c.Pate.Any() && c.Pate.ReleaseDataDependent }}
)

var pateFields = []*field{
	{"pate.teachers", setting.Integer{Min: 0, Max: 100000}, func(c *Config) any { return &c.Pate.Teachers },
		"For train pate: so many teachers learn, each from its own part of the training examples; 0 is a configuration for another command. The keys of model, optimizer and training are for each teacher and for the student.", nil},
	{"pate.pool", setting.Integer{Min: 1, Max: 1e7}, func(c *Config) any { return &c.Pate.Pool },
		"Public examples without labels: so many of the first test examples. The others measure the student.", withPate},
	{"pate.queries", setting.Integer{Min: 0, Max: 1e6}, func(c *Config) any { return &c.Pate.Queries },
		"How many of the pool the teachers are asked about at most; 0 is all of them. How many are answered follows from privacy.epsilon.", withPate},
	{"pate.aggregation", setting.Choice{"lnmax", "gnmax", "confident"}, func(c *Config) any { return &c.Pate.Aggregation },
		"How votes are answered: lnmax is the largest count after Laplace noise, gnmax after Gaussian noise, confident asks first whether enough teachers agree.", withPate},
	{"pate.noise", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, func(c *Config) any { return &c.Pate.Noise },
		"Standard deviation of the noise on each count of votes, with lnmax its scale.", withPate},
	{"pate.threshold", setting.Integer{Min: 0, Max: 1e6}, func(c *Config) any { return &c.Pate.Threshold },
		"Votes that the largest count has to have after noise.", withConfident},
	{"pate.threshold_noise", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, func(c *Config) any { return &c.Pate.ThresholdNoise },
		"Standard deviation of that noise.", withConfident},
	{"pate.self_training", setting.Integer{Min: 0, Max: 100}, func(c *Config) any { return &c.Pate.SelfTraining },
		"Rounds in which the student learns anew, from those pictures of the pool of which it says itself what follows from the answers for pictures like them.", withPate},
	{"pate.release_data_dependent", setting.Boolean{}, func(c *Config) any { return &c.Pate.ReleaseDataDependent },
		"Release a bound on the data-dependent epsilon, which is not private as it is, by noise scaled to its smooth sensitivity; that costs something itself.", withPate},
	{"pate.release_order", setting.Number{Min: 1, Max: 1000, OpenMin: true}, func(c *Config) any { return &c.Pate.ReleaseOrder },
		"The Rényi order of what is released.", withReleased},
}

// federatedFields returns the fields of section federated. All but clients need clients above 0,
// and some of these also a certain split or noise.
func federatedFields() []*field {
	var out []*field
	recipe := data.NoClients()
	for i, a := range setting.Arguments(&recipe) {
		only := withClients
		switch a.Name {
		case "clients":
			only = nil
		case "alpha":
			only = &condition{"federated.split", data.Dirichlet, func(c *Config) bool { return withClients.holds(c) && c.Federated.Split == data.Dirichlet }}
		case "min_clients", "modulus_bits":
			only = &condition{"federated.noise", data.ByClients, func(c *Config) bool { return withClients.holds(c) && c.Federated.Noise == data.ByClients }}
		}
		out = append(out, &field{"federated." + a.Name, a.Format, func(c *Config) any { return c.Federated.Arguments()[i].Value }, a.Doc, only})
	}
	return out
}

var performanceFields = []*field{
	{"performance.threads", setting.Integer{Min: 0, Max: 1024}, func(c *Config) any { return &c.Performance.Threads },
		"Threads that compute; 0 is one per core.", nil},
	{"performance.engine", setting.Choice{"auto", "ghost", "materialise"}, func(c *Config) any { return &c.Performance.Engine },
		"How per-example norms are computed; auto measures both when training starts and takes the faster for each layer.", nil},
	{"performance.max_memory", byteSize{Word: "auto"}, func(c *Config) any { return &c.Performance.MaxMemory },
		"A configuration that needs more memory, by an estimate, is refused before it begins; auto is what the machine has free.", nil},
	{"performance.data_memory", byteSize{Word: "auto"}, func(c *Config) any { return &c.Performance.DataMemory },
		"Memory for decoded pictures; those that do not fit are decoded whenever they are needed, which takes time and changes nothing else. auto keeps all of them where they fit, and as many as half of what is left holds otherwise.", withFolder},
	{"performance.data_per_rank", setting.Boolean{}, func(c *Config) any { return &c.Performance.DataPerRank },
		"Each rank has training pictures of its own at its path, and all of them together are the training set; false is that every rank has all of them.", withFolder},
}

var runFields = []*field{
	{"run.name", runName, func(c *Config) any { return &c.Run.Name },
		"Folder of the run within runs; \"\" lets the program choose.", nil},
	{"run.checkpoint_every", setting.Integer{Min: 0, Max: 1e9}, func(c *Config) any { return &c.Run.CheckpointEvery },
		"Steps between two checkpoints, each of which is written while the next step is computed; 0 is only at the end. What a kill costs of the budget: with 1, one step at most.", nil},
	{"run.private_diagnostics", setting.Boolean{}, func(c *Config) any { return &c.Run.PrivateDiagnostics },
		"Also write training loss, gradient norms and batch sizes. They are not private: keep them to yourself.", nil},
}

// later are the keys that the first version did not know. A file has them only where they are not
// at their default, so that the plans of older runs, which are known by a hash of what is written,
// stay the same.
var later = []string{"data.label", "data.limit.delta", "data.limit.epsilon", "federated.clients", "features.coarse_filters", "features.name", "features.power", "model.init", "model.init_except", "model.freeze", "pate.aggregation", "pate.noise", "pate.pool", "pate.queries", "pate.release_data_dependent", "pate.release_order", "pate.self_training", "pate.teachers", "pate.threshold", "pate.threshold_noise", "performance.data_memory", "performance.data_per_rank", "performance.max_memory", "privacy.clipping", "privacy.clip_schedule", "privacy.label_stages", "privacy.mechanism", "privacy.noise_schedule", "privacy.none", "privacy.unit", "training.augmentation.flip", "training.augmentation.shift", "training.augmentation.views", "training.average", "training.sampling"}

// fieldAt returns the field of a path, or nil.
func fieldAt(path string) *field {
	if i := slices.IndexFunc(fields, func(f *field) bool { return f.path == path }); i >= 0 {
		return fields[i]
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
	for _, f := range fields {
		rest, ok := strings.CutPrefix("."+f.path, strings.TrimSuffix("."+section, ".")+".")
		if name, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// elsewhere returns the path that ends in name or a synonym: "a or b" for two, "" for more.
func elsewhere(name string) string {
	for _, name := range append(synonyms(name), name) {
		if paths := Named(name); len(paths) == 1 || len(paths) == 2 {
			return setting.Or(paths)
		}
	}
	return ""
}

// Named returns the full keys whose last part is name. Keys of a section within a section are
// returned only if there are no others.
func Named(name string) []string {
	var paths, within []string
	for _, f := range fields {
		switch {
		case !strings.HasSuffix(f.path, "."+name):
		case strings.Count(f.path, ".") > 1:
			within = append(within, f.path)
		default:
			paths = append(paths, f.path)
		}
	}
	if paths == nil {
		return within
	}
	return paths
}
