// Package setup makes what a configuration names: the data set, wherever it lies now, with its
// features, the network, the update rule. It estimates the memory that these take, and refuses what
// the machine does not have before any of it is taken: the system does not tell a process that it
// asked for too much, but stands still or kills it.
package setup

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/optimizer"
)

// ErrPlan marks a configuration that is well-formed but cannot be carried out on its data.
var ErrPlan = errors.New("train: the configuration does not fit the data")

// Misfit returns an [ErrPlan] about the value of one key. The text says, behind the key, what was
// found and what was expected.
func Misfit(key, format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrPlan, &configs.KeyError{Key: key, Problem: fmt.Sprintf(format, args...)})
}

// CheckDelta refuses a δ of at least 1/n for n records: a mechanism that publishes one record in n
// with certainty is (0, 1/n)-private. Records is their name, as in "training examples".
func CheckDelta(delta float64, n int, records string) error {
	if delta < 1/float64(n) {
		return nil
	}
	return Misfit("privacy.delta", "is %g, expected less than 1/n = %.3g for n = %d %s", delta, 1/float64(n), n, records)
}

// CheckWarmup refuses a learning rate that has not reached its peak when all steps are taken.
func CheckWarmup(c *configs.Config, steps int) error {
	if warmup := c.Optimizer.Schedule.WarmupSteps; warmup >= steps {
		return Misfit("optimizer.schedule.warmup_steps", "is %d, expected less than the number of steps, %d", warmup, steps)
	}
	return nil
}

// SeesFeatures reports whether the network sees [data.Features], which the program or another one
// computed.
func SeesFeatures(c *configs.Config) bool { return c.Features.Any() || c.Data.Vectors != "" }

// Normalisation returns the configured constants, one for each channel or column. Features and
// texts have none.
func Normalisation(c *configs.Config, channels int) data.Normalisation {
	if SeesFeatures(c) || c.Data.Shape().IsText() {
		return data.Normalisation{}
	}
	return c.Data.PerChannel(channels)
}

