package configs

import (
	"fmt"
	"slices"

	"dpsgd/internal/setting"
	"dpsgd/optimizer"
)

// check reports what is missing and what does not fit together, where the values alone are fine.
// bad holds the keys that were reported already.
func check(r *report, c *Config, doc document, bad map[string]bool, sections map[string]section) {
	missing := func(parent, key, expected string) {
		s, ok := sections[parent]
		if !ok {
			s = sections[""]
		}
		if s.broken {
			return // that it could not be read has been said already
		}
		r.Addf(s.at, key, "found nothing, expected %s", expected)
	}
	checkData(r, c, doc, bad, missing)
	if l := c.Data.Limit; (l.Epsilon > 0) != (l.Delta > 0) && !bad["data.limit.epsilon"] && !bad["data.limit.delta"] {
		missing("data.limit", "data.limit", "epsilon and delta, both or neither")
	}
	if c.Model.Init != "" && !doc.has("model.init_trained_on") {
		missing("model", "model.init_trained_on", fieldAt("model.init_trained_on").format.Expected()+", because model.init is given")
	}
	if c.Privacy.Epsilon == 0 && c.Privacy.NoiseMultiplier == 0 && !c.Privacy.None && !bad["privacy.epsilon"] && !bad["privacy.noise_multiplier"] {
		missing("privacy", "privacy", "epsilon (a budget) or noise_multiplier (a fixed noise), or both")
	}
	checkConstants(r, c, doc, bad)
	checkWarmup(r, c, doc, bad)
	checkByNoise(r, c, doc, bad)
	checkOrdinary(r, c, doc, bad)
	checkClients(r, c, doc, bad)
	checkPersons(r, c, doc, bad)
}

// has reports whether a key was given at all.
func (d document) has(path string) bool { _, ok := d[path]; return ok }

// dataSources are the keys that say where the examples are, of which one is given.
var dataSources = []string{"data.name", "data.folder", "data.table", "data.vectors"}

func checkData(r *report, c *Config, doc document, bad map[string]bool, missing func(parent, key, expected string)) {
	var given []string
	for _, path := range dataSources {
		if doc.has(path) {
			given = append(given, path)
		}
	}
	if len(given) == 0 {
		missing("data", "data", fmt.Sprintf("name (%s), folder, table or vectors", datasetName{}.Expected()))
	}
	if len(given) != 1 {
		return // that there are two has been said already
	}
	// Nothing about the examples is inferred from them.
	own := given[0]
	required := map[string][]string{
		"data.folder":  {"data.classes", "data.size", "data.channels"},
		"data.table":   {"data.classes", "data.columns", "data.label"},
		"data.vectors": {"data.classes", "data.width"},
	}[own]
	for _, path := range required {
		if !doc.has(path) {
			missing("data", path, fieldAt(path).formatIn(c).Expected()+", because "+own+" is given")
		}
	}
	if label := c.Data.Label; doc.has("data.label") && !bad["data.label"] && slices.Contains(c.Data.Columns, label) {
		r.Addf(doc["data.label"].value.At, "data.label", "found %s, which is one of data.columns, expected another column", printable(label))
	}
}

// checkConstants compares the normalisation constants with the channels or columns, where these are
// known.
func checkConstants(r *report, c *Config, doc document, bad map[string]bool) {
	want, of := c.Data.constants()
	if want == 0 || bad["data.channels"] || bad["data.columns"] {
		return
	}
	expect := func(path string, values []float64) {
		if n := len(values); !bad[path] && n != 1 && n != want {
			expected := fmt.Sprintf("1 or %d, one per %s", want, of)
			if want == 1 {
				expected = "1"
			}
			r.Addf(doc[path].value.At, path, "found %d values, expected %s", n, expected)
		}
	}
	expect("data.mean", c.Data.Mean)
	expect("data.std", c.Data.Std)
}

// checkWarmup refuses a warm-up that never ends.
func checkWarmup(r *report, c *Config, doc document, bad map[string]bool) {
	const warmup = "optimizer.schedule.warmup_steps"
	if !doc.has(warmup) || bad[warmup] || bad["training.steps"] || c.Training.Steps == 0 {
		return
	}
	if w := c.Optimizer.Schedule.WarmupSteps; w > c.Training.Steps {
		r.Addf(doc[warmup].value.At, warmup, "found %d, expected at most the %d training.steps", w, c.Training.Steps)
	}
}

