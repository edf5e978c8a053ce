package trained

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/score"
)

// ErrInput is matched if a model is given another kind of input than it was trained on.
var ErrInput = errors.New("train: another kind of input")

// Answer is a model's prediction for one example.
type Answer struct {
	File        string   `json:"file"`
	Row         int      `json:"row,omitempty"`         // of those of the file, from 1; 0 for pictures
	Class       string   `json:"class,omitempty"`       // the most probable one; "" where a number is predicted
	Probability float64  `json:"probability,omitempty"` // of the class
	Classes     []Share  `json:"classes,omitempty"`     // the most probable first; of labels each by itself
	Number      *float64 `json:"number,omitempty"`      // in place of a class
}

// Share is the probability of a class.
type Share struct {
	Class       string  `json:"class"`
	Probability float64 `json:"probability"`
}

// Predictor predicts with the model of a run. One goroutine at a time uses it.
type Predictor struct {
	Top int // how many classes an answer lists; 0 is all

	model      *Model
	extraction *features.Extraction // nil where the network sees examples as they are
	tokenizer  data.Tokenizer       // nil before the first text
	evaluator  *gradients.Evaluator // nil before the first set
	pool       *kernel.Pool
}

// New returns a predictor for m that computes in pool. It learns public features again from drawn
// pictures, which takes seconds to a minute.
func New(m *Model, pool *kernel.Pool) (*Predictor, error) {
	p := &Predictor{model: m, pool: pool}
	if !m.Config.Features.Any() {
		return p, nil
	}
	var err error
	p.extraction, err = m.Config.Features.Prepare(m.Data.Shape, pool)
	return p, err
}

// Logits predicts a set of examples. It returns a row for each, with a logit for each class.
func (p *Predictor) Logits(set data.Set) ([][]float32, error) {
	seen, err := p.seen(set)
	if err != nil {
		return nil, err
	}
	if p.evaluator == nil {
		p.evaluator, err = gradients.NewEvaluator(p.model.Network, seen, p.model.Normalisation(), p.pool)
	} else {
		err = p.evaluator.Show(seen, p.model.Normalisation())
	}
	if err != nil {
		return nil, err
	}
	rows := make([][]float32, set.Len())
	err = p.evaluator.Each(func(i int, of gradients.Prediction) { rows[i] = slices.Clone(of.Outputs) })
	return rows, err
}

// seen returns what the network sees of examples: themselves, or their features minus the mean.
func (p *Predictor) seen(set data.Set) (data.Set, error) {
	pictures, ok := set.(*data.Images)
	if p.extraction == nil || !ok {
		return set, nil
	}
	rows, err := p.extraction.Rows(pictures, func(int) {})
	if err != nil || p.model.FeatureMean == nil {
		return rows, err
	}
	return rows, features.Centre(rows, p.model.FeatureMean, p.pool)
}

// answer returns the answer for an example of a file, in that row or 0, from its logits.
func (p *Predictor) answer(file string, row int, logits []float32) (Answer, error) {
	if p.model.Config.Data.Task() == data.Number {
		number := float64(logits[0])
		if math.IsNaN(number) {
			return Answer{}, fmt.Errorf("%s: %w", file, errDiverged)
		}
		return Answer{File: file, Row: row, Number: &number}, nil
	}
	shares, err := p.shares(logits)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", file, err)
	}
	a := Answer{File: file, Row: row, Class: shares[0].Class, Probability: shares[0].Probability, Classes: shares}
	if p.Top > 0 {
		a.Classes = shares[:min(p.Top, len(shares))]
	}
	return a, nil
}

var errDiverged = errors.New("the model of the run answers with numbers that are not finite: its training diverged")

// shares returns the classes with their probabilities, the softmax of the logits, or the labels with
// theirs, the most probable first. Of equal ones the smaller label comes first, as in an evaluation.
func (p *Predictor) shares(logits []float32) ([]Share, error) {
	chances, order := score.Softmax(logits), make([]int, len(logits))
	if math.IsNaN(chances[0]) {
		return nil, errDiverged
	}
	for i := range order {
		order[i] = i
	}
	if p.model.Config.Data.Task() == data.Labels { // each by itself
		for i, l := range logits {
			chances[i] = 1 / (1 + math.Exp(-float64(l)))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	shares := make([]Share, len(order))
	for i, label := range order {
		shares[i] = Share{p.model.Data.Names[label], chances[label]}
	}
	return shares, nil
}
