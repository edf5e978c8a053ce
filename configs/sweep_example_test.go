package configs_test

import (
	"fmt"

	"dpsgd/configs"
)

func Example() {
	sweep, err := configs.ParseSweep("my-sweep.yaml", []byte(`
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
	trials, err := sweep.Trials(configs.Draw{})
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
