package configs

import (
	"fmt"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/setting"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// checker reports keys that are missing, and values of a Config that do not fit together.
type checker struct {
	*report
	*Config
	given    document           // what the file and the overrides say
	bad      map[string]bool    // true for each key whose value could not be read, which was reported
	sections map[string]section // by path; "" is the whole file
}

// missing reports that key, of section parent, is not given, unless parent could not be read.
func (c *checker) missing(parent, key, expected string) {
	s, ok := c.sections[parent]
	if !ok {
		s = c.sections[""]
	}
	if !s.broken { // that it could not be read has been said already
		c.Addf(s.at, key, "found nothing, expected %s", expected)
	}
}

// refuse reports the value of the key path, in the words of format and args, if wrong is true. It
// passes over a key that was not given, and one whose value could not be read.
func (c *checker) refuse(path string, wrong bool, format string, args ...any) {
	if wrong && c.given.has(path) && !c.bad[path] {
		c.Addf(c.given[path].value.At, path, format, args...)
	}
}

// anyBad reports whether the value of at least one of the keys could not be read.
func (c *checker) anyBad(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return c.bad[path] })
}

func (c *checker) check() {
	c.checkData()
	if l := c.Data.Limit; (l.Epsilon > 0) != (l.Delta > 0) && !c.anyBad("data.limit.epsilon", "data.limit.delta") {
		c.missing("data.limit", "data.limit", "epsilon and delta, both or neither")
	}
	if c.Model.Init != "" && !c.given.has("model.init_trained_on") {
		c.missing("model", "model.init_trained_on", fieldAt("model.init_trained_on").format.Expected()+", because model.init is given")
	}
	if c.Privacy.Epsilon == 0 && c.Privacy.NoiseMultiplier == 0 && !c.Privacy.None && !c.anyBad("privacy.epsilon", "privacy.noise_multiplier") {
		c.missing("privacy", "privacy", "epsilon (a budget) or noise_multiplier (a fixed noise), or both")
	}
	c.checkConstants("data.mean", c.Data.Mean)
	c.checkConstants("data.std", c.Data.Std)
	warmup, steps := c.Optimizer.Schedule.WarmupSteps, c.Training.Steps
	c.refuse("optimizer.schedule.warmup_steps", warmup >= steps && steps > 0 && !c.ofRun && !c.bad["training.steps"], "found %d, expected less than the %d training.steps", warmup, steps)
	c.checkByNoise()
	c.checkOrdinary()
	c.checkClients()
	c.checkPersons()
	c.checkTask()
}

// has reports whether the file or an override gives the key.
func (d document) has(path string) bool { _, ok := d[path]; return ok }

// required lists, for each key that says where the examples are, the keys that must be given with
// it. Exactly one such key is given. Nothing about the examples is inferred from them.
var required = map[string][]string{
	"data.name":    nil,
	"data.folder":  {"data.classes", "data.size", "data.channels"},
	"data.table":   nil, // see learnt
	"data.vectors": {"data.classes", "data.width"},
	"data.text":    {"data.classes", "data.length"},
}

func (c *checker) checkData() {
	var given []string
	for path := range required {
		if c.given.has(path) {
			given = append(given, path)
		}
	}
	if len(given) == 0 {
		c.missing("data", "data", fmt.Sprintf("name (%s), folder, table, vectors or text", datasetName{}.Expected()))
	}
	if len(given) != 1 {
		return // that there are two has been said already
	}
	for _, path := range slices.Concat(required[given[0]], c.learnt()) {
		if !c.given.has(path) {
			c.missing("data", path, fieldAt(path).formatIn(c.Config).Expected()+", because "+given[0]+" is given")
		}
	}
	if c.Data.Tokenizer != "" && !c.given.has("data.vocabulary") {
		c.missing("data", "data.vocabulary", fieldAt("data.vocabulary").format.Expected()+", because data.tokenizer is given")
	}
	c.refuse("data.label", slices.Contains(c.Data.Columns, c.Data.Label), "found %s, which is one of data.columns, expected another column", printable(c.Data.Label))
}

// checkConstants refuses a list of normalisation constants that has neither one value nor one for
// each channel or column. It accepts any list where the number of these could not be read.
func (c *checker) checkConstants(path string, values []float64) {
	want, of := c.Data.Shape().Channels, "channel"
	if c.Data.rows() {
		of = "column"
	}
	expected := fmt.Sprintf("1 or %d, one per %s", want, of)
	if want == 1 {
		expected = "1"
	}
	n, known := len(values), want > 0 && c.Data.Vectors == "" && !isText(c.Config)
	c.refuse(path, known && n != 1 && n != want, "found %d values, expected %s", n, expected)
}

// checkByNoise refuses learning_rate by_noise with an update rule or clipping for which the effect
// of the noise on a parameter is not known before training.
func (c *checker) checkByNoise() {
	const rate, rule = "optimizer.learning_rate", "optimizer.name"
	if !c.Optimizer.ByNoise() || c.bad[rule] {
		return
	}
	_, known := optimizer.HeavyBall(c.Optimizer.Rule)
	c.refuse(rate, !known, "found by_noise with %s %s, expected a number, or %s", rule, c.Optimizer.Rule.Name(), setting.Or(optimizer.HeavyBalls()))
	c.refuse(rate, c.Privacy.Clipping.Name() == "adaptive", "found by_noise with privacy.clipping adaptive, whose noise is not known ahead, expected a number or another clipping")
}

