package setup

import (
	"math"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
)

// All pictures stay in memory where they fit, or where they are drawn or unpacked there in any case;
// otherwise as many as were asked for, or as half of what is left holds, and what is refused is what is
// too large without a picture.
func TestPicturesThatStayInMemory(t *testing.T) {
	defer func(f func() float64) { available = f }(available)
	const mega = 1 << 20
	o := Outline{Name: "own", Examples: 1_000_000, Tests: 10_000, Shape: data.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10}
	all := int64(1_010_000 * 784)
	for name, test := range map[string]struct {
		free      float64
		overrides []string
		low, high int64
		refused   bool
	}{
		"much memory":     {math.Inf(1), nil, all, all, false},
		"asked for less":  {math.Inf(1), []string{"performance.data_memory=100MiB"}, 100 * mega, 100 * mega, false},
		"asked for more":  {math.Inf(1), []string{"performance.data_memory=4GiB"}, all, all, false},
		"little memory":   {600 * mega, nil, 100 * mega, 290 * mega, false},
		"told so":         {math.Inf(1), []string{"performance.max_memory=600MiB"}, 100 * mega, 290 * mega, false},
		"too little":      {100 * mega, nil, 0, 0, true},
		"asked too much":  {600 * mega, []string{"performance.data_memory=700MiB"}, 700 * mega, 700 * mega, true},
		"not in a folder": {600 * mega, nil, all, all, true},
	} {
		t.Run(name, func(t *testing.T) {
			available = func() float64 { return test.free }
			overrides := append([]string{"data.folder=own", "data.classes=[a, b]", "data.size=28", "data.channels=1"}, test.overrides...)
			if name == "not in a folder" {
				overrides = nil
			}
			c, err := configs.Load("mnist-cnn", append(overrides, "training.physical_batch_size=16"))
			if err != nil {
				t.Fatal(err)
			}
			if held := PicturesHeld(c, o); held < test.low || held > test.high {
				t.Errorf("found %d bytes, expected %d to %d", held, test.low, test.high)
			}
			if err := CheckMemory(c, o); (err != nil) != test.refused {
				t.Errorf("found %v, expected it to be refused: %t", err, test.refused)
			}
		})
	}
}
