package configs

import (
	"slices"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/setting"
	"dpsgd/model"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// Config is one complete configuration. Parse and Load return it validated and with every
// default filled in; DefaultConfig says what the defaults are.
type Config struct {
	Data        Data
	Features    Features
	Model       Model
	Privacy     Privacy
	Optimizer   Optimizer
	Training    Training
	Pate        Pate
	Federated   data.ClientSplit
	Performance Performance
	Run         Run
}

// Data says which examples are used. What this section says is public; the examples are not.
type Data struct {
	data.Spec
	Mean, Std []float64 // the network sees (x - Mean) / Std, x a pixel in [0,1] or a number; one value each, or one per channel or column
	Limit     Limit     // on the cost of all releases on the data together; zero is no limit
}

// Limit bounds the cost of all releases on a data set together; zero is no limit.
type Limit struct{ Epsilon, Delta float64 }

// Any reports whether a limit is set.
func (l Limit) Any() bool { return l != Limit{} }

// Size is the height and width of a picture in pixels.
type Size = setting.Size

// PerChannel returns the normalisation constants as one mean and one standard deviation for each
// of the given number of channels or columns.
func (d Data) PerChannel(channels int) data.Normalisation {
	return data.Normalisation{Mean: broadcast(d.Mean, channels), Std: broadcast(d.Std, channels)}
}

// broadcast returns a single value repeated n times, or a copy of a list of any other length.
func broadcast(values []float64, n int) []float64 {
	if len(values) == 1 {
		return slices.Repeat(values, n)
	}
	return slices.Clone(values)
}

// Model is the network: a name that Networks lists, or layers. Exactly one is set.
type Model struct {
	Name   string
	Layers model.Sequential

	Init          string   // a file with weights to begin with; "" is random ones
	InitTrainedOn string   // with Init: public, private or nothing; what the statement says of them
	InitExcept    []string // with Init: layers and parameters that begin at random all the same
	Freeze        []string // layers and parameters that are not trained
	TrainOnly     []string // layers, parameters and words that alone are; nil is all, with LoRA the head
	LoRA          LoRA
}

// LoRA says what gets low-rank factors: see [model.LoRA]. Rank 0 is none.
type LoRA struct {
	Rank   int
	Alpha  float64
	Layers []string // nil is the linear and attention layers outside the head
}

// Network returns the layers of the model: Layers, or those of the ready network Name.
func (m Model) Network() (model.Sequential, error) {
	if m.Name == "" {
		return m.Layers, nil
	}
	return Network(m.Name)
}

// Privacy is the budget and the mechanism. A valid configuration has at least one of Epsilon and
// NoiseMultiplier, and 0, which is no valid value of either, stands for "not given":
//
//	Epsilon  NoiseMultiplier
//	> 0      0                calibrate the noise multiplier so that all planned steps fit the budget
//	0        > 0              use this noise multiplier and run all planned steps; there is no budget
//	> 0      > 0              use this noise multiplier and stop before the step that would pass the budget
type Privacy struct {
	Epsilon           float64
	NoiseMultiplier   float64 // sigma: noise standard deviation / ClipNorm, on the sum of clipped gradients
	Delta             float64 // in (0,1)
	ClipNorm          float64 // C: bound on the L2 norm of one example's gradient
	Clipping          clip.Scheme
	Mechanism         release.Noise
	ClipSchedule      clip.Schedule
	NoiseSchedule     release.NoiseSchedule
	Correlation       string // Independent, ChosenBands or Banded: how the noise of steps is correlated
	Bands             int    // with Banded: the bands of the strategy
	Accountant        string // exact, pld or rdp
	Unit              string // example, label or person: what the guarantee is about
	LabelStages       int    // with Unit label: in how many stages labels are asked, 1 or 2; the second asks half of them among the classes that are likely after the first
	None              bool   // ordinary training, which is NOT PRIVATE: nothing else of this section means anything
	ExamplesPerPerson int    // with Unit person: most examples of one person that take part; 0 is all
}

// Ordinary reports whether gradients get no noise: because nothing is private, or because the
// labels alone are private and get their noise before training.
func (p Privacy) Ordinary() bool { return p.None || p.Unit == UnitLabel }

// Values of privacy.correlation.
const (
	Independent = "none"
	ChosenBands = "auto"
	Banded      = "banded"
)

// The values of privacy.unit: what the guarantee of a run protects.
const (
	UnitExample = "example"
	UnitLabel   = "label"
	UnitPerson  = "person"
)

// GroupPrefix is the value of data.group for a folder whose file names begin with the person of the
// picture.
const GroupPrefix = "prefix"

// HasBudget reports whether training must stop before an epsilon is passed.
func (p Privacy) HasBudget() bool { return p.Epsilon > 0 }

// Calibrated reports whether no noise multiplier is given: a private run then calibrates one.
func (p Privacy) Calibrated() bool { return p.NoiseMultiplier == 0 }

// Optimizer is the update rule with its learning rate.
type Optimizer struct {
	Rule           optimizer.UpdateRule
	LearningRate   float64 // 0: it follows from ParameterNoise
	ParameterNoise float64 // with LearningRate 0: the standard deviation that the noise of all steps may leave in every parameter
	Schedule       Schedule
}

// ByNoise reports whether the learning rate follows from ParameterNoise.
func (o Optimizer) ByNoise() bool { return o.LearningRate == 0 }

// Features says what the network sees of pictures instead of their pixels.
type Features struct {
	features.Recipe
	MeanNoise float64 // noise multiplier of the mean of the features, which is released before training and subtracted; 0: none is released
}

// Schedule is how the learning rate changes over the steps, counted from 0.
type Schedule struct {
	Curve       optimizer.Curve
	WarmupSteps int // the learning rate rises linearly over these first steps
}

// Training says how the network is trained, and for how long. Exactly one of Epochs and Steps is
// set, the other is 0.
type Training struct {
	Loss              model.Loss
	ClassWeights      []float64 // in the loss, of each class or label; nil is 1 for each
	Sampling          release.Sampling
	BatchSize         int // expected examples in a batch; Poisson sampling takes each with probability BatchSize / training examples
	PhysicalBatchSize int // examples that one run of the graph holds; changes memory and speed only
	Epochs            int // steps = Epochs * training examples / expected batch size
	Steps             int
	EvaluateEvery     int    // steps between two test accuracies; 0 is only at the end
	Seed              uint64 // of the initial weights; noise and sampling are never seeded
	Average           optimizer.Average
	Augmentation      data.Augmentation
}

// Pate says how `train pate` learns from teachers. With 0 Teachers the configuration is for another
// command. The sections model, optimizer and training are for each teacher and for the student.
type Pate struct {
	Teachers             int     // on disjoint parts of the training examples
	Pool                 int     // public examples: so many test examples, without their labels
	Queries              int     // examples of the pool that are asked about at most; 0 is all of them
	Aggregation          string  // lnmax, gnmax or confident
	Noise                float64 // on votes: a standard deviation, with lnmax a scale
	Threshold            int     // votes that confident requires of the largest count, after noise
	ThresholdNoise       float64 // standard deviation of the noise of that check
	SelfTraining         int     // rounds in which the student learns from its own predictions on the pool
	ReleaseDataDependent bool    // release the data-dependent epsilon, with noise scaled to its smooth sensitivity
	ReleaseOrder         float64 // the Rényi order of that release
}

// Any reports whether the configuration is for `train pate`.
func (p Pate) Any() bool { return p.Teachers > 0 }

// Performance holds what changes speed and memory, never the result's distribution or its privacy.
type Performance struct {
	Threads     int    // 0 is one per core
	Engine      string // auto, ghost or materialise
	MaxMemory   int64  // what training may take, in bytes; 0 is what the machine has free
	DataMemory  int64  // what decoded pictures may take of it, in bytes; 0 is all that they need where that is there
	DataPerRank bool   // each rank of a run has training examples of its own
}

// Run names the folder of a run and says what is written into it.
type Run struct {
	Name               string // "" lets the trainer choose
	CheckpointEvery    int    // steps between two checkpoints, written while the next step is computed; 0 is only at the end
	PrivateDiagnostics bool   // also write training loss, norms and batch sizes, which are NOT private
}

// DefaultConfig returns the value of every key that a file leaves out. There is no default for the
// data set and for the privacy budget: a file without them is refused. In a file with model.layers,
// model.name has no default; in a file with training.steps, training.epochs has none.
func DefaultConfig() Config {
	return Config{
		Data: Data{Spec: data.Spec{Seed: 1}, Mean: []float64{0}, Std: []float64{1}}, // the network sees pixels in [0,1]
		Features: Features{
			Recipe:    features.Recipe{Transform: features.None{}, Drawn: "leaves", Pictures: 2400, Seed: 1, Directions: 256},
			MeanNoise: 40,
		},
		Model: Model{Name: "mnist-cnn", LoRA: LoRA{Alpha: 16}},
		Privacy: Privacy{
			Delta:     1e-5,
			ClipNorm:  1,
			Clipping:  &clip.Flat{},
			Mechanism: release.GaussianNoise{}, Correlation: Independent, Bands: 8,

			ClipSchedule:  &clip.ConstantNorm{},
			NoiseSchedule: &release.ConstantNoise{},
			Accountant:    "exact",
			Unit:          UnitExample,
			LabelStages:   1,
		},
		Optimizer: Optimizer{
			Rule:           &optimizer.SGD{},
			LearningRate:   0.5,
			ParameterNoise: 1.7,
			Schedule:       Schedule{Curve: &optimizer.Constant{}},
		},
		Training: Training{
			Loss:              &model.CrossEntropy{},
			Sampling:          release.Poisson{},
			BatchSize:         512,
			PhysicalBatchSize: 128,
			Epochs:            10,
			Seed:              1,
			Average:           &optimizer.NoAverage{},
			Augmentation:      data.NoAugmentation(),
		},
		Pate:        Pate{Pool: 1000, Aggregation: "confident", Noise: 40, Threshold: 200, ThresholdNoise: 150, SelfTraining: 1, ReleaseOrder: 12},
		Federated:   data.NoClients(),
		Performance: Performance{Engine: "auto"},
		Run:         Run{CheckpointEvery: 1},
	}
}
