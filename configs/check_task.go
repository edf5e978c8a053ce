package configs

import (
	"slices"

	"dpsgd/data"
	"dpsgd/internal/setting"
	"dpsgd/model"
)

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
	c.refuse(weights, outputs > 0 && !c.anyBad("data.classes") && len(c.Training.ClassWeights) != outputs, "found %d numbers, expected %d, one for each class or label", len(c.Training.ClassWeights), outputs)
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
