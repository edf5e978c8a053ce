// Package score says how a model does on its test examples: over all, class by class, and how sure one
// can be of it.
package score

import (
	"math"

	"dpsgd/data"
	"dpsgd/internal/account"
)

// Score is how the model of a run does on the test examples, and what it cost.
type Score struct {
	Run            string  `json:"run"`
	TestAccuracy   float64 `json:"test_accuracy"`
	TestLoss       float64 `json:"test_loss"`
	TestExamples   int     `json:"test_examples"`
	Noun           string  `json:"-"` // "pictures" or "rows"
	Classes        []Class `json:"classes"`
	Confusion      [][]int `json:"confusion"` // a row for each class of examples, a column for each predicted one
	account.Answer         // of everything in the run's ledger
	Unit           string  `json:"unit,omitempty"`           // what it is about, where that is not an example
	TargetEpsilon  float64 `json:"target_epsilon,omitempty"` // the budget; 0 for none
	Warning        string  `json:"-"`                        // that something beside the run could not be asked; "" in most cases
}

// Prediction is what a model says of one test example.
type Prediction struct {
	Label, Class int     // its class, and the one that it is taken for
	Probability  float64 // of Class, by the softmax of the logits; NaN of a model that diverged
}

// Examination is a score with what it was made of.
type Examination struct {
	Score
	Matrix      *Matrix
	Predictions []Prediction  // of all test examples, in their order
	Pictures    data.Pictures // the test examples, where they are pictures; nil otherwise
}

// Examine begins an examination of so many examples of these classes.
func Examine(names []string, examples int) *Examination {
	return &Examination{Matrix: New(names), Predictions: make([]Prediction, 0, examples)}
}

// Add counts the prediction of the next example: its class, the one that it is taken for, what the
// model says of each class, and its loss.
func (e *Examination) Add(label, class int, logits []float32, loss float32) {
	e.Matrix.Add(label, class)
	e.Predictions = append(e.Predictions, Prediction{label, class, probability(logits, class)})
	e.TestLoss += float64(loss) // the sum, until Close
}

// Close fills in what the score says of all predictions together.
func (e *Examination) Close() {
	all := e.Matrix.Total()
	e.TestAccuracy, e.TestExamples = all.Accuracy, all.Examples
	e.TestLoss /= float64(all.Examples)
	e.Classes, e.Confusion = e.Matrix.ByClass(), e.Matrix.Counts
}

// probability is that of the class with the largest logit, by the softmax of all: the inverse of
// Σ exp(logit - largest logit).
func probability(logits []float32, class int) float64 {
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l) - float64(logits[class]))
	}
	return 1 / sum
}
