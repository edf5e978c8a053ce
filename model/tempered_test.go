package model_test

import (
	"math"
	"testing"

	"dpsgd/model"
)

// By default the layer is the hyperbolic tangent: its network has the sums of a tanh network.
func TestTemperedSigmoidIsTanhByDefault(t *testing.T) {
	with := func(activation model.Layer) result {
		m := newModel(t, model.Sequential{model.Flatten{}, model.Linear{Out: 7}, activation, model.Linear{Out: classes}})
		return newStep(t, m, options{batch: 4, clipNorm: 0.5}).run(t, draw(m, 4, 3))
	}
	kinds := model.Kinds()
	kind, _ := kinds.Named("tempered_sigmoid")
	found, want := with(kind.New()), with(model.Tanh)
	for i, v := range found.logits {
		if math.Abs(float64(v-want.logits[i])) > 1e-6 {
			t.Errorf("logit %d is %v, expected %v", i, v, want.logits[i])
		}
	}
	if d := distance(found.sum, want.sum); d > 1e-5*norm(want.sum) {
		t.Errorf("the sum is off that of tanh by %.2g of its norm", d/norm(want.sum))
	}
}