// checkByNoise refuses a learning rate that follows from the noise where nobody can say ahead how
// far noise moves a parameter.
func checkByNoise(r *report, c *Config, doc document, bad map[string]bool) {
	const rate, rule = "optimizer.learning_rate", "optimizer.name"
	if !doc.has(rate) || bad[rate] || bad[rule] || !c.Optimizer.ByNoise() {
		return
	}
	if _, known := optimizer.HeavyBall(c.Optimizer.Rule); !known {
		r.Addf(doc[rate].value.At, rate, "found by_noise with %s %s, expected a number, or %s", rule, c.Optimizer.Rule.Name(), setting.Or(optimizer.HeavyBalls()))
	}
	if name := c.Privacy.Clipping.Name(); name == "adaptive" {
		r.Addf(doc[rate].value.At, rate, "found by_noise with privacy.clipping %s, whose noise is not known ahead, expected a number or another clipping", name)
	}
}

// checkOrdinary refuses, where there is no noise on gradients, what follows from that noise.
func checkOrdinary(r *report, c *Config, doc document, bad map[string]bool) {
	if !c.Privacy.Ordinary() || bad["privacy.none"] || bad["privacy.unit"] {
		return
	}
	why := "privacy.none"
	if !c.Privacy.None {
		why = "privacy.unit label"
		if doc.has("privacy.noise_multiplier") && !c.Privacy.Calibrated() {
			r.Addf(doc["privacy.noise_multiplier"].value.At, "privacy.noise_multiplier", "found %g with %s, expected privacy.epsilon, which says how often a label is told truly", c.Privacy.NoiseMultiplier, why)
		}
	}
	if rate := "optimizer.learning_rate"; doc.has(rate) && !bad[rate] && c.Optimizer.ByNoise() {
		r.Addf(doc[rate].value.At, rate, "found by_noise with %s, where gradients have no noise, expected a number, such as 2 for features", why)
	}
	if rule := "optimizer.name"; !bad[rule] && optimizer.CheckPlain(c.Optimizer.Rule) != nil {
		r.Addf(doc[rule].value.At, rule, "found %s, which counts on noise, with %s, where gradients have none, expected another one", c.Optimizer.Rule.Name(), why)
	}
}

// checkClients refuses what has no meaning in a round of clients.
func checkClients(r *report, c *Config, doc document, bad map[string]bool) {
	const clients, fewest = "federated.clients", "federated.min_clients"
	if !c.Federated.Any() || bad[clients] {
		return
	}
	refuse := func(path, format string, args ...any) {
		if doc.has(path) && !bad[path] {
			r.Addf(doc[path].value.At, path, format, args...)
		}
	}
	if c.Federated.MinClients > c.Federated.Clients {
		refuse(fewest, "found %d, expected at most the %d of %s", c.Federated.MinClients, c.Federated.Clients, clients)
	}
	if c.Privacy.Clipping.Name() == "per_layer" {
		refuse("privacy.clipping", "found per_layer with %s, expected another clipping: a client's change is bounded as a whole", clients)
	}
	if c.Privacy.Unit != UnitExample {
		refuse("privacy.unit", "found %s with %s, expected example: what is protected is one client with all its examples", c.Privacy.Unit, clients)
	}
	if c.Privacy.None {
		refuse("privacy.none", "found true with %s, expected false", clients)
	}
	if c.Run.PrivateDiagnostics {
		refuse("run.private_diagnostics", "found true with %s, expected false: a run of rounds has none", clients)
	}
}

// checkPersons makes sure that persons are told apart.
func checkPersons(r *report, c *Config, doc document, bad map[string]bool) {
	const unit, group = "privacy.unit", "data.group"
	if c.Privacy.Unit != UnitPerson || c.Privacy.None || bad[unit] || bad[group] {
		return
	}
	switch at := doc[unit].value.At; {
	case c.Data.Folder == "" && c.Data.Table == "":
		r.Addf(at, unit, "found person, expected data.folder or data.table: other examples do not say whose they are")
	case c.Data.Group == "":
		r.Addf(at, unit, "found person, expected data.group, which says whose an example is")
	case c.Data.Folder != "" && c.Data.Group != GroupPrefix:
		r.Addf(doc[group].value.At, group, "found %s with data.folder, expected %s", printable(c.Data.Group), GroupPrefix)
	}
}
