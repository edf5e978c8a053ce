package account

import (
	"math"
	"strings"
	"testing"

	"dpsgd/accountant/theorems"
	"dpsgd/internal/tiny"
)

// A theorem's answer is that of the formula by hand, or of the package that has it, and each kind
// is asked under the relation that it holds for.
func TestTheorems(t *testing.T) {
	b := &Lines{Unknown: Epsilon}
	alone := func(line string) float64 { return answered(t, b, line)["epsilon"].(float64) }
	shuffled := tiny.Must(theorems.Shuffle(2, 10000, 1e-6))(t)
	response := tiny.Must(theorems.ShuffleResponse(2, 16, 10000, 1e-6))(t)
	// 20 passes of 100 batches at σ = 4 are ρ = (1 + 19/100)/32; replacing a record counts four
	// times. A run of 20 full batches in a set of diameter D with s = 0.1/10 has D/s = 100 and does
	// not reach its plateau; one of 2,000 costs 4·100.
	const zcdp = `"accountant":"zcdp","delta":1e-6}`
	rho := func(text string) float64 {
		return alone(`{"ledger":[{"event":{"zcdp":{"rho":` + text + `}},"count":1}],` + zcdp)
	}
	weak, strong := `{"sampling_probability":0.01,"noise_multiplier":1,"steps":1000}`, `{"sampling_probability":0.1,"noise_multiplier":2,"steps":50}`
	for line, want := range map[string]float64{
		`{"shuffle":{"local_epsilon":2,"reports":10000},"delta":1e-6}`:                                                                                                                                              shuffled,
		`{"shuffle":{"local_epsilon":2,"reports":10000,"buckets":16},"delta":1e-6,"relation":"replace-one"}`:                                                                                                        response,
		`{"parallel":[` + weak + `,` + strong + `],"delta":1e-5}`:                                                                                                                                                   alone(`{"phases":[` + weak + `],"delta":1e-5}`),
		`{"parallel":[` + strong + `,{"phases":[` + weak + `,` + strong + `]}],"delta":1e-5,"relation":"add-or-remove-one"}`:                                                                                        alone(`{"phases":[` + weak + `,` + strong + `],"delta":1e-5}`),
		`{"parallel":[{"ledger":[{"event":{"approx_dp":{"epsilon":1,"delta":0}},"count":1}]},{"ledger":[{"event":{"approx_dp":{"epsilon":0.5,"delta":0}},"count":2}]}],"delta":1e-9}`:                               1,
		`{"iteration":{"noise_multiplier":4,"passes":20,"batches":100,"learning_rate":2,"smoothness":1},` + zcdp:                                                                                                    rho("0.0371875"),
		`{"iteration":{"noise_multiplier":4,"passes":20,"batches":100,"learning_rate":0.1,"smoothness":1},"relation":"replace-one",` + zcdp:                                                                         rho("0.14875"),
		`{"iteration":{"noise_multiplier":4,"passes":2000,"batches":1,"learning_rate":0.1,"smoothness":1,"diameter":1,"lipschitz":1,"batch_size":10},` + zcdp:                                                       rho("12.5"),
		`{"iteration":{"noise_multiplier":4,"passes":2000,"batches":1,"learning_rate":0.1,"smoothness":1,"diameter":1,"lipschitz":1,"batch_size":10},"relation":"replace-one",` + zcdp:                              rho("25"),
		`{"id":[7],"iteration":{"noise_multiplier":4,"passes":20,"batches":1,"learning_rate":0.1,"smoothness":1,"diameter":1,"lipschitz":1,"batch_size":10},"relation":"zero_out","accountant":"rdp","delta":1e-6}`: alone(`{"accountant":"rdp","ledger":[{"event":{"zcdp":{"rho":0.625}},"count":1}],"delta":1e-6}`),
	} {
		o := answered(t, b, line)
		found, ok := o["epsilon"].(float64)
		if !ok || !(math.Abs(found-want) <= 1e-8*want) || o["upper"] != found || o["lower"].(float64) > found {
			t.Errorf("%s: found %v, expected ε %v", line, o, want)
		}
	}
}

