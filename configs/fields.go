package configs

import (
	"cmp"
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
	at     func(*Config) any // returns a pointer to the value, of the type that the format stores
	doc    string            // one sentence or two, in one line
	only   *condition        // when the key means anything; nil is always
}

// condition says for which values of another key a key means anything.
type condition struct {
	key    string // the key that decides
	values string // its values, for messages: "momentum or nesterov"; "" is any
	holds  func(*Config) bool
}

// String returns the words that follow "only with": the key and its values.
func (c condition) String() string { return strings.TrimSpace(c.key + " " + c.values) }

// exclusive lists the keys of which at most one may be given.
var exclusive = [][]string{
	{"data.name", "data.folder", "data.table", "data.vectors", "data.text"},
	{"model.name", "model.layers"},
	{"training.epochs", "training.steps"},
}

func others(path string) []string {
	for _, keys := range exclusive {
		if i := slices.Index(keys, path); i >= 0 {
			return slices.Delete(slices.Clone(keys), i, i+1)
		}
	}
	return nil
}

var (
	withFolder   = &condition{"data.folder", "", func(c *Config) bool { return c.Data.Folder != "" }}
	withTable    = &condition{"data.table", "", func(c *Config) bool { return c.Data.Table != "" }}
	withVectors  = &condition{"data.vectors", "", func(c *Config) bool { return c.Data.Vectors != "" }}
	withText     = &condition{"data.text", "", func(c *Config) bool { return c.Data.Text != "" }}
	withTokens   = &condition{"data.tokenizer", "", func(c *Config) bool { return withText.holds(c) && c.Data.Tokenizer != "" }}
	withColumns  = &condition{"data.table", "or data.vectors or data.text", func(c *Config) bool { return withTable.holds(c) || withVectors.holds(c) || withText.holds(c) }}
	withOwnData  = &condition{"data.folder", "or data.table or data.vectors or data.text", func(c *Config) bool { return withFolder.holds(c) || withColumns.holds(c) }}
	hasConstants = &condition{"data.vectors", "or data.text left out", func(c *Config) bool { return !withVectors.holds(c) && !isText(c) }}
	withFeatures = &condition{"features.name", setting.Or(features.Transforms().Names()[1:]), func(c *Config) bool { return c.Features.Any() }}
	withPictures = &condition{"features.name", "none and examples that are pictures", func(c *Config) bool {
		return !c.Features.Any() && !withTable.holds(c) && !withVectors.holds(c) && !isText(c)
	}}
	withLoRA    = &condition{"model.lora.rank", "above 0", func(c *Config) bool { return c.Model.LoRA.Rank > 0 }}
	withInit    = &condition{"model.init", "", func(c *Config) bool { return c.Model.Init != "" }}
	withPersons = &condition{"privacy.unit", "person", func(c *Config) bool { return c.Privacy.Unit == UnitPerson }}
	withLabels  = &condition{"privacy.unit", "label", func(c *Config) bool { return c.Privacy.Unit == UnitLabel }}
	withNoise   = &condition{"privacy.unit", "example or person", func(c *Config) bool { return c.Privacy.Unit != UnitLabel }}
	byNoise     = &condition{"optimizer.learning_rate", "by_noise", func(c *Config) bool { return c.Optimizer.ByNoise() }}
	withBatches = &condition{"training.sampling", setting.Or(release.Samplings().Where(release.Sampling.Sized)), func(c *Config) bool { return c.Training.Sampling.Sized() }}
	sharesNoise = &condition{"federated.noise", data.ByServer, func(c *Config) bool { return !c.Federated.Any() || c.Federated.Noise == data.ByServer }}
	movableNorm = &condition{"privacy.clipping", "flat or per_layer", func(c *Config) bool { return slices.Contains([]string{"flat", "per_layer"}, c.Privacy.Clipping.Name()) }}
	weighable   = &condition{"training.loss", "cross_entropy or binary", func(c *Config) bool { return c.Training.Loss.Task() != data.Number }}
	withBands   = &condition{"privacy.correlation", Banded, func(c *Config) bool { return c.Privacy.Correlation == Banded }}
	withClients = &condition{"federated.clients", "", func(c *Config) bool { return c.Federated.Any() }}
	withDrawn   = &condition{"data.name", "a set that is drawn", func(c *Config) bool { set := data.Find(c.Data.Name); return set != nil && set.Drawn }}

	withPate      = &condition{"pate.teachers", "above 0", func(c *Config) bool { return c.Pate.Any() }}
	withConfident = &condition{"pate.aggregation", "confident", func(c *Config) bool { return c.Pate.Any() && c.Pate.Aggregation == "confident" }}
	withReleased  = &condition{"pate.release_data_dependent", "true", func(c *Config) bool { return c.Pate.Any() && c.Pate.ReleaseDataDependent }}

	withDirichlet   = &condition{"federated.split", data.Dirichlet, func(c *Config) bool { return withClients.holds(c) && c.Federated.Split == data.Dirichlet }}
	withClientNoise = &condition{"federated.noise", data.ByClients, func(c *Config) bool { return withClients.holds(c) && c.Federated.Noise == data.ByClients }}
)

