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
	var path [][]float32
	o := options(t)
	var r *Run
	o.Stepped = func(Progress) { path = append(path, slices.Clone(r.Model.Values)) }
	r = create(t, tiny.Parse(t, "training.average=tail", "training.evaluate_every=5", "training.steps=11"), o)
	result := fit(t, r)
	if result.Average != "tail" || len(path) != 11 {
		t.Fatalf("found the average %q of %d steps, expected tail of 11", result.Average, len(path))
	}
	if !slices.Equal(r.Model.Values, path[10]) {
		t.Error("the last parameters are not those of the last step")
	}
	tensors, _, err := trained.Weights(r.Dir, r.Config)
	if err != nil {
		t.Fatal(err)
	}
	tiny.Check(t, r.Model.Import(tensors))
	for i, v := range r.Model.Values {
		sum := 0.0
		for _, parameters := range path[5:] {
			sum += float64(parameters[i])
		}
		if math.Abs(float64(v)-sum/6) > 1e-6 {
			t.Fatalf("parameter %d of the model is %g, expected the mean %g of the last 6 of 11 steps", i, v, sum/6)
		}
	}
	score, err := Evaluate(r.Dir, o)
	if err != nil || score.TestAccuracy != result.TestAccuracy {
		t.Errorf("the model has the accuracy %v (%v), the result says %v", score.TestAccuracy, err, result.TestAccuracy)
	}
}
