package checkpoints_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
)

// A run records each update before it is released, saves, is stopped and resumes.
func Example() {
	run, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(run)
	ledger, dir := filepath.Join(run, "ledger.jsonl"), filepath.Join(run, "checkpoints")
	event := accountant.PoissonSampled{SamplingProbability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 1.1}}

	journal, err := checkpoints.CreateJournal(ledger)
	if err != nil {
		panic(err)
	}
	parameters := []float32{0.5, -0.25}
	for step := 1; step <= 3; step++ {
		if err := journal.Append(step, event); err != nil {
			panic(err) // nothing of this update may be released
		}
		// Noise is drawn and the parameters change here.
		if step == 2 {
			state := &checkpoints.State{Step: step, Parameters: parameters, LedgerEntries: journal.Len(), LedgerHash: journal.Hash()}
			if _, err := checkpoints.Save(dir, state); err != nil {
				panic(err)
			}
		}
	}
	journal.Close()

	journal, err = checkpoints.OpenJournal(ledger)
	if err != nil {
		panic(err)
	}
	defer journal.Close()
	state, path, err := checkpoints.Latest(dir)
	if err != nil {
		panic(err)
	}
	if err := journal.Check(state.Claim()); err != nil {
		panic(err)
	}
	fmt.Println("resume from", filepath.Base(path), "with", state.Parameters)
	fmt.Println("step", state.Step+1, "is run again: the ledger already counts", journal.Len(), "updates")
	// Output:
	// resume from checkpoint-2.ckpt with [0.5 -0.25]
	// step 3 is run again: the ledger already counts 3 updates
}

func ExampleLatest() {
	_, _, err := checkpoints.Latest("no such run")
	fmt.Println(err)
	fmt.Println(errors.Is(err, checkpoints.ErrNoCheckpoint))
	// Output:
	// checkpoints: no such run: no readable checkpoint: found none
	// true
}

func Example_model() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	weights := []checkpoints.Tensor{
		{Name: "fc.weight", Shape: []int{1, 2}, Data: []float32{0.5, -0.25}},
		{Name: "fc.bias", Shape: []int{1}, Data: []float32{0}},
	}
	if err := checkpoints.WriteModel(path, weights, map[string]string{"epsilon": "2.99"}); err != nil {
		panic(err)
	}
	tensors, metadata, err := checkpoints.ReadModel(path)
	if err != nil {
		panic(err)
	}
	for _, t := range tensors {
		fmt.Println(t.Name, t.Shape, t.Data)
	}
	fmt.Println(metadata)
	// Output:
	// fc.weight [1 2] [0.5 -0.25]
	// fc.bias [1] [0]
	// map[epsilon:2.99]
}
