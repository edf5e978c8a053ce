package sweeps_test

import (
	"fmt"

	"dpsgd/configs/sweeps"
)

func Example() {
	sweep, err := sweeps.Parse("my-sweep.yaml", []byte(`
name: my-sweep
base: digits
grid:
  privacy.clip_norm: [0.1, 1]
  privacy.noise_multiplier: [1]
seeds: [1, 2]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	trials, err := sweep.Trials(sweeps.Draw{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range trials {
		fmt.Println(t.Name)
	}
	// Output:
	// clip_norm=0.1,noise_multiplier=1,seed=1
	// clip_norm=0.1,noise_multiplier=1,seed=2
	// clip_norm=1,noise_multiplier=1,seed=1
	// clip_norm=1,noise_multiplier=1,seed=2
}
