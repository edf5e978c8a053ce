package sgd

import (
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/statement"
)

// Result is what a run reports at its end. A run that is NOT PRIVATE has neither ε nor δ.
type Result struct {
	Status  run.Status `json:"status"`
	Steps   int        `json:"steps"`
	Private bool       `json:"private"`
	Unit    string     `json:"unit"`    // whose presence or value is protected; "nothing"
	Epsilon *float64   `json:"epsilon"` // null where there is no guarantee
	Delta   *float64   `json:"delta"`
	score.Test
	ByClass           []score.Class `json:"accuracy_by_class,omitempty"` // with intervals
	Average           string        `json:"average"`
	Seconds           float64       `json:"seconds"`
	ExamplesPerSecond float64       `json:"examples_per_second"`
	Run               string        `json:"run"`
	statement.Together
	Accountant string `json:"accountant,omitempty"`
}

// Progress is what a run shows while it goes on.
type Progress struct {
	Phase             string // what is being learnt
	Step, Steps       int
	Evaluation        gradients.Evaluation // the newest one, zero before the first
	Evaluated         bool                 // whether that is of this step
	ExamplesPerSecond float64
}

// Overview describes a run at its start: its folder, its data and its network.
type Overview struct {
	Run, Data, Unit      string
	Examples, Parameters int
	Steps, ResumedAt     int
	Private              bool
	Epsilon              float64 // of a label
	Truth                float64 // how often a label is told truly, among all classes
}

// Watcher is told about the start, the steps and the end of a run.
type Watcher = run.Watcher[Overview, Progress, Result]
