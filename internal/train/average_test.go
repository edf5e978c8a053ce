package train

import (
	"math"
	"slices"
	"testing"

	"dpsgd/internal/tiny"
	"dpsgd/internal/trained"
)

// What is evaluated and written is the mean of the parameters after the last half of the steps, and
// training goes on from the parameters themselves.
func TestModelIsTheAverage(t *testing.T) {
	o := options(t)
	r := create(t, tiny.Parse(t, "training.average=tail", "training.evaluate_every=5", "training.steps=11"), o)
	path, _ := stepwise(t, r)
	if r.result.Average != "tail" || len(path) != 12 {
		t.Fatalf("found the average %q of %d steps, expected tail of 11", r.result.Average, len(path)-1)
	}
	if !slices.Equal(r.Model.Values, path[11]) {
		t.Error("the last parameters are not those of the last step")
	}
	tensors, _, err := trained.Weights(r.Dir, r.Config)
	if err != nil {
		t.Fatal(err)
	}
	tiny.Check(t, r.Model.Import(tensors))
	for i, v := range r.Model.Values {
		sum := 0.0
		for _, parameters := range path[6:] {
			sum += float64(parameters[i])
		}
		if math.Abs(float64(v)-sum/6) > 1e-6 {
			t.Fatalf("parameter %d of the model is %g, expected the mean %g of the last 6 of 11 steps", i, v, sum/6)
		}
	}
	measured(t, r.result, o)
}
