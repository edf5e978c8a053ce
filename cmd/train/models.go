package main

import (
	"fmt"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/trained"
)

// What commands say in errors that they take.
const (
	oneRun    = "one: the folder of a run, such as runs/digits-1"
	oneConfig = "at most one: a configuration file or the name of a preset"
)

// withModel opens a run and calls work with its model and predictor.
func withModel(a *shell.App, run string, work func(*trained.Model, *trained.Predictor) error) error {
	m, err := trained.Open(run)
	if err != nil {
		return err
	}
	announce(a, m)
	pool := kernel.NewPool(setup.Threads(m.Config))
	defer pool.Close()
	p, err := trained.New(m, pool)
	if err != nil {
		return err
	}
	return work(m, p)
}

// announce says that pictures are drawn, which takes a while, if the network sees features.
func announce(a *shell.App, m *trained.Model) {
	if m.Config.Features.Any() {
		fmt.Fprintf(a.Err, "train: drawing %d pictures for the features %s, which takes up to a minute\n", m.Config.Features.Pictures, m.Config.Features.Transform.Name())
	}
}