// Threads returns the configured number of threads, or one for each core.
func Threads(c *configs.Config) int {
	if c.Performance.Threads > 0 {
		return c.Performance.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// ClientsAtOnce returns how many clients' changes, each of so many parameters, one call computes.
func ClientsAtOnce(c *configs.Config, parameters, threads int) int {
	const most = 64 << 20 // bytes of changes
	return max(threads, min(c.Federated.Clients, most/4/parameters))
}

// Slots returns how many values the configured update rule and average keep for each parameter.
func Slots(c *configs.Config) (int, error) {
	update, err := optimizer.NewUpdate(c.Optimizer.Rule, 1, 1)
	if err != nil {
		return 0, err
	}
	slots := len(update.View().Slots)
	if c.Training.Average.Name() != "none" {
		slots += 2 // the mean, and the values while it stands in their place
	}
	return slots, nil
}

// Update returns the configured update rule and its learning rate's schedule over so many steps.
// deviation returns the standard deviation of the noise on each value of a step's mean gradient.
func Update(c *configs.Config, dim, steps, threads int, deviation func(step int) float64) (*optimizer.Update, optimizer.Schedule, error) {
	update, err := optimizer.NewUpdate(c.Optimizer.Rule, dim, threads)
	if err != nil {
		return nil, optimizer.Schedule{}, err
	}
	schedule := Schedule(c, steps)
	if !c.Optimizer.ByNoise() {
		return update, schedule, schedule.Check()
	}
	schedule.Peak = 1
	if err := schedule.Check(); err != nil {
		return nil, schedule, err
	}
	momentum, _ := optimizer.HeavyBall(c.Optimizer.Rule)
	schedule = schedule.WithNoise(c.Optimizer.ParameterNoise, deviation, momentum)
	return update, schedule, schedule.Check()
}

// Schedule returns the configured schedule of the learning rate over so many steps, for a rate that
// does not follow from noise.
func Schedule(c *configs.Config, steps int) optimizer.Schedule {
	return optimizer.Schedule{
		Curve: c.Optimizer.Schedule.Curve, Peak: c.Optimizer.LearningRate, Steps: steps, WarmupSteps: c.Optimizer.Schedule.WarmupSteps,
	}
}

// Steps returns the planned number of updates on n examples, with batch of them in a step: t.Steps,
// or n/batch for each epoch, rounded to a whole number over all epochs, at least 1.
func Steps(t configs.Training, batch float64, n int) int {
	if t.Steps > 0 {
		return t.Steps
	}
	return max(1, int(math.Round(float64(t.Epochs)*float64(n)/batch)))
}

// Outline is what can be said about a data set without reading an example.
type Outline struct {
	Name      string     `json:"name"`
	Examples  int        `json:"examples"`
	People    int        `json:"people,omitempty"` // persons whom the examples are of; 0 unless the unit of privacy is a person
	Tests     int        `json:"test_examples"`
	Shape     data.Shape `json:"-"`
	Classes   int        `json:"classes"`
	Names     []string   `json:"-"`                   // of the classes
	Tokenizer string     `json:"tokenizer,omitempty"` // SHA-256 of the file that cuts texts into tokens; "" for none
}

// Records returns how many records the releases of a run are made of and protect: clients of a
// federated run, persons or examples otherwise.
func Records(c *configs.Config, o Outline) int {
	switch {
	case c.Federated.Any():
		return c.Federated.Clients
	case o.People > 0:
		return o.People
	}
	return o.Examples
}

// Unit returns the words of a privacy statement for one record, and for several.
func Unit(c *configs.Config) (one, several string) {
	switch {
	case c.Federated.Any():
		return "one client with all its examples", "clients"
	case c.Privacy.Unit == configs.UnitPerson:
		return "one person with all their examples", "persons"
	}
	return example, "training examples"
}

const example = "one training example"

// Label is what private labels protect, in words.
const Label = "the label of one training example"

// UnitOf returns what the ε of a configuration protects, in words, and "" for a training example
// with all that is in it. The ledger of a run with private labels says nothing about examples.
func UnitOf(c *configs.Config) string {
	if c.Privacy.Unit == configs.UnitLabel {
		return Label
	}
	if one, _ := Unit(c); one != example {
		return one
	}
	return ""
}

// Order says, in words, what the order of training examples may depend on. An example's place in it
// decides whom it meets: which examples share a minibatch, a client, a teacher, and where in a file
// an answer stands.
type Order string

const (
	// AsFound is any order. It harms nobody whose whole example is protected: neighbours have the
	// same places, one of which is empty in one of them.
	AsFound Order = "the examples and their labels, files and folders: neighbours have the same places"
	// ByContent is the order of [data.Unlabelled].
	ByContent Order = "what the examples hold beside their labels, which is public"
)

// orders maps every unit of privacy to its order. A unit without a row is not trained on.
var orders = map[string]Order{configs.UnitExample: AsFound, configs.UnitPerson: AsFound, configs.UnitLabel: ByContent}

// Places returns what the order of a configuration's training examples may depend on.
func Places(c *configs.Config) Order {
	if c.Privacy.None {
		return AsFound
	}
	return orders[c.Privacy.Unit]
}

// Outlines lists the data sets that have a name, as their authors publish them.
func Outlines() []Outline {
	var outlines []Outline
	for _, name := range data.Names() {
		outlines = append(outlines, outlineOf(data.Spec{Name: name}))
	}
	return outlines
}

// OutlineOfSource returns the outline of data that has been read.
func OutlineOfSource(s *data.Split) Outline {
	o := Outline{Name: s.Name, Examples: s.Train.Len(), Tests: s.Test.Len(), Shape: s.Train.Shape(), Classes: len(s.Train.Classes()), Names: s.Train.Classes()}
	if texts, ok := s.Train.(*data.Texts); ok {
		o.Tokenizer = texts.Tokenizer()
	}
	return o
}

// Identity returns what the identity of a run says about its data.
func (o Outline) Identity() string {
	text := fmt.Sprintf("examples %d %v %q\n", o.Examples, o.Shape, o.Names)
	if o.People > 0 {
		text += fmt.Sprintf("people %d\n", o.People)
	}
	if o.Tokenizer != "" {
		text += fmt.Sprintf("tokenizer %s\n", o.Tokenizer)
	}
	return text
}

// Declared returns the outline as far as the configuration says it. Of a person's own data it does
// not say how many examples there are.
func Declared(c *configs.Config) Outline { return outlineOf(c.Data.Spec) }

func outlineOf(spec data.Spec) Outline {
	o := Outline{Name: spec.Name, Shape: spec.Shape(), Classes: len(spec.Learnt()), Names: spec.Learnt()}
	if known := data.Find(spec.Name); known != nil {
		o.Examples, o.Tests = known.Train, known.Test
		return o
	}
	o.Name = spec.OwnName()
	return o
}

// OutlineOf returns the outline of the configured data. If examples is above 0, it takes that number
// and counts nothing. Else it counts, in data of one's own, the examples, the tests and, with unit
// person, the persons.
func OutlineOf(c *configs.Config, examples int) (o Outline, err error) {
	o = Declared(c)
	switch {
	case examples > 0:
		o.Examples = examples
	case o.Examples == 0:
		if o.Examples, err = data.Count(c.Data.Spec, "train"); err != nil {
			return o, err
		}
		if c.Privacy.Unit == configs.UnitPerson {
			owners, err := data.Owners(c.Data.Spec)
			if err != nil {
				return o, err
			}
			o.People = len(data.ByOwner(owners, 0, 0))
		}
		o.Tests, err = data.Count(c.Data.Spec, "test")
	}
	return o, err
}