// What a theorem does not cover is refused by name.
func TestTheoremsRefuse(t *testing.T) {
	b := &Lines{Unknown: Epsilon}
	const iteration = `{"iteration":{"noise_multiplier":4,"passes":20,"batches":100,"learning_rate":0.1,"smoothness":1`
	for line, want := range map[string]string{
		`{"shuffle":{"local_epsilon":2,"reports":10},"delta":1e-6,"relation":"zero-out"}`:                                "expected replace-one",
		`{"shuffle":{"local_epsilon":2,"reports":10},"delta":1e-6,"relation":"add-or-remove-one"}`:                       "expected replace-one",
		`{"shuffle":{"local_epsilon":-2,"reports":10},"delta":1e-6}`:                                                     "local epsilon is -2",
		`{"shuffle":{"local_epsilon":2,"reports":0.5},"delta":1e-6}`:                                                     `found "reports": 0.5, expected a whole number`,
		`{"shuffle":{"local_epsilon":2,"reports":10},"delta":1e-6,"group_size":2}`:                                       `found the key "group_size"`,
		`{"shuffle":{"local_epsilon":2,"reports":10}}`:                                                                   `found no "delta"`,
		`{"shuffle":[],"delta":1e-6}`:                                                                                    "expected a JSON object",
		`{"shuffle":{"local_epsilon":2,"reports":10},"parallel":[{"steps":1}],"delta":1e-6}`:                             `found the key "shuffle"`,
		`{"parallel":{},"delta":1e-6}`:                                                                                   "expected a list of at least one",
		`{"parallel":[{"phases":[],"ledger":[]}],"delta":1e-6}`:                                                          "expected phases or a ledger alone",
		`{"parallel":[{"sampling_probability":1,"noise_multiplier":1,"steps":1}],"delta":1e-6,"relation":"replace-one"}`: "expected zero-out or add-or-remove-one",
		`{"parallel":[{"sampling_probability":1,"noise_multiplier":1,"steps":1},{"steps":1}],"delta":1e-6}`:              `part 2: phase 1: found no "sampling_probability"`,
		iteration + `},"delta":1e-6,"relation":"add-or-remove-one"}`:                                                     "expected zero-out or replace-one",
		iteration + `,"sampling_probability":0.1},"delta":1e-6}`:                                                         `found the key "sampling_probability"`,
		iteration + `,"diameter":1},"delta":1e-6}`:                                                                       `found no "batch_size"`,
		iteration + `,"lipschitz":1},"delta":1e-6}`:                                                                      `without "diameter"`,
		`{"iteration":{"noise_multiplier":4,"passes":20,"batches":100,"learning_rate":0.1},"delta":1e-6}`:                `found no "smoothness"`,
		`{"iteration":{"noise_multiplier":4,"passes":20,"batches":100,"learning_rate":2.1,"smoothness":1},"delta":1e-6}`: "expected at most 2",
		`{"iteration":{"noise_multiplier":0,"passes":20,"batches":100,"learning_rate":1,"smoothness":1},"delta":1e-6}`:   `found "noise_multiplier": 0, expected a number above 0`,
		`{"phases":[{"sampling_probability":1,"noise_multiplier":1,"steps":1}],"shuffel":{},"delta":1e-6}`:               "shuffle, iteration",
	} {
		if found, _ := answered(t, b, line)["error"].(string); !strings.Contains(found, want) {
			t.Errorf("%s: found %q, expected %q", line, found, want)
		}
	}
	delta := &Lines{Unknown: Delta}
	if found, _ := answered(t, delta, `{"shuffle":{"local_epsilon":2,"reports":10},"epsilon":1}`)["error"].(string); !strings.Contains(found, `found the key "shuffle"`) {
		t.Errorf("found %q of δ", found)
	}
}