func isText(c *Config) bool { return c.Data.Shape().IsText() }

// fields lists every key in the order in which files are written.
var fields = fieldsOf(clip.Policies(), optimizer.UpdateRules(), optimizer.Curves())

// fieldsOf returns the field of every key, in the order in which files are written. The clipping
// policies, update rules and curves that can be chosen are parameters, so that a test can add one.
func fieldsOf(policies setting.Kinds[clip.Scheme], rules setting.Kinds[optimizer.UpdateRule], curves setting.Kinds[optimizer.Curve]) []*field {
	return slices.Concat(
		row("data.name", datasetName{}, nil, "A data set that the program knows: "+datasetDocs()+"."),
		row("data.folder", folder, nil,
			"A folder of your own pictures, <folder>/train/<class>/*.png and <folder>/test/<class>/*.png (or "+pictures.Extensions()+"), or with tar files as WebDataset makes them, <folder>/train-*.tar and <folder>/test-*.tar, in which key.png has its class, by name or number, in key.cls."),
		row("data.table", folder, nil,
			"A folder with a table of your own, <table>/train.csv and <table>/test.csv: comma-separated values, with the names of the columns in the first line."),
		row("data.vectors", folder, nil,
			"A folder with vectors of features that a public model computed, one per example: <vectors>/train.npy and train-labels.npy, test.npy and test-labels.npy, or train.safetensors and test.safetensors with the tensors features and labels, or .csv or .parquet files of which one column, data.label, holds the class by name or number and all others the vector; there, labels may also stand in train-labels.npy and test-labels.npy. Each vector is scaled to length 1."),
		row("data.text", folder, nil,
			"A folder with texts: <text>/train.csv and test.csv, or .parquet, or .jsonl with a JSON object in each line, in which one column or key holds the text and another one its class, by name or number; or a folder for each class, <text>/train/<class>/*.txt. The network sees the bytes of each text, or the tokens of data.tokenizer."),
		row("data.classes", byExamples{listOf[string]{of: className, min: 2, max: 256, what: "names", distinct: true}, listOf[string]{of: labelValue, min: 2, max: 256, what: "names", distinct: true}}, withOwnData,
			"The names of the class folders or of the classes in tar files, the values of the label column, or what the labels 0, 1, … of vectors mean; declared here because the list must not depend on the examples."),
		row("data.column", columnName, withText,
			"The column or key with the text; where there are two and none is named, the first one."),
		row("data.length", setting.Integer{Min: 1, Max: data.MaxLength}, withText, "The greatest number of tokens of a text; what is longer is cut there."),
		row("data.tokenizer", tokenizerFile, withText,
			"A tokenizer.json of Hugging Face (WordPiece, BPE, Unigram, WordLevel) that cuts the texts into tokens, in place of their bytes. Public: nothing of it may be learnt from these texts."),
		row("data.vocabulary", setting.Integer{Min: 1, Max: data.MaxVocabulary}, withTokens, "How many tokens the tokenizer has, at least."),
		row("data.size", setting.Sizes{Of: setting.Integer{Min: 1, Max: 1024}}, withFolder, "Height and width in pixels; pictures of another size are resized."),
		row("data.channels", oneOf{1, 3}, withFolder, "1 for grey pictures, 3 for colour."),
		row("data.columns", listOf[string]{of: columnName, min: 1, max: data.MaxColumns, what: "names", distinct: true}, withTable,
			"The columns with the numbers that the network sees, in its order; other columns are passed over."),
		row("data.label", columnName, withColumns,
			"The column that holds one of the classes; of vectors in .csv or .parquet, the last one where nothing is said, and of texts the second of two."),
		row("data.labels", listOf[string]{of: columnName, min: 1, max: 256, what: "names", distinct: true}, withTable,
			"Columns of 0 and 1, each of which says whether a record has a label: all of them are learnt at once, in place of data.label and data.classes, with training.loss binary."),
		row("data.bounds", listOf[float64]{of: setting.Number{Min: -1e30, Max: 1e30}, min: 2, max: 2, what: "numbers"}, withTable,
			"The least and the largest number of column data.label, which is then learnt in place of a class, with training.loss squared or huber; a number beyond counts as the bound. Public constants, never computed from the training examples."),
		row("data.group", groupName, withPersons,
			"The owner of an example: of a table the column that names its person, which need not be among data.columns; of a folder the word prefix, for pictures whose names say it before their last _, as in person_0123_07.png."),
		row("data.width", setting.Integer{Min: 1, Max: data.MaxFeatures}, withVectors, "How many numbers each vector has."),
		row("data.mean", byExamples{perChannel(0, 1, 3), perChannel(-data.MaxNormalisation, data.MaxNormalisation, data.MaxColumns)}, hasConstants,
			"Subtracted from pixels in [0,1], or from the numbers of a table: one value, or one per channel or column. A public constant, never computed from the training examples."),
		row("data.std", byExamples{perChannel(0.001, 1000, 3), perChannel(1/data.MaxNormalisation, data.MaxNormalisation, data.MaxColumns)}, hasConstants,
			"Divides pixels or numbers after the mean is subtracted: one value, or one per channel or column. A public constant."),
		row("data.seed", setting.Integer{Min: 0, Max: maxExactInteger}, withDrawn, "Which digits or sentences are drawn."),
		row("data.limit.epsilon", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "none", WordMeans: "what train ledger limit has set, if anything"}, nil,
			"What everything that is ever released on this data, by all runs of the folder, may cost together. Set before the first release and never passed; with data.limit.delta."),
		row("data.limit.delta", setting.Number{Min: 1e-20, Max: 1, OpenMax: true, Word: "none", WordMeans: "no limit of this file"}, nil,
			"The delta of data.limit.epsilon."),

		kindRow("features.name", features.Transforms(), nil,
			"What is computed of every picture by a fixed public function, for the network to see: "+docs(features.Transforms())+"."),
		argumentRows("features.name", features.Transforms()),
		row("features.drawn", setting.Choice(features.DrawnKinds()), withFeatures,
			"What the program draws, so that dictionary and normalisation are learnt from nobody's pictures: leaves (overlapping shapes, for photographs), silhouettes (filled outlines, for things on black) or strokes (lines, for writing)."),
		row("features.pictures", setting.Integer{Min: 10, Max: 20000}, withFeatures, "How many pictures are drawn."),
		row("features.seed", setting.Integer{Min: 0, Max: maxExactInteger}, withFeatures, "Seed of the drawing."),
		row("features.deskew", setting.Boolean{}, withFeatures,
			"What differs from the border of a picture is moved to the middle and sheared until it stands upright, before anything is computed; for writing."),
		row("features.encoder", setting.Number{Min: 0, Max: 10}, withFeatures,
			"Norm of the maps of the shipped encoder, which learnt from drawn pictures, beside the other values of a row; 0 leaves them out."),
		row("features.directions", setting.Integer{Min: 0, Max: 5000}, withFeatures,
			"So many principal directions of the drawn pictures' features are scaled down to the last of them, so that a linear layer learns all of them at one pace; below the number of drawn pictures."),
		row("features.mean_noise", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "none", WordMeans: "no mean is released or subtracted"}, withFeatures,
			"Noise multiplier of one release ahead of the first step: the mean of the training examples' features, which is subtracted. Its cost is in the ledger and in the budget."),

		row("model.name", setting.Choice(Networks()), nil, "A ready network; its layers are in configs/networks."),
		row("model.layers", model.List{NonEmpty: true}, nil, "The layers of a network of your own."),
		row("model.init", weightFile, nil,
			"A file with the weights that training begins with, under the network's names or those of timm, torchvision or Hugging Face, converted to float32; \"\" begins at random."),
		row("model.init_trained_on", setting.Choice{"public", "private", "nothing"}, withInit,
			"What those weights were trained on, for the privacy statement: the guarantee does not cover what they tell of private data."),
		row("model.init_except", listOf[string]{of: layerName, max: 1000, what: "names", distinct: true}, withInit,
			"Layers or parameters that begin at random, because the file does not have them or has them in another shape; every other parameter must be there."),
		row("model.freeze", listOf[string]{of: layerName, max: 1000, what: "names", distinct: true}, nil,
			"Layers or parameters that are not trained, by the names that train describe prints: they get no gradient and no noise, and count nothing in clip_norm."),
		row("model.train_only", listOf[string]{of: layerName, max: 1000, what: "names", distinct: true}, nil,
			"The only parameters of the network itself that are trained: names as in model.freeze, or the words biases, norms (gains and shifts of normalisations) and head (the last layer that has parameters). Left out is everything, with model.lora the head. model.freeze takes from it."),
		row("model.lora.rank", setting.Integer{Min: 0, Max: 1024}, nil,
			"With a rank above 0, layers get low-rank factors (LoRA): Wx + b + alpha/rank times BAx, where A and B are trained and W is not; 0 is none."),
		row("model.lora.alpha", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, withLoRA, "What the product of the factors is multiplied by, times rank."),
		row("model.lora.layers", listOf[string]{of: layerName, max: 1000, what: "names", distinct: true}, withLoRA,
			"What gets factors: layers, each with all that it holds, by the names that train describe prints, or the words linear and attention, which stand for layers outside the head. Left out is both words."),

		row("privacy.epsilon", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "none", WordMeans: "no budget: all steps are run"}, nil,
			"The privacy budget, never passed. Alone, the noise is calibrated to it; none means no budget."),
		row("privacy.noise_multiplier", setting.Number{Min: 0, Max: 10000, OpenMin: true, Word: "calibrated", WordMeans: "the smallest noise with which all planned steps fit the budget"}, nil,
			"Standard deviation of the noise divided by clip_norm. With epsilon, training stops before the step that would pass the budget; calibrated computes it from epsilon."),
		row("privacy.delta", setting.Number{Min: 1e-20, Max: 1, OpenMax: true}, nil,
			"The delta of the (epsilon, delta) guarantee; well below 1 / number of training examples. Below 1e-20 what sampler and generator add would not be small beside it (docs/threat-model.md)."),
		row("privacy.clip_norm", setting.Number{Min: 1e-12, Max: 1e6}, nil, "Bound on the L2 norm of one example's gradient."),
		kindRow("privacy.clipping", policies, withNoise,
			"How gradients are scaled to the bound: flat shortens those that are longer; automatic and normalised also lengthen those that are shorter, so that clip_norm only multiplies the learning rate; per_layer shortens each layer by itself, to equal shares of the bound; adaptive shortens like flat, to a norm that begins at clip_norm and follows a quantile of the norms."),
		argumentRows("privacy.clipping", policies),
		kindRow("privacy.clip_schedule", clip.Schedules(), movableNorm,
			"How the clip norm changes over the steps, in a way that is public; clip_norm is that of the first one. The noise on gradients changes with it, and what a step costs stays the same."),
		argumentRows("privacy.clip_schedule", clip.Schedules()),
		kindRow("privacy.mechanism", release.Mechanisms(), sharesNoise, "Which noise makes sums private: "+docs(release.Mechanisms())+"."),
		argumentRows("privacy.mechanism", release.Mechanisms()),
		kindRow("privacy.noise_schedule", release.NoiseSchedules(), withNoise,
			"How the noise multiplier changes over the steps, in 16 stages; noise_multiplier is that of the first one. What it costs is accounted for step by step."),
		argumentRows("privacy.noise_schedule", release.NoiseSchedules()),
		row("privacy.correlation", setting.Choice{Independent, ChosenBands, Banded}, withNoise,
			"How the noise of steps is correlated: banded takes back noise of earlier steps, by exact sums of the last steps that are kept in memory; auto chooses the number of bands, and training.blocks with it, for the least predicted error at the budget (train describe shows it). Needs training.sampling cyclic."),
		row("privacy.bands", setting.Integer{Min: 2, Max: release.MostBands}, withBands, "Steps over which noise is correlated; at most training.blocks."),
		row("privacy.accountant", accountants, nil,
			"How the spent budget is computed: exact by the exact privacy profile, pld by privacy loss distributions, rdp by Rényi differential privacy, which is looser. RDP is always reported beside the other two, and stands in where they have no certified answer."),
		row("privacy.unit", setting.Choice{UnitExample, UnitLabel, UnitPerson}, nil,
			"What the guarantee is about: example, a training example with all that is in it; label, the class of an example whose picture is public (randomised response ahead of ordinary training, docs/labels.md); person, all examples of one person, whom data.group names (docs/people.md)."),
		row("privacy.label_stages", setting.Integer{Min: 1, Max: 2}, withLabels,
			"1 asks each label once by randomised response; 2 trains on half of the labels first and asks the other half among the classes that are likely then."),
		row("privacy.examples_per_person", setting.Integer{Min: 0, Max: 1e9}, withPersons,
			"Most examples of one person that take part; which ones is drawn by training.seed from theirs alone. 0 is all: a person adds one example to a step at most, however many there are (docs/people.md)."),
		row("privacy.none", setting.Boolean{}, nil,
			"Ordinary training to compare with, which is NOT PRIVATE: no clipping, no noise, no guarantee. Of this section only clip_norm means something then: below 1 it multiplies the learning rate, which is meant for clipped gradients."),

		kindRow("optimizer.name", rules, nil, "The update rule; it only ever sees the noisy gradient."),
		row("optimizer.learning_rate", setting.Number{Min: 0, Max: 1000, OpenMin: true, Word: "by_noise", WordMeans: "it follows from optimizer.parameter_noise"}, nil,
			"The (first) learning rate; by_noise, with sgd or momentum, computes it from parameter_noise."),
		row("optimizer.parameter_noise", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, byNoise,
			"The learning rates are as large as lets the noise of all steps leave this standard deviation in every parameter; so more examples or a larger budget make for larger rates."),
		argumentRows("optimizer.name", rules),
		kindRow("optimizer.schedule.name", curves, nil, "How the learning rate changes over the steps."),
		row("optimizer.schedule.warmup_steps", setting.Integer{Min: 0, Max: 1e9}, nil, "The learning rate rises linearly over these first steps."),
		argumentRows("optimizer.schedule.name", curves),

		kindRow("training.loss", model.Losses(), nil, "What the network learns by: "+docs(model.Losses())+"."),
		row("training.class_weights", publicNumbers{listOf[float64]{of: setting.Number{Min: 0, Max: model.MaxWeight, OpenMin: true}, min: 1, max: 1000, what: "numbers"}}, weighable,
			"How much each of data.classes, or having each of data.labels, counts in the loss, in their order; left out is 1 for each. Public numbers: where they should follow from how frequent classes are, count these privately by train stats."),
		kindRow("training.sampling", release.Samplings(), withNoise, "Which examples a step is computed from: "+docs(release.Samplings())+"."),
		row("training.batch_size", setting.Integer{Min: 1, Max: 1e7}, withBatches,
			"Expected number of examples in a step; each example takes part with probability batch_size / training examples."),
		row("training.physical_batch_size", setting.Integer{Min: 1, Max: 4096}, nil,
			"Examples computed at once, each with all its views; changes memory and speed, not the result."),
		row("training.epochs", setting.Integer{Min: 1, Max: 1e6}, nil, "Training length in expected passes over the data."),
		row("training.steps", setting.Integer{Min: 1, Max: 1e9}, nil, "Training length in steps."),
		row("training.evaluate_every", setting.Integer{Min: 0, Max: 1e9}, nil, "Steps between two measurements of the test accuracy; 0 is only at the end."),
		row("training.seed", setting.Integer{Min: 0, Max: maxExactInteger}, nil, "Seed of the initial weights. Noise and sampling are never seeded."),
		kindRow("training.average", optimizer.Averages(), nil,
			"The mean of the parameters of several steps that is evaluated and written as the model: none is those of the last step, ema an exponential moving average, tail the mean over the last part of the planned steps. It costs no privacy."),
		argumentRows("training.average", optimizer.Averages()),
		argumentRows("training.loss", model.Losses()),
		argumentRows("training.sampling", release.Samplings()),
		sectionRows("training.augmentation", func(string) *condition { return withPictures }),

		row("pate.teachers", setting.Integer{Min: 0, Max: 100000}, nil,
			"For train pate: so many teachers learn, each from its own part of the training examples; 0 is a configuration for another command. The keys of model, optimizer and training are for each teacher and for the student."),
		row("pate.pool", setting.Integer{Min: 1, Max: 1e7}, withPate,
			"Public examples without labels: so many test examples, of sets with a name the first ones. The others measure the student."),
		row("pate.queries", setting.Integer{Min: 0, Max: 1e6}, withPate,
			"How many of the pool the teachers are asked about at most; 0 is all of them. How many are answered follows from privacy.epsilon."),
		row("pate.aggregation", setting.Choice{"lnmax", "gnmax", "confident"}, withPate,
			"How votes are answered: lnmax is the largest count after Laplace noise, gnmax after Gaussian noise, confident asks first whether enough teachers agree."),
		row("pate.noise", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, withPate,
			"Standard deviation of the noise on each count of votes, with lnmax its scale."),
		row("pate.threshold", setting.Integer{Min: 0, Max: 1e6}, withConfident, "Votes that the largest count has to have after noise."),
		row("pate.threshold_noise", setting.Number{Min: 0, Max: 1e6, OpenMin: true}, withConfident, "Standard deviation of the noise on that count."),
		row("pate.self_training", setting.Integer{Min: 0, Max: 100}, withPate,
			"Rounds in which the student learns anew, from the pictures of the pool on which it agrees with the answers to similar pictures."),
		row("pate.release_data_dependent", setting.Boolean{}, withPate,
			"Release a bound on the data-dependent epsilon, which is not private as it is, by noise scaled to its smooth sensitivity; that costs something itself."),
		row("pate.release_order", setting.Number{Min: 1, Max: 1000, OpenMin: true}, withReleased, "The Rényi order of what is released."),

		sectionRows("federated", federatedOnly),

		row("performance.threads", setting.Integer{Min: 0, Max: 1024}, nil, "Threads that compute; 0 is one per core."),
		row("performance.engine", setting.Choice{"auto", "ghost", "materialise"}, nil,
			"How per-example norms are computed; auto takes the faster for each layer, by a count of its work."),
		row("performance.max_memory", byteSize{Word: "auto"}, nil,
			"A configuration that needs more memory, by an estimate, is refused before it begins; auto is what the machine has free."),
		row("performance.data_memory", byteSize{Word: "auto"}, withFolder,
			"Memory for decoded pictures; those that do not fit are decoded whenever they are needed, which takes time and changes nothing else. auto keeps all of them where they fit, and as many as half of what is left holds otherwise."),
		row("performance.data_per_rank", setting.Boolean{}, withFolder,
			"Each rank has training pictures of its own at its path, and all of them together are the training set; false is that every rank has all of them."),

		row("run.name", runName, nil, "Folder of the run within runs; \"\" lets the program choose."),
		row("run.checkpoint_every", setting.Integer{Min: 0, Max: 1e9}, nil,
			"Steps between two checkpoints, each of which is written while the next step is computed; 0 is only at the end. What a kill costs of the budget: with 1, one step at most."),
		row("run.private_diagnostics", setting.Boolean{}, nil,
			"Also write training loss, gradient norms and batch sizes. They are not private: keep them to yourself."),
	)
}

