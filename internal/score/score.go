// Package score says how a model does on its test examples, over all and class by class, with
// confidence intervals.
package score

import (
	"math"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/account"
)

// Score says how the model of a run does on the test examples, and what the run has spent.
type Score struct {
	Run string `json:"run"`
	Test
	TestLoss       float64   `json:"test_loss"`
	TestExamples   int       `json:"test_examples"`
	Measures       []Measure `json:"measures,omitempty"`
	Noun           string    `json:"-"` // "pictures" or "rows"
	Classes        []Class   `json:"classes,omitempty"`
	Confusion      [][]int   `json:"confusion,omitempty"` // a row for each class of examples, a column for each predicted one
	account.Answer           // of everything in the run's ledger
	Unit           string    `json:"unit,omitempty"`           // what the guarantee protects, where that is not an example
	TargetEpsilon  float64   `json:"target_epsilon,omitempty"` // the budget; 0 for none
	Warning        string    `json:"-"`                        // says what beside the run could not be asked; "" if nothing
}

// Prediction is what a model says of one test example.
type Prediction struct {
	Label, Class int     // the class of the example, and the class that the model takes it for
	Probability  float64 // of Class, by the softmax of the logits; NaN of a model that diverged
}

// Examination is a score with what it was made of.
type Examination struct {
	Score
	Task        data.Task
	Matrix      *Matrix                  // of classes; empty of anything else
	Predictions []Prediction             // of all test examples, in their order; none of labels and numbers
	Pictures    data.Pictures            // the test examples, where they are pictures; nil otherwise
	Text        func(example int) string // the same of texts

	outcomes []outcome
}

// Examine returns an examination of what has these names, with room for so many predictions.
func Examine(task data.Task, names []string, examples int) *Examination {
	return &Examination{Task: task, Matrix: New(names), outcomes: make([]outcome, 0, examples)}
}

// Add counts the prediction of the next example: label is its class, or targets what is learnt
// about it in place of one, outputs are the model's for it, and loss is its loss.
func (e *Examination) Add(label int, targets, outputs []float32, loss float32) {
	if e.Task == data.Class {
		class := Largest(outputs)
		e.Matrix.Add(label, class)
		e.Predictions = append(e.Predictions, Prediction{label, class, Softmax(outputs)[class]})
	}
	e.outcomes = append(e.outcomes, outcome{slices.Clone(outputs), targets, label})
	e.TestLoss += float64(loss) // the sum, until Close
}

// Close computes from the predictions that were added the loss, the number by which runs are
// compared, and the shares by class.
func (e *Examination) Close() {
	e.TestExamples = len(e.outcomes)
	e.TestLoss /= float64(len(e.outcomes))
	switch e.Task {
	case data.Number:
		e.Measure()
		e.Test = OfError(max(math.SmallestNonzeroFloat64, e.Measures[0].Value))
		return
	case data.Labels:
		e.byLabel()
	default:
		e.Classes, e.Confusion = e.Matrix.ByClass(), e.Matrix.Counts
	}
	e.TestAccuracy = Value(e.Total().Accuracy)
}

// Total returns the share that is right of all examples, or of all their labels.
func (e *Examination) Total() Share {
	right, all := 0, 0
	for _, c := range e.Classes {
		right, all = right+c.Correct, all+c.Examples
	}
	s, n := NewShare(right, all), float64(e.TestExamples)
	s.Low, s.High = Wilson(s.Accuracy*n, n) // the labels of an example may be right together
	return s
}

// byLabel fills Classes with the share of examples of which a label is told right.
func (e *Examination) byLabel() {
	for i, right := range counts(e.Task, e.outcomes, len(e.Matrix.Names)) {
		e.Classes = append(e.Classes, Class{e.Matrix.Names[i], NewShare(right[0]+right[2], len(e.outcomes))})
	}
}

// Measure fills Measures, which takes longer than Close. A model that answers with numbers that are
// not finite has none.
func (e *Examination) Measure() {
	e.Measures = measuresOf(e.Task, e.outcomes, counts(e.Task, e.outcomes, len(e.Matrix.Names)))
	if slices.ContainsFunc(e.Measures, func(m Measure) bool { return math.IsNaN(m.Value + m.Low + m.High) }) && e.Task != data.Number {
		e.Measures = nil
	}
}

// Softmax returns the probabilities that logits give to the classes: NaN where a model diverged.
func Softmax(logits []float32) []float64 {
	chances, most, sum := make([]float64, len(logits)), float64(slices.Max(logits)), 0.0
	for i, l := range logits {
		chances[i] = math.Exp(float64(l) - most)
		sum += chances[i]
	}
	for i := range chances {
		chances[i] /= sum
	}
	return chances
}

// Matrix counts the predictions of a model by the class of the example and the predicted class.
type Matrix struct {
	Names  []string // of the classes
	Counts [][]int  // Counts[label][predicted]: square, with a row and a column for each class
}

// Share is how many of some examples were predicted right, with a 95 % confidence interval.
type Share struct {
	Examples int     `json:"examples"`
	Correct  int     `json:"correct"`
	Accuracy float64 `json:"accuracy"` // Correct / Examples; 0 without examples
	Low      float64 `json:"low"`      // of the interval; see [Wilson]
	High     float64 `json:"high"`
}

// Class is the share of the examples of one class that were predicted right.
type Class struct {
	Name string `json:"class"`
	Share
}

// New returns a matrix without predictions for classes of these names.
func New(names []string) *Matrix {
	m := &Matrix{Names: names, Counts: make([][]int, len(names))}
	for i := range m.Counts {
		m.Counts[i] = make([]int, len(names))
	}
	return m
}

// Add counts one prediction. Both classes are indices into the names.
func (m *Matrix) Add(label, predicted int) { m.Counts[label][predicted]++ }

// ByClass returns the share predicted right of each class, in the order of the names.
func (m *Matrix) ByClass() []Class {
	classes := make([]Class, len(m.Counts))
	for label, row := range m.Counts {
		examples := 0
		for _, n := range row {
			examples += n
		}
		classes[label] = Class{m.Names[label], NewShare(row[label], examples)}
	}
	return classes
}

// NewShare returns the share correct/examples with its interval.
func NewShare(correct, examples int) Share {
	s := Share{Examples: examples, Correct: correct, Accuracy: float64(correct) / float64(max(1, examples))}
	s.Low, s.High = Wilson(float64(correct), float64(examples))
	return s
}

const Normal975 = 1.959963984540054 // quantile of the standard normal distribution

// Wilson returns the 95 % score interval of a share of independent examples (Wilson 1927, "Probable
// inference, the law of succession, and statistical inference", JASA 22, equation 9, as Brown, Cai
// and DasGupta 2001 recommend, Statistical Science 16, equation 4); of none it is [0, 1].
func Wilson(correct, n float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	p, z := correct/n, Normal975
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
}

// Difference returns the accuracy of a minus that of b, a share of other examples, with its 95 %
// interval (Newcombe 1998, "Interval estimation for the difference between independent
// proportions", Statistics in Medicine 17, method 10), too wide for shares of the same examples.
func Difference(a, b Share) (difference, low, high float64) {
	difference = a.Accuracy - b.Accuracy
	low = difference - math.Hypot(a.Accuracy-a.Low, b.High-b.Accuracy)
	high = difference + math.Hypot(a.High-a.Accuracy, b.Accuracy-b.Low)
	return difference, low, high
}
