package configs_test

import (
	"fmt"

	"dpsgd/configs"
)

func ExampleLoad() {
	c, err := configs.Load("digits", []string{"privacy.epsilon=1", "training.steps=500"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("epsilon", c.Privacy.Epsilon, "steps", c.Training.Steps, "epochs", c.Training.Epochs)
	// Output: epsilon 1 steps 500 epochs 0
}

func ExampleParse_problems() {
	src := `
data: {name: digits, seed: -1}
privacy:
  epsilon: 3
  noise_multiplier: ~
run: {sampling: full}
training:
  epochs: 010
`
	_, err := configs.Parse("my.yaml", []byte(src), []string{"privacy.delta=2"})
	fmt.Println(err)
	// Output:
	// my.yaml:2:28: data.seed: found -1, expected a whole number from 0 to 9007199254740991
	// my.yaml:5:3: privacy.noise_multiplier: found ~, expected a number greater than 0 and at most 10000, or calibrated
	// my.yaml:6:7: run.sampling: found an unknown key, expected one of name, checkpoint_every, private_diagnostics (did you mean training.sampling?)
	// my.yaml:8:11: training.epochs: found 010, expected a whole number from 1 to 1000000 (a leading zero means octal to some readers)
	// --set privacy.delta: found 2, expected a number of at least 1e-20 and less than 1
}

func ExampleNetwork() {
	layers, err := configs.Network("mlp")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range layers {
		fmt.Println(l.Kind())
	}
	// Output:
	// flatten
	// linear
	// relu
	// linear
}