// row returns the field of one key, for [slices.Concat]. Its value is in Config under the same
// path: see inConfig.
func row(path string, format setting.Format, only *condition, doc string) []*field {
	return []*field{{path, format, inConfig(path), doc, only}}
}

// namesOfKinds maps a key that chooses a thing by its name to the path of that thing in Config.
var namesOfKinds = map[string]string{"features.name": "features.transform", "optimizer.name": "optimizer.rule", "optimizer.schedule.name": "optimizer.schedule.curve"}

// inConfig returns a function that returns a pointer to the value of the key path in a Config. The
// field is named as the key: Config.Training.BatchSize is training.batch_size. None is a panic.
func inConfig(path string) func(*Config) any {
	at, index := reflect.TypeFor[Config](), []int(nil)
	for name := range strings.SplitSeq(strings.ReplaceAll(cmp.Or(namesOfKinds[path], path), "_", ""), ".") {
		f, ok := at.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		if !ok {
			panic("configs: no field of Config is for " + path)
		}
		at, index = f.Type, append(index, f.Index...)
	}
	return func(c *Config) any { return reflect.ValueOf(c).Elem().FieldByIndex(index).Addr().Interface() }
}

// sectionRows returns the fields of a section whose value in Config lists its own keys by a method
// Arguments. only returns the condition of the key of that name, nil for none.
func sectionRows(section string, only func(name string) *condition) (rows []*field) {
	at, defaults := inConfig(section), DefaultConfig()
	for i, a := range setting.Arguments(at(&defaults)) {
		rows = append(rows, &field{section + "." + a.Name, a.Format, func(c *Config) any { return setting.Arguments(at(c))[i].Value }, a.Doc, only(a.Name)})
	}
	return rows
}

