// Package records computes what the records of a training run contribute to its steps. They are
// examples, clients with examples of their own, or persons.
package records

import (
	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/model"
	"dpsgd/release"
)

// Records computes what the records of a run contribute to a step. Records are examples, which
// contribute their gradients; persons, each with the gradient of one of their examples, drawn anew
// for every step; or clients, which contribute how far they moved the model.
type Records struct {
	Gradients *gradients.Gradients
	Clients   *Clients // nil where there are none
	people    *people  // nil where examples contribute for themselves
}

// Work holds what contributions are computed from: examples, network and pool.
type Work struct {
	Model    *model.Model
	Source   *setup.Source
	Examples *data.Split // as the network sees them
	Policy   clip.Policy
	Physical int              // examples in a physical batch
	Engines  gradients.Choice // that were chosen before; none otherwise
	Pool     *kernel.Pool
}

// New returns the records of a configuration, ready to contribute.
func New(c *configs.Config, w Work) (*Records, error) {
	if c.Federated.Any() {
		clients, err := NewClients(c, w.Model, w.Examples.Train, w.Source.Shape, w.Pool)
		if err != nil {
			return nil, err
		}
		clients.ClipBy(w.Policy)
		return &Records{Clients: clients}, nil
	}
	batcher, err := data.NewBatcher(w.Examples.Train, setup.Normalisation(c, w.Source.Shape.Channels))
	if err != nil {
		return nil, err
	}
	views, err := setup.Views(c, w.Source.Shape)
	if err != nil {
		return nil, err
	}
	gradients, err := gradients.NewGradients(w.Model, batcher, views, w.Physical, c.Performance.Engine, w.Engines, w.Pool)
	if err != nil {
		return nil, err
	}
	gradients.ClipBy(w.Policy)
	r := &Records{Gradients: gradients}
	if w.Source.Own != nil {
		r.people = &people{own: w.Source.Own, src: random.New()}
	}
	return r, nil
}

// AtStep returns the contributor of a step, counted from 0.
func (r *Records) AtStep(step int) release.Contributor {
	switch {
	case r.Clients != nil:
		return r.Clients.AtRound(step)
	case r.people != nil:
		return r.people.from(r.Gradients.AtStep(step))
	}
	return r.Gradients.AtStep(step)
}

// Coordinates returns how many values each record contributes.
func (r *Records) Coordinates() int {
	if r.Clients != nil {
		return r.Clients.Coordinates()
	}
	return r.Gradients.Coordinates()
}

// Rows returns what each record adds to the sum of all features: a row of norm 1 at most.
func (r *Records) Rows(rows *data.Features) (release.Contributor, error) {
	if r.Clients != nil {
		return NewMeans(rows, r.Clients.own)
	}
	each, err := gradients.NewRows(rows)
	if err != nil || r.people == nil {
		return each, err
	}
	return r.people.from(each), nil
}
