// Package score says how a model does on its test examples, over all and class by class, with
// confidence intervals.
package score

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/account"
)

// Score says how the model of a run does on the test examples, and what the run has spent.
type Score struct {
	Run            string  `json:"run"`
	TestAccuracy   float64 `json:"test_accuracy"`
	TestLoss       float64 `json:"test_loss"`
	TestExamples   int     `json:"test_examples"`
	Noun           string  `json:"-"` // "pictures" or "rows"
	Classes        []Class `json:"classes"`
	Confusion      [][]int `json:"confusion"` // a row for each class of examples, a column for each predicted one
	account.Answer         // of everything in the run's ledger
	Unit           string  `json:"unit,omitempty"`           // what the guarantee protects, where that is not an example
	TargetEpsilon  float64 `json:"target_epsilon,omitempty"` // the budget; 0 for none
	Warning        string  `json:"-"`                        // says what beside the run could not be asked; "" if nothing
}

// Prediction is what a model says of one test example.
type Prediction struct {
	Label, Class int     // the class of the example, and the class that the model takes it for
	Probability  float64 // of Class, by the softmax of the logits; NaN of a model that diverged
}

// Examination is a score with what it was made of.
type Examination struct {
	Score
	Matrix      *Matrix
	Predictions []Prediction  // of all test examples, in their order
	Pictures    data.Pictures // the test examples, where they are pictures; nil otherwise
}

// Examine returns an examination of these classes, without predictions, with room for so many.
func Examine(names []string, examples int) *Examination {
	return &Examination{Matrix: New(names), Predictions: make([]Prediction, 0, examples)}
}

// Add counts the prediction of the next example: label is its class, class the one that the model
// takes it for, logits are the model's outputs for it, and loss is its loss.
func (e *Examination) Add(label, class int, logits []float32, loss float32) {
	e.Matrix.Add(label, class)
	e.Predictions = append(e.Predictions, Prediction{label, class, probability(logits, class)})
	e.TestLoss += float64(loss) // the sum, until Close
}

// Close computes accuracy, loss, classes and confusion from the predictions that were added.
func (e *Examination) Close() {
	all := e.Matrix.Total()
	e.TestAccuracy, e.TestExamples = all.Accuracy, all.Examples
	e.TestLoss /= float64(all.Examples)
	e.Classes, e.Confusion = e.Matrix.ByClass(), e.Matrix.Counts
}

// probability returns the softmax of all logits at class, which should have the largest logit: the
// inverse of Σ exp(logit - largest logit).
func probability(logits []float32, class int) float64 {
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l) - float64(logits[class]))
	}
	return 1 / sum
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

// Total returns the share of all examples that were predicted right.
func (m *Matrix) Total() Share {
	correct, examples := 0, 0
	for _, c := range m.ByClass() {
		correct, examples = correct+c.Correct, examples+c.Examples
	}
	return NewShare(correct, examples)
}

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
	s := Share{Examples: examples, Correct: correct}
	if examples > 0 {
		s.Accuracy = float64(correct) / float64(examples)
	}
	s.Low, s.High = Wilson(correct, examples)
	return s
}

const normal975 = 1.959963984540054 // quantile of the standard normal distribution

// Wilson returns the 95 % score interval of a share of independent examples (Wilson 1927, "Probable
// inference, the law of succession, and statistical inference", JASA 22, equation 9, as Brown, Cai
// and DasGupta 2001 recommend it, Statistical Science 16, equation 4). It is [0, 1] without
// examples.
func Wilson(correct, examples int) (low, high float64) {
	if examples == 0 {
		return 0, 1
	}
	n, p, z := float64(examples), float64(correct)/float64(examples), normal975
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