// checkOrdinary refuses keys that depend on the noise on gradients, in a run without that noise.
func (c *checker) checkOrdinary() {
	if !c.Privacy.Ordinary() || c.anyBad("privacy.none", "privacy.unit") {
		return
	}
	why := "privacy.none"
	if !c.Privacy.None {
		why = "privacy.unit label"
		c.refuse("privacy.noise_multiplier", !c.Privacy.Calibrated(), "found %g with %s, expected privacy.epsilon, which says how often a label is told truly", c.Privacy.NoiseMultiplier, why)
	}
	c.refuse("optimizer.learning_rate", c.Optimizer.ByNoise(), "found by_noise with %s, where gradients have no noise, expected a number, such as 2 for features", why)
	c.refuse("run.private_diagnostics", c.Run.PrivateDiagnostics, "found true with %s, expected false: they are of noisy steps", why)
	c.refuse("optimizer.name", optimizer.CheckPlain(c.Optimizer.Rule) != nil, "found %s, which counts on noise, with %s, where gradients have none, expected another one", c.Optimizer.Rule.Name(), why)
}

// checkClients refuses keys and values that have no meaning with federated.clients.
func (c *checker) checkClients() {
	const clients = "federated.clients"
	if !c.Federated.Any() || c.bad[clients] {
		return
	}
	c.refuse("federated.min_clients", c.Federated.MinClients > c.Federated.Clients, "found %d, expected at most the %d of %s", c.Federated.MinClients, c.Federated.Clients, clients)
	c.refuse("privacy.clipping", c.Privacy.Clipping.Name() == "per_layer", "found per_layer with %s, expected another clipping: a client's change is bounded as a whole", clients)
	c.refuse("privacy.unit", c.Privacy.Unit != UnitExample, "found %s with %s, expected example: what is protected is one client with all its examples", c.Privacy.Unit, clients)
	c.refuse("privacy.none", c.Privacy.None, "found true with %s, expected false", clients)
	c.refuse("run.private_diagnostics", c.Run.PrivateDiagnostics, "found true with %s, expected false: a run of rounds has none", clients)
}

// checkPersons refuses unit person if examples have no owner. For a folder it refuses any
// data.group but prefix.
func (c *checker) checkPersons() {
	const unit, group = "privacy.unit", "data.group"
	if c.Privacy.Unit != UnitPerson || c.Privacy.None || c.anyBad(unit, group) {
		return
	}
	known := c.Data.Folder != "" || c.Data.Table != ""
	c.refuse(unit, !known, "found person, expected data.folder or data.table: other examples do not say whose they are")
	c.refuse(unit, known && c.Data.Group == "", "found person, expected data.group, which says whose an example is")
	c.refuse(group, c.Data.Folder != "" && c.Data.Group != "" && c.Data.Group != GroupPrefix, "found %s with data.folder, expected %s", printable(c.Data.Group), GroupPrefix)
}

// learnt returns the keys that a table needs, by what is learnt of it: classes, labels or a number.
func (c *checker) learnt() []string {
	switch {
	case c.Data.Table == "":
		return nil
	case c.given.has("data.labels"):
		return []string{"data.columns"}
	case c.given.has("data.bounds"):
		return []string{"data.columns", "data.label"}
	}
	return []string{"data.classes", "data.columns", "data.label"}
}

// checkTask refuses keys about classes where labels or numbers are learnt, a loss of another task,
// and systems that know only classes.
func (c *checker) checkTask() {
	const loss, weights = "training.loss", "training.class_weights"
	task := c.Data.Task()
	if c.anyBad("data.labels", "data.bounds", loss) {
		return
	}
	if key := map[data.Task]string{data.Labels: "data.labels", data.Number: "data.bounds"}[task]; key != "" {
		c.refuse("data.classes", true, "found together with %s, expected one of the two", key)
		c.refuse("data.label", task == data.Labels, "found together with data.labels, expected one of the two")
		c.refuse("data.bounds", task == data.Labels, "found together with data.labels, expected one of the two")
		c.refuse("privacy.unit", c.Privacy.Unit == UnitLabel, "found label with %s, expected another unit: randomised response is for classes", key)
		c.refuse("federated.split", c.Federated.Any() && c.Federated.Split == data.Dirichlet, "found dirichlet with %s, expected another split: it is drawn by classes", key)
		c.refuse("pate.teachers", c.Pate.Any(), "found %d with %s, expected 0: teachers vote for classes", c.Pate.Teachers, key)
	}
	if b := c.Data.Bounds; len(b) == 2 {
		c.refuse("data.bounds", b[0] >= b[1], "found [%g, %g], expected the lower bound first", b[0], b[1])
	}
	fitting := model.Losses().Where(func(l model.Loss) bool { return l.Task() == task })
	if !slices.Contains(fitting, c.Training.Loss.Name()) {
		c.refuse(loss, true, "found %s, expected %s, by what the data has to learn", c.Training.Loss.Name(), setting.Or(fitting))
		if !c.given.has(loss) {
			c.missing("training", loss, setting.Or(fitting)+", by what the data has to learn")
		}
	}
	outputs := len(c.Data.Learnt())
	c.refuse(weights, outputs > 0 && len(c.Training.ClassWeights) != outputs, "found %d numbers, expected %d, one for each class or label", len(c.Training.ClassWeights), outputs)
}

// publicNumbers is a list of numbers that nobody may compute from the training examples. A word in
// their place, such as scikit-learn's "balanced", is refused with the way to count privately.
type publicNumbers struct{ listOf[float64] }

func (f publicNumbers) decode(r *report, n *node, key string, into any) bool {
	if n.Kind == scalarNode && !setting.IsNumber(n.Text) {
		return r.Addf(n.At, key, "found %s, expected %s: weights that are counted are counted from private labels; `train stats` counts classes privately, and what it releases is public", n.Describe(), f.Expected())
	}
	return f.listOf.decode(r, n, key, into)
}