// federatedOnly returns the condition of the key of that name in section federated: nil for
// clients; for all others that there are clients, and for some also a certain split or noise.
func federatedOnly(name string) *condition {
	switch name {
	case "clients":
		return nil
	case "alpha":
		return withDirichlet
	case "min_clients", "modulus_bits":
		return withClientNoise
	}
	return withClients
}

// perChannel returns the format of a list of 1 to channels numbers between min and max. It takes
// any length up to channels; checkConstants later refuses all but 1 and one for each channel.
func perChannel(min, max float64, channels int) listOf[float64] {
	return listOf[float64]{of: setting.Number{Min: min, Max: max}, min: 1, max: channels, what: "numbers"}
}

// later lists the keys that the first version did not know. A file has them only where they are not
// at their default, so that the plans of older runs, which are known by a hash of what is written,
// stay the same.
var later = []string{"data.bounds", "data.column", "data.label", "data.labels", "data.limit.delta", "data.limit.epsilon", "data.tokenizer", "federated.clients", "features.coarse_filters", "features.deskew", "features.encoder", "features.name", "features.overlap", "features.patches", "features.power", "model.init", "model.init_except", "model.freeze", "model.lora.alpha", "model.lora.layers", "model.lora.rank", "model.train_only", "pate.aggregation", "pate.noise", "pate.pool", "pate.queries", "pate.release_data_dependent", "pate.release_order", "pate.self_training", "pate.teachers", "pate.threshold", "pate.threshold_noise", "performance.data_memory", "performance.data_per_rank", "performance.max_memory", "privacy.clipping", "privacy.clip_schedule", "privacy.correlation", "privacy.label_stages", "privacy.mechanism", "privacy.noise_schedule", "privacy.none", "privacy.unit", "training.augmentation.flip", "training.augmentation.shift", "training.augmentation.views", "training.average", "training.class_weights", "training.label_smoothing", "training.loss", "training.sampling"}

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

// children lists the keys and sections directly below a section, as in files; "" is the top level.
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

// elsewhere returns the full key whose last part is name or a synonym of it. It returns "a or b"
// where there are two such keys, and "" where there are more, or none.
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
